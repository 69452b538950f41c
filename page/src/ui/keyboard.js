/** Arrows for layer and token, Enter to pin, Escape to let go. */

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

/** Listen to keys on the stage; `page` has step(layers, nodes), pinCursor() and letGo(). */
export function listenToKeys(stage, page) {
  stage.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key in STEPS) page.step(...STEPS[event.key]);
    else if (event.key === "Enter" || event.key === " ") page.pinCursor();
    else if (event.key === "Escape") page.letGo();
    else return;
    event.preventDefault();
  });
}

/** The node that a step leads to, within layers `rows` (bottom first) of `size(layer)` nodes. */
export function stepped({ layer, node }, layers, nodes, rows, size) {
  const row = Math.max(0, Math.min(rows.length - 1, rows.indexOf(layer) + layers));
  const next = rows[row];
  return { layer: next, node: Math.max(0, Math.min(size(next) - 1, node + nodes)) };
}
