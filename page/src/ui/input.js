/** Keyboard and pointer events of the panels. */

/** @import { NodeRef } from "../types.js" */

/** Key → steps up the layers, steps along the nodes. @type {Record<string, [number, number]>} */
const STEPS = {
  ArrowUp: [1, 0],
  ArrowDown: [-1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  PageUp: [1, 0],
  PageDown: [-1, 0],
  Home: [0, -Infinity],
  End: [0, Infinity],
};

/** Arrow keys move, Enter pins, Escape unpins.
 * @type {(element: HTMLElement, view: import("./view.js").View) => void} */
export function addKeyListeners(element, view) {
  element.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (Object.hasOwn(STEPS, event.key)) view.step(...STEPS[event.key]);
    else if (event.key === "Enter" || event.key === " ") view.pinCursor();
    else if (event.key === "Escape") view.unpin();
    else return;
    event.preventDefault();
  });
}

/**
 * Return the node after a step, within layers `rows` (bottom first) of `size(layer)` nodes.
 *
 * @type {(from: NodeRef, layers: number, nodes: number, rows: number[], size: (layer: number) => number) => NodeRef}
 */
export function stepNode({ layer, node }, layers, nodes, rows, size) {
  const next = rows[Math.max(0, Math.min(rows.length - 1, rows.indexOf(layer) + layers))];
  return { layer: next, node: Math.max(0, Math.min(size(next) - 1, node + nodes)) };
}

/** Hover highlights; a click or tap pins.
 * @type {(panels: import("./panels.js").Panels, view: import("./view.js").View) => void} */
export function addPointerListeners(panels, view) {
  /** @type {(event: MouseEvent) => NodeRef | null} */
  const nodeAt = (event) => {
    const path = event.composedPath();
    const token = path.find((target) => target instanceof HTMLElement && target.classList.contains("token"));
    if (token instanceof HTMLElement) return { layer: 0, node: Number(token.dataset.node) };
    const panel = panels.all.find(({ element }) => path.includes(element));
    return panel ? panel.nodeAt(event.clientX, event.clientY) : null;
  };
  const { element } = panels;
  element.addEventListener("pointermove", (event) => {
    if (event.pointerType !== "touch") view.hoverNode(nodeAt(event), event);
  });
  element.addEventListener("pointerleave", (event) => view.hoverNode(null, event));
  element.addEventListener("click", (event) => {
    const at = nodeAt(event);
    if (!at) return;
    view.clickNode(at);
    if (event instanceof PointerEvent && event.pointerType === "touch") view.hoverNode(at, event);
  });
}
