/** The heat map of one position: tokens across, layers upwards, a cell as opaque as its score. */

import { box, cellAlpha, words } from "./marks.js";
import { largest } from "../compute/matrix.js";
import { importanceMarks, layerMarks, stuckNames, tokenLabels } from "./axes.js";

/** Pixels of a column that has room for a number; chosen by eye. */
const NUMBERS_FROM = 34;

/**
 * @param {object} layout of `panelLayout`, with cells
 * @param {object} seen
 * @param {string} seen.method
 * @param {(Float64Array | null)[]} seen.rows scores of the layers, as the layout has them
 * @param {number} seen.interest the layer of interest
 * @param {{layer: number, node: number} | null} seen.lit the cell that is looked at
 * @param {{method: string, values: Float64Array}[]} seen.importance
 */
export function heatScene(layout, seen) {
  const most = Math.max(...seen.rows.map((row) => (row ? largest(row) : 0))) || 1;
  const marks = layerMarks(layout, seen.interest);
  seen.rows.forEach((row, at) => {
    const y = layout.y(layout.rows[at]) - layout.gap / 2;
    if (!row) return marks.push(words(layout.left + 6, y + layout.gap / 2 + 4, "not computed", "muted", { size: 11 }));
    marks.push(...cells(layout, seen.method, row, y, most));
  });
  const outlined = (layer, x, width, colour, hollow) =>
    marks.push(box(x, layout.y(layer) - layout.gap / 2, width, layout.gap, colour, { hollow }));
  marks.push(box(layout.left, layout.top, layout.across, layout.bottom - layout.top, "line", { hollow: 1 }));
  outlined(seen.interest, layout.left, layout.across, "ink", 1.5);
  if (seen.lit && layout.rows.includes(seen.lit.layer)) {
    const column = layout.across / (seen.rows.find(Boolean)?.length ?? 1);
    outlined(seen.lit.layer, layout.left + seen.lit.node * column, column, "accent", 2.5);
  }
  const strong = seen.lit ? new Set([seen.lit.node]) : undefined;
  marks.push(...tokenLabels(layout, strong), ...importanceMarks(layout, seen.importance));
  return { width: layout.width, height: layout.height, marks, most, names: stuckNames(layout, seen.interest) };
}

function cells(layout, method, row, y, most) {
  const column = layout.across / row.length;
  const gap = column > 8 ? 1 : 0;
  const marks = [];
  row.forEach((score, at) => {
    const x = layout.left + at * column;
    const alpha = cellAlpha(score / most);
    if (alpha > 0) marks.push(box(x, y, column - gap, layout.gap - 1, method, { alpha, cell: true }));
    if (column >= NUMBERS_FROM && layout.gap >= 18) {
      marks.push(
        words(x + column / 2, y + layout.gap / 2 + 3.5, cellText(score, column), "ink", {
          size: 10.5,
          anchor: "middle",
        }),
      );
    }
  });
  return marks;
}

/** A number that fits its cell. */
function cellText(score, column) {
  if (score === Infinity) return "∞";
  return score.toFixed(column >= 42 ? 3 : 2);
}
