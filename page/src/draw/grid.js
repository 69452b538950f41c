/** The patches of an image as a grid, with the positions that are not patches above and below it. */

/** @import { Method, NodeLayout, PageData, Scene, Vector } from "../types.js" */

import { displayName } from "./format.js";
import { textWidth } from "./layout.js";
import { box, cellAlpha, label } from "./marks.js";

/** Sizes are in pixels and chosen by eye: of a patch, and of a position that is none. */
const MAX_CELL = 36;
const CHIP = { height: 20, size: 11, padding: 6, gap: 4 };
const MARGIN = 2;

/** @typedef {{ x: number, y: number, width: number, height: number, text?: string }} Cell */
/** @typedef {NodeLayout & { at: Cell[] }} GridLayout `at`: the cell of each position */

/** @type {(width: number, grid: NonNullable<PageData["grid"]>, names: string[]) => GridLayout} */
export function gridLayout(width, { rows, columns, prefix }, names) {
  const side = Math.max(2, Math.min(MAX_CELL, Math.floor((width - 2 * MARGIN) / columns)));
  /** @type {Cell[]} */
  const at = [];
  const top = placeChips(at, names, 0, prefix, width, MARGIN);
  for (let patch = 0; patch < rows * columns; patch++) {
    const [row, column] = [Math.floor(patch / columns), patch % columns];
    at.push({ x: MARGIN + column * side, y: top + row * side, width: side, height: side });
  }
  const height = placeChips(at, names, at.length, names.length, width, top + rows * side + CHIP.gap);
  return {
    at,
    cells: true,
    texts: true,
    column: side,
    width: Math.max(columns * side + 2 * MARGIN, ...at.map((cell) => cell.x + cell.width + MARGIN)),
    height: height + MARGIN,
    x: (_, node) => at[node].x + at[node].width / 2,
    nodeAt: (x, y) => {
      const node = at.findIndex((c) => x >= c.x && x < c.x + c.width && y >= c.y && y < c.y + c.height);
      return node < 0 ? null : { layer: 0, node };
    },
  };
}

/** Append the cells of positions `from`…`to` in lines; return where the next line begins.
 * @type {(at: Cell[], names: string[], from: number, to: number, width: number, top: number) => number} */
function placeChips(at, names, from, to, width, top) {
  let [x, y] = [MARGIN, top];
  for (let node = from; node < to; node++) {
    const text = displayName(names[node]);
    const chip = textWidth(text, CHIP.size) + 2 * CHIP.padding;
    if (x > MARGIN && x + chip > width) [x, y] = [MARGIN, y + CHIP.height + CHIP.gap];
    at.push({ x, y, width: chip, height: CHIP.height, text });
    x += chip + CHIP.gap;
  }
  return to > from ? y + CHIP.height + CHIP.gap : top;
}

/**
 * Return the scene of the scores of one position.
 *
 * @param {GridLayout} layout
 * @param {object} content
 * @param {Method} content.method
 * @param {Vector | null} content.scores
 * @param {number} content.max end of the color scale
 * @param {number} content.selected position
 * @param {number | null} content.hover position
 * @returns {Scene}
 */
export function gridScene({ at, width, height }, { method, scores, max, selected, hover }) {
  const marks = at.flatMap(({ x, y, width, height, text }, node) => {
    const alpha = scores ? cellAlpha(scores[node] / max) : 0;
    return [
      box(x, y, width, height, "line", { hollow: 1 }),
      ...(alpha > 0 ? [box(x, y, width, height, method, { alpha, cell: true })] : []),
      ...(text ? [label(x + width / 2, y + 14, text, "ink", { size: CHIP.size, anchor: "middle" })] : []),
    ];
  });
  for (const [node, color, hollow] of /** @type {const} */ ([
    [selected, "ink", 2],
    [hover, "accent", 2.5],
  ])) {
    const cell = node === null ? null : at[node];
    if (cell) marks.push(box(cell.x, cell.y, cell.width, cell.height, color, { hollow }));
  }
  return { width, height, marks };
}
