/** The heat map of one position: tokens across, layers upwards, cells as opaque as their score. */

/** @import { Importance, Layout, Mark, Method, NodeRef, Scale, Scene, Vector } from "../types.js" */

import { robustMax } from "../compute/scale.js";
import { importanceMarks, layerMarks, stickyNames, tokenLabels } from "./axes.js";
import { box, cellAlpha, label } from "./marks.js";

/**
 * @typedef {object} HeatmapContent
 * @property {Method} method
 * @property {(Vector | null)[]} rows scores of the layers of the layout
 * @property {number} selected layer
 * @property {Set<number>} skipped columns that do not count for the color scale
 * @property {string} missing what a row without scores says
 * @property {NodeRef | null} hover
 * @property {number | null} written the token that the selected position wrote
 * @property {Importance[]} importance
 */

/** Return the scene and its color scale.
 * @type {(layout: Layout, content: HeatmapContent) => Scale & { scene: Scene }} */
export function heatmapScene(layout, { method, rows, selected, skipped, missing, hover, written, importance }) {
  const { left, top, across, bottom, gap, width, height } = layout;
  const { max, exceeds } = robustMax(
    rows.filter((row) => row !== null),
    skipped,
  );
  const marks = layerMarks(layout, selected);
  rows.forEach((row, at) => {
    const y = layout.y(layout.rows[at]) - gap / 2;
    if (row) marks.push(...cellMarks(layout, method, row, y, max));
    else marks.push(label(left + 6, y + gap / 2 + 4, missing, "muted", { size: 11 }));
  });
  marks.push(box(left, top, across, bottom - top, "line", { hollow: 1 }));
  marks.push(box(left, layout.y(selected) - gap / 2, across, gap, "ink", { hollow: 1.5 }));
  if (hover && layout.rows.includes(hover.layer)) {
    const column = across / (rows.find(Boolean)?.length ?? 1);
    const x = left + hover.node * column;
    marks.push(box(x, layout.y(hover.layer) - gap / 2, column, gap, "accent", { hollow: 2.5 }));
  }
  const strong = new Set([hover?.node ?? null, written].filter((node) => node !== null));
  const scores = rows[layout.rows.indexOf(selected)] ?? null;
  marks.push(...tokenLabels(layout, strong, scores), ...importanceMarks(layout, importance));
  return { scene: { width, height, marks, names: stickyNames(layout, selected) }, max, exceeds };
}

/** @type {(layout: Layout, method: Method, row: Vector, y: number, max: number) => Mark[]} */
function cellMarks({ left, across, gap, texts }, method, row, y, max) {
  const column = across / row.length;
  const space = column > 8 ? 1 : 0;
  /** @type {Mark[]} */
  const marks = [];
  row.forEach((score, at) => {
    const x = left + at * column;
    const alpha = cellAlpha(score / max);
    if (alpha > 0) marks.push(box(x, y, column - space, gap - 1, method, { alpha, cell: texts }));
    if (!texts) return;
    const text = score === Infinity ? "∞" : score.toFixed(column >= 42 ? 3 : 2);
    marks.push(label(x + column / 2, y + gap / 2 + 3.5, text, "ink", { size: 10.5, anchor: "middle" }));
  });
  return marks;
}
