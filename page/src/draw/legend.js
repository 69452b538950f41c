/** How strong edges of a picture are: samples with their numbers, on screen and in what is exported. */

import { edgeLook, line, words } from "./marks.js";
import { numberText } from "./format.js";

/** Shares of the strongest edge that are shown; pixels from one to the next, and of each. Chosen by eye. */
const SAMPLES = [1, 0.5, 0.1];
const SAMPLE = { width: 70, line: 22, text: 27 };
const LETTERS = 11;

export const LEGEND = { width: SAMPLES.length * SAMPLE.width, height: 16 };

/**
 * @param {{layout: object, most: number, scene: object, unit: string}} picture of `Pictures`
 * @returns {object[]} marks of a line of samples; of cells, the score of the strongest
 */
export function legendMarks({ layout, most, scene }, method) {
  if (layout.cells) return [words(2, 12, `strongest ${numberText(most)}`, "muted", { size: LETTERS })];
  return SAMPLES.flatMap((share, at) => {
    const x = 2 + at * SAMPLE.width;
    const { width, alpha } = edgeLook(share, layout.column, scene.ink);
    return [
      line(x, 8, x + SAMPLE.line, 8, method, width, { alpha }),
      words(x + SAMPLE.text, 12, numberText(share * most), "muted", { size: LETTERS }),
    ];
  });
}

/** The same for an exported figure, where what the numbers are stands beside them. */
export function legendLine(picture, method) {
  const unit = words(LEGEND.width, 12, picture.unit ?? "", "muted", { size: LETTERS });
  return picture.layout.cells ? legendMarks(picture, method) : [...legendMarks(picture, method), unit];
}
