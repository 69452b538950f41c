/** The legend of a picture: samples of edges or colors with their numbers, on screen and in exported figures. */

/** @import { Color, Mark, Picture, Scale } from "../types.js" */

import { formatScore } from "./format.js";
import { box, cellAlpha, edgeStyle, label, line } from "./marks.js";

/** Shares of the strongest edge; sizes of a sample in pixels, chosen by eye. */
const SAMPLES = [1, 0.5, 0.1];
const SAMPLE = { width: 82, line: 22, text: 27 };
const STYLE = { size: 11 };
/** The color bar of cells: its left end, the number of its steps, and their size. */
const BAR = { left: 14, steps: 20, width: 4, height: 10 };

export const LEGEND = { width: SAMPLES.length * SAMPLE.width, height: 16 };

/** Return samples of edges in one line; for cells, a color bar.
 * @type {(picture: Picture, color: Color) => Mark[]} */
export function legendMarks({ layout, max, exceeds, ink }, color) {
  if (layout.cells) return colorBar({ max, exceeds }, color, layout.texts);
  return SAMPLES.flatMap((share, at) => {
    const x = 2 + at * SAMPLE.width;
    const { width, alpha } = edgeStyle(share, layout.column, ink);
    return [
      line(x, 8, x + SAMPLE.line, 8, color, width, { alpha }),
      label(x + SAMPLE.text, 12, `${exceeds && share === 1 ? "≥ " : ""}${formatScore(share * max)}`, "muted", STYLE),
    ];
  });
}

/** Return the colors of cells from zero to the end of the scale, with an arrow where cells exceed it.
 * @type {(scale: Scale, color: Color, texts?: boolean) => Mark[]} `texts`: whether cells have texts on them */
export function colorBar({ max, exceeds }, color, texts = true) {
  const steps = Array.from({ length: BAR.steps }, (_, at) => {
    const style = { alpha: cellAlpha((at + 1) / BAR.steps), cell: texts };
    return box(BAR.left + at * BAR.width, 3, BAR.width, BAR.height, color, style);
  });
  const right = BAR.left + BAR.steps * BAR.width + 4;
  return [
    label(2, 12, "0", "muted", STYLE),
    ...steps,
    label(right, 12, `${exceeds ? "▶ ≥ " : ""}${formatScore(max)}`, "muted", STYLE),
  ];
}

/** Return the legend of an exported figure, with the unit of its numbers.
 * @type {(picture: Picture, color: Color) => Mark[]} */
export function figureLegend(picture, color) {
  const marks = legendMarks(picture, color);
  return picture.layout.cells ? marks : [...marks, label(LEGEND.width, 12, picture.unit, "muted", STYLE)];
}
