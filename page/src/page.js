/** The page of one file: its data stands in a script element, its state after the # of its address. */

import { putHash } from "./ui/link.js";
import { mount } from "./widget.js";

const ownData = JSON.parse(document.getElementById("attnflow-data").textContent);
// A page in a notebook's frame has no address of its own: it keeps its state to itself, and tells the frame its height.
const hasAddress = location.protocol !== "about:";
const hashOf = (state) => `#${state}`;
const ownPage = mount(document.getElementById("attnflow"), ownData, {
  heading: 1,
  state: location.hash.slice(1),
  ...(hasAddress ? { onState: (state) => putHash(hashOf(state)), linkOf: hashOf } : {}),
});
const { body } = document;
// One more than it is rounded to, or a bar for scrolling might come.
const tellHeight = () => parent.postMessage(body.offsetHeight + 1, "*");
if (!hasAddress) {
  new ResizeObserver(tellHeight).observe(body);
  // The frame asks once it listens: what was told before is lost.
  addEventListener("message", tellHeight);
}
addEventListener("hashchange", () => ownPage.show(location.hash.slice(1)));
