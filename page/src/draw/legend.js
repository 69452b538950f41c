/** The legend of a picture: samples of edges with their numbers, on screen and in exported figures. */

/** @import { Color, Mark, Picture } from "../types.js" */

import { formatScore } from "./format.js";
import { edgeStyle, label, line } from "./marks.js";

/** Shares of the strongest edge; sizes of a sample in pixels, chosen by eye. */
const SAMPLES = [1, 0.5, 0.1];
const SAMPLE = { width: 70, line: 22, text: 27 };
const STYLE = { size: 11 };

export const LEGEND = { width: SAMPLES.length * SAMPLE.width, height: 16 };

/** Return samples of edges in one line; for cells, the highest score.
 * @type {(picture: Picture, color: Color) => Mark[]} */
export function legendMarks({ layout, max, ink }, color) {
  if (layout.cells) return [label(2, 12, `maximum ${formatScore(max)}`, "muted", STYLE)];
  return SAMPLES.flatMap((share, at) => {
    const x = 2 + at * SAMPLE.width;
    const { width, alpha } = edgeStyle(share, layout.column, ink);
    return [
      line(x, 8, x + SAMPLE.line, 8, color, width, { alpha }),
      label(x + SAMPLE.text, 12, formatScore(share * max), "muted", STYLE),
    ];
  });
}

/** Return the legend of an exported figure, with the unit of its numbers.
 * @type {(picture: Picture, color: Color) => Mark[]} */
export function figureLegend(picture, color) {
  const marks = legendMarks(picture, color);
  return picture.layout.cells ? marks : [...marks, label(LEGEND.width, 12, picture.unit, "muted", STYLE)];
}
