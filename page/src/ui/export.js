/** What can be taken away: the picture as SVG and PNG, the numbers as CSV, a link. */

import { textWidth } from "../draw/layout.js";
import { LEGEND } from "../draw/legend.js";
import { box, cellAlpha, group, words } from "../draw/marks.js";
import { largest } from "../compute/matrix.js";
import { canvasOf } from "../draw/canvas.js";
import { svgText } from "../draw/svg.js";
import { TITLES } from "../draw/format.js";

/** Pixels of a PNG for each of the page; chosen: sharp on paper. */
const PNG_SCALE = 2;
/** Pixels of a side and of the whole that every browser can draw; chosen: what Safari on a phone allows. */
const PNG_SIDE = 16000;
const PNG_AREA = 16e6;
/** Pixels of a line of the text view, of its letters and from line to line. Chosen by eye, as all below. */
const TEXT_WIDTH = 560;
const TEXT_SIZE = 14;
const TEXT_LINE = 26;
/** Around a figure, over a panel for its heading, and between panels beside and below each other. */
const EDGE = 12;
const HEADING = 28;
const BETWEEN = { beside: 24, below: 16 };
/** From the panels to the caption and under it, the caption's letters, and around the names in it. */
const CAPTION = { over: 20, under: 14, size: 12, left: 16, apart: 24, named: 36 };
/** Letters of the notes under a panel, and from line to line. */
const NOTES = { size: 12, line: 16 };
/** A square of colour, and what it stands left of its name. */
const SQUARE = { side: 10, apart: 16 };

/**
 * All panels as one scene, as they stand on the page, with their headings and what they show.
 *
 * @param {{method: string, scene: import("../draw/marks.js").Scene, legend: object[], notes: string[]}[]} parts
 * @param {boolean} stacked
 * @param {string} caption
 * @param {string[]} importance names of the bars under the tokens
 */
export function figureOf(parts, stacked, caption, importance) {
  const marks = [];
  let [x, y, width, height] = [EDGE, EDGE, 0, 0];
  for (const { method, scene, legend, notes } of parts) {
    const below = HEADING + scene.height;
    const noted = below + (legend.length ? LEGEND.height : 0);
    const lines = notes.flatMap((note) => wrapped(note, scene.width - 8));
    marks.push(
      ...named(x + 4, y + 16, method, TITLES[method], { size: TEXT_SIZE, bold: true }),
      group(x, y + HEADING, scene.marks),
      group(x + 4, y + below, legend),
      ...lines.map((text, at) => words(x + 4, y + noted + (at + 1) * NOTES.line, text, "muted", { size: NOTES.size })),
    );
    const tall = noted + lines.length * NOTES.line;
    width = Math.max(width, x + scene.width + EDGE);
    height = Math.max(height, y + tall);
    if (stacked) y += tall + BETWEEN.below;
    else x += scene.width + BETWEEN.beside;
  }
  const bottom = height + CAPTION.over;
  marks.push(words(CAPTION.left, bottom, caption, "muted", { size: CAPTION.size }));
  let right = CAPTION.left + textWidth(caption, CAPTION.size) + CAPTION.apart;
  importance.forEach((name, track) => {
    marks.push(...named(right, bottom, `importance${track % 2}`, name, { size: CAPTION.size }));
    right += textWidth(name, CAPTION.size) + CAPTION.named;
  });
  return { width: Math.max(width, right), height: bottom + CAPTION.under, marks };
}

/** A note as lines that are no wider than this, but for a word that is. */
function wrapped(note, width) {
  const [first, ...rest] = note.split(" ");
  const lines = [first];
  for (const word of rest) {
    const longer = `${lines.at(-1)} ${word}`;
    if (textWidth(longer, NOTES.size) <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

/** A name beside a square of its colour. */
function named(x, y, colour, name, look) {
  return [
    box(x, y - SQUARE.side, SQUARE.side, SQUARE.side, colour, { corner: 2 }),
    words(x + SQUARE.apart, y, name, look.bold ? "ink" : "muted", look),
  ];
}

/** The text view of one method as a scene: words wrapped, each on its ground. */
export function textScene(method, pieces, scores) {
  const marks = [];
  const most = scores ? largest(scores) || 1 : 1;
  let [x, y] = [4, 4];
  for (const { text, node, apart } of pieces) {
    for (const part of text.split(/(?<=\s)|\n/)) {
      const width = textWidth(part, TEXT_SIZE) + (apart ? 6 : 0);
      if (x + width > TEXT_WIDTH && x > 4) [x, y] = [4, y + TEXT_LINE];
      if (node !== null && scores)
        marks.push(box(x, y, width, 22, method, { alpha: cellAlpha(scores[node] / most), cell: true, corner: 3 }));
      if (part.trim()) marks.push(words(x + (apart ? 3 : 0), y + 16, part.trimEnd(), "ink", { size: TEXT_SIZE }));
      x += width + (apart ? 4 : 0);
    }
  }
  return { width: TEXT_WIDTH, height: y + 34, marks };
}

/** Rows of values as CSV, RFC 4180. */
function csvText(rows) {
  return rows.map((row) => row.map(csvField).join(",")).join("\r\n") + "\r\n";
}

/** A name that a spreadsheet would take for a formula begins with an apostrophe, which it shows as text. */
function csvField(value) {
  const text = typeof value === "string" ? value.replace(/^(?=[=+\-@\t\r])/, "'") : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function saveSvg(scene, palette, name) {
  saveFile(new Blob([svgText(scene, palette)], { type: "image/svg+xml" }), `${name}.svg`);
}

/** Whether it could be made: a browser may have no memory for a large picture. */
export async function savePng(scene, palette, name) {
  const { width, height } = scene;
  const scale = Math.min(PNG_SCALE, PNG_SIDE / width, PNG_SIDE / height, Math.sqrt(PNG_AREA / (width * height)));
  const blob = await new Promise((done) => canvasOf(scene, palette, scale).toBlob(done, "image/png"));
  if (blob) saveFile(blob, `${name}.png`);
  return blob !== null;
}

export function saveCsv(rows, name) {
  saveFile(new Blob([csvText(rows)], { type: "text/csv;charset=utf-8" }), `${name}.csv`);
}

function saveFile(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // After the browser has read it.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Put a text on the clipboard; whether that was allowed. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
