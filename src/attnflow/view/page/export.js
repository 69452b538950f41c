/** What can be taken away: the picture as SVG and PNG, the numbers as CSV, a link. */

import { textWidth } from "./layout.js";
import { box, cellAlpha, group, words } from "./marks.js";
import { largest } from "./numbers.js";
import { canvasOf } from "./paint-canvas.js";
import { svgText } from "./paint-svg.js";
import { TITLES } from "./wording.js";

/** Pixels of a PNG for each of the page; chosen: sharp on paper. */
const PNG_SCALE = 2;
/** Pixels of a side that every browser can draw. */
const PNG_SIDE = 16000;
const TEXT_WIDTH = 560;

/**
 * All panels as one scene, as they stand on the page, with their headings and what they show.
 *
 * @param {{method: string, scene: import("./marks.js").Scene}[]} parts
 * @param {boolean} stacked
 * @param {string} caption
 * @param {string[]} importance names of the bars under the tokens
 */
export function figureOf(parts, stacked, caption, importance) {
  const marks = [];
  let [x, y, width, height] = [12, 12, 0, 0];
  for (const { method, scene } of parts) {
    marks.push(
      ...named(x + 4, y + 16, method, TITLES[method], { size: 14, bold: true }),
      group(x, y + 28, scene.marks),
    );
    width = Math.max(width, x + scene.width + 12);
    height = Math.max(height, y + 28 + scene.height);
    if (stacked) y += scene.height + 44;
    else x += scene.width + 24;
  }
  const bottom = height + 20;
  marks.push(words(16, bottom, caption, "muted", { size: 12 }));
  let right = 40 + textWidth(caption);
  importance.forEach((name, track) => {
    marks.push(...named(right, bottom, `importance${track % 2}`, name, { size: 12 }));
    right += textWidth(name) + 36;
  });
  return { width: Math.max(width, right), height: height + 34, marks };
}

/** A name beside a square of its colour. */
function named(x, y, colour, name, look) {
  return [box(x, y - 10, 10, 10, colour, { corner: 2 }), words(x + 16, y, name, look.bold ? "ink" : "muted", look)];
}

/** The text view of one method as a scene: words wrapped, each on its ground. */
export function textScene(method, pieces, scores) {
  const marks = [];
  const most = scores ? largest(scores) || 1 : 1;
  let [x, y] = [4, 4];
  for (const { text, node, apart } of pieces) {
    for (const part of text.split(/(?<=\s)|\n/)) {
      const width = textWidth(part, 14) + (apart ? 6 : 0);
      if (x + width > TEXT_WIDTH && x > 4) [x, y] = [4, y + 26];
      if (node !== null && scores)
        marks.push(box(x, y, width, 22, method, { alpha: cellAlpha(scores[node] / most), cell: true, corner: 3 }));
      if (part.trim()) marks.push(words(x + (apart ? 3 : 0), y + 16, part.trimEnd(), "ink", { size: 14 }));
      x += width + (apart ? 4 : 0);
    }
  }
  return { width: TEXT_WIDTH, height: y + 34, marks };
}

/** Rows of values as CSV, RFC 4180. */
export function csvText(rows) {
  const field = (value) =>
    /[",\r\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value);
  return rows.map((row) => row.map(field).join(",")).join("\r\n") + "\r\n";
}

export function saveSvg(scene, palette, name) {
  saveFile(new Blob([svgText(scene, palette)], { type: "image/svg+xml" }), `${name}.svg`);
}

export function savePng(scene, palette, name) {
  const scale = Math.min(PNG_SCALE, PNG_SIDE / scene.width, PNG_SIDE / scene.height);
  canvasOf(scene, palette, scale).toBlob((blob) => saveFile(blob, `${name}.png`), "image/png");
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
  setTimeout(() => URL.revokeObjectURL(address), 10_000); // after the browser has read it
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
