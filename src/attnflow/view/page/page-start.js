/** The page of one file: its data stands in a script element, its state after the # of its address. */

import { mount } from "./widget.js";

const ownData = JSON.parse(document.getElementById("attnflow-data").textContent);
// A page in a notebook's frame has no address of its own, and keeps its state to itself.
const hasAddress = location.protocol !== "about:";
const ownPage = mount(document.getElementById("attnflow"), ownData, {
  state: location.hash.slice(1),
  onState: hasAddress ? (state) => history.replaceState(null, "", `#${state}`) : undefined,
});
addEventListener("hashchange", () => ownPage.show(location.hash.slice(1)));
