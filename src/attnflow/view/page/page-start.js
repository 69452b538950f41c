/** The page of one file: its data stands in a script element, its state after the # of its address. */

import { putHash } from "./link.js";
import { mount } from "./widget.js";

const ownData = JSON.parse(document.getElementById("attnflow-data").textContent);
// A page in a notebook's frame has no address of its own, and keeps its state to itself.
const hasAddress = location.protocol !== "about:";
const hashOf = (state) => `#${state}`;
const ownPage = mount(document.getElementById("attnflow"), ownData, {
  heading: 1,
  state: location.hash.slice(1),
  ...(hasAddress ? { onState: (state) => putHash(hashOf(state)), linkOf: hashOf } : {}),
});
addEventListener("hashchange", () => ownPage.show(location.hash.slice(1)));
