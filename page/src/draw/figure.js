/** Scenes of exported figures: all panels with headings, legends, notes and a caption. */

/** @import { Color, Mark, Method, Scene, TextMark, TextPiece, Vector } from "../types.js" */

import { importanceColor } from "./axes.js";
import { textWidth } from "./layout.js";
import { LEGEND } from "./legend.js";
import { box, cellAlpha, group, label, line } from "./marks.js";

/** Sizes are in pixels and chosen by eye. The text view: its width, font size and line height. */
const TEXT = { width: 560, size: 14, line: 26 };
/** Around a figure, above a panel for its heading, between panels. */
const MARGIN = 12;
const HEADING = 28;
const BETWEEN = { columns: 24, rows: 16 };
/** Above and below the caption, its font size, left of it, after it and the names next to it, its smallest width. */
const CAPTION = { above: 20, below: 14, size: 12, left: 16, gap: 24, nameGap: 36, width: 600 };
const NOTES = { size: 12, line: 16 };
/** A square of color, and the distance of its name. */
const SQUARE = { side: 10, name: 16 };

/**
 * Return all panels as one scene, arranged as on the page.
 *
 * @param {{ method: Method, title: string, scene: Scene, legend: Mark[], notes: string[] }[]} panels
 * @param {boolean} stacked
 * @param {string} caption
 * @param {string[]} importance names of the bars below the tokens
 * @returns {Scene}
 */
export function figureScene(panels, stacked, caption, importance) {
  /** @type {Mark[]} */
  const marks = [];
  let [x, y, width, height] = [MARGIN, MARGIN, 0, 0];
  for (const { method, title, scene, legend, notes } of panels) {
    const legendTop = HEADING + scene.height;
    const notesTop = legendTop + (legend.length ? LEGEND.height : 0);
    const lines = notes.flatMap((note) => wrap(note, scene.width - 8));
    marks.push(
      ...namedColor(x + 4, y + 16, method, title, "ink", { size: TEXT.size, bold: true }),
      group(x, y + HEADING, scene.marks),
      group(x + 4, y + legendTop, legend),
      ...lines.map((text, at) =>
        label(x + 4, y + notesTop + (at + 1) * NOTES.line, text, "muted", { size: NOTES.size }),
      ),
    );
    const panelHeight = notesTop + lines.length * NOTES.line;
    width = Math.max(width, x + scene.width + MARGIN);
    height = Math.max(height, y + panelHeight);
    if (stacked) y += panelHeight + BETWEEN.rows;
    else x += scene.width + BETWEEN.columns;
  }
  const captionLines = wrap(caption, Math.max(CAPTION.width, width) - 2 * CAPTION.left, CAPTION.size);
  const captionTop = height + CAPTION.above;
  const bottom = captionTop + (captionLines.length - 1) * NOTES.line;
  captionLines.forEach((text, at) => {
    marks.push(label(CAPTION.left, captionTop + at * NOTES.line, text, "muted", { size: CAPTION.size }));
  });
  const last = captionLines[captionLines.length - 1];
  let right = CAPTION.left + textWidth(last, CAPTION.size) + CAPTION.gap;
  importance.forEach((name, track) => {
    marks.push(...namedColor(right, bottom, importanceColor(track), name, "muted", { size: CAPTION.size }));
    right += textWidth(name, CAPTION.size) + CAPTION.nameGap;
  });
  const captionRight = Math.max(...captionLines.map((text) => textWidth(text, CAPTION.size))) + 2 * CAPTION.left;
  return { width: Math.max(width, right, captionRight), height: bottom + CAPTION.below, marks };
}

/** Wrap a note into lines of at most this width, except for longer words.
 * @type {(note: string, width: number, size?: number) => string[]} */
function wrap(note, width, size = NOTES.size) {
  const [first, ...rest] = note.split(" ");
  const lines = [first];
  for (const word of rest) {
    const longer = `${lines.at(-1)} ${word}`;
    if (textWidth(longer, size) <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

/** Return a square of color and its name.
 * @type {(x: number, y: number, color: Color, name: string, textColor: Color, style: Partial<TextMark>) => Mark[]} */
function namedColor(x, y, color, name, textColor, style) {
  return [
    box(x, y - SQUARE.side, SQUARE.side, SQUARE.side, color, { corner: 2 }),
    label(x + SQUARE.name, y, name, textColor, style),
  ];
}

/** Return the text view of one method as a scene: wrapped text, each token on its cell, generated ones underlined.
 * @type {(method: Method, pieces: TextPiece[], scores: Vector | null, max: number) => Scene} */
export function textScene(method, pieces, scores, max) {
  /** @type {Mark[]} */
  const marks = [];
  let [x, y] = [4, 4];
  for (const { text, node, apart, generated } of pieces) {
    for (const part of text.split(/(?<=\s)|\n/)) {
      const width = textWidth(part, TEXT.size) + (apart ? 6 : 0);
      if (x + width > TEXT.width && x > 4) [x, y] = [4, y + TEXT.line];
      if (node !== null && scores)
        marks.push(box(x, y, width, 22, method, { alpha: cellAlpha(scores[node] / max), cell: true, corner: 3 }));
      if (generated) marks.push(line(x, y + 23, x + width, y + 23, "accent", 2));
      if (part.trim()) marks.push(label(x + (apart ? 3 : 0), y + 16, part.trimEnd(), "ink", { size: TEXT.size }));
      x += width + (apart ? 4 : 0);
    }
  }
  return { width: TEXT.width, height: y + 34, marks };
}
