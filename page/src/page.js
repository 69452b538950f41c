/** The page as one file: its data is in a script element, its state in the address after the #. */

import { replaceHash } from "./ui/dom.js";
import { mount } from "./widget.js";

const { body } = document;
const data = JSON.parse(document.getElementById("attnflow-data")?.textContent ?? "");
const readState = () => location.hash.slice(1);
const linkOf = (/** @type {string} */ state) => `#${state}`;
const onState = (/** @type {string} */ state) => replaceHash(linkOf(state));
// A page in a frame of a notebook has no address of its own. It sends its height to the notebook instead.
const inFrame = location.protocol === "about:";
const mounted = mount(document.getElementById("attnflow") ?? body, data, {
  heading: 1,
  state: readState(),
  ...(inFrame ? {} : { onState, linkOf }),
});
addEventListener("hashchange", () => mounted.show(readState()));

if (inFrame) {
  // One more pixel than the rounded height, or there might be a scroll bar.
  const sendHeight = () => parent.postMessage(body.offsetHeight + 1, "*");
  new ResizeObserver(sendHeight).observe(body);
  // The notebook asks once it listens: earlier messages are lost.
  addEventListener("message", sendHeight);
}
