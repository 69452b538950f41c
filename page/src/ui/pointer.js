/** Hover, tap and click, as nodes of a panel. */

/**
 * Listen on the stage; `page` has pointAt(node, event) and pressAt(node). A tap presses, which pins
 * what it hits: what a hover lights up stays lit.
 *
 * @param {import("./stage.js").Stage} stage
 */
export function listenToPointer(stage, page) {
  const nodeUnder = (event) => {
    const path = event.composedPath();
    const panel = stage.panels.find(({ element }) => path.includes(element));
    const token = path.find((each) => each.classList?.contains("token"));
    if (token) return { layer: 0, node: Number(token.dataset.node) };
    return panel ? panel.nodeAt(event.clientX, event.clientY) : null;
  };
  const { element } = stage;
  element.addEventListener("pointermove", (event) => {
    if (event.pointerType !== "touch") page.pointAt(nodeUnder(event), event);
  });
  element.addEventListener("pointerleave", (event) => page.pointAt(null, event));
  element.addEventListener("click", (event) => {
    const at = nodeUnder(event);
    if (at) page.pressAt(at);
    if (at && event.pointerType === "touch") page.pointAt(at, event);
  });
}
