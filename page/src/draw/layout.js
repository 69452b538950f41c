/**
 * Positions in a panel: columns of tokens, rows of layers, labels. No drawing, no DOM.
 *
 * All code asks the layout where a node is, and which node is at a point.
 */

/** @import { NodeRef } from "../types.js" */

import { setBounded } from "../compute/cache.js";
import { displayName } from "./format.js";
import { FONT } from "./theme.js";

/** Sizes are in pixels and chosen by eye. */
const LABEL_SIZE = 12;
const LABEL_WIDTH = 104;
const MIN_COLUMN = 2;
const MAX_COLUMN = 84;
/** Columns from which slanted and upright labels do not touch, and what a line of text needs of its column. */
const SLANTED_FROM = 18;
export const UPRIGHT_FROM = 12;
export const LINE_SPACE = 1.5;
/** Heights of the strip of scores and of a track of bars. */
const STRIP = 14;
const TRACK = 30;
/** The width of a panel below which layers have short names, and the space for the names. */
const NARROW = 420;
const NAMES = { narrow: 38, wide: 62, size: 11 };
/** Margins: right of the columns, above the rows, below the nodes, around labels and tracks. */
const RIGHT = 12;
const ABOVE = { cells: 6, nodes: 12 };
const BELOW_NODES = 10;
const AROUND_LABELS = 6;
const AROUND_TRACKS = 8;
/** The radius of a node: limits, and the share of its column. */
const RADIUS = { min: 0.8, max: 4.5, share: 0.32 };
/** Width and height of a cell from which it has a number. */
const NUMBER = { width: 34, height: 18 };
/** Labels are slanted by 45 degrees. */
const SLANT = Math.SQRT1_2;

/** Measured texts; chosen: the labels of a long input and more. */
const CACHED_WIDTHS = 4096;

/** @type {CanvasRenderingContext2D | null} */
let measuring = null;
/** @type {Map<string, number>} */
const widths = new Map();

/** Return the width of a text in pixels. @type {(text: string, size?: number, bold?: boolean) => number} */
export function textWidth(text, size = LABEL_SIZE, bold = false) {
  const font = `${bold ? 600 : 400} ${size}px ${FONT}`;
  const key = `${font} ${text}`;
  const known = widths.get(key);
  if (known !== undefined) return known;
  measuring ??= document.createElement("canvas").getContext("2d");
  if (!measuring) return 0.6 * size * text.length;
  measuring.font = font;
  return setBounded(widths, key, measuring.measureText(text).width, CACHED_WIDTHS);
}

/** Return a name, shortened with an ellipsis to fit a label. @type {(name: string, size: number) => string} */
function fitName(name, size) {
  const full = displayName(name);
  if (textWidth(full, size) <= LABEL_WIDTH) return full;
  const characters = Array.from(full);
  let [low, high] = [1, characters.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (textWidth(`${characters.slice(0, middle).join("")}…`, size) <= LABEL_WIDTH) low = middle;
    else high = middle - 1;
  }
  return `${characters.slice(0, low).join("")}…`;
}

/** Return the width of a column in a panel; panels are stacked where it is too small.
 * @type {(width: number, size: number, left: number) => number} */
export function columnWidth(width, size, left) {
  return Math.min(MAX_COLUMN, (width - left - RIGHT - 2) / size);
}

/**
 * Return the layout of a panel with layers as rows, the input at the bottom and its labels below it.
 *
 * @param {object} options
 * @param {number} options.width of the panel
 * @param {number[]} options.rows layers, bottom first; a graph begins with layer 0
 * @param {(layer: number) => number} options.size nodes of a layer
 * @param {string[]} options.names of the tokens
 * @param {number} options.tracks bars below the labels, one track for each importance
 * @param {number} options.zoom
 * @param {number} options.generated nodes at the end that the model generated
 * @param {string[] | null} options.layerNames by layer, where they are not numbered
 * @param {boolean} options.cells whether rows are cells of a heat map instead of nodes of a graph
 */
export function panelLayout({ width, rows, size, names, tracks, zoom, cells, generated, layerNames }) {
  const narrow = width < NARROW;
  const widest = Math.max(...rows.map(size), names.length);
  const gap = rowGap(rows.length, cells);
  /** @type {(layer: number) => string} */
  const layerName = (layer) => layerLabel(layer, layerNames, narrow);
  // The name of the selected layer is bold.
  const nameWidths = rows.map((layer) => textWidth(layerName(layer), NAMES.size, true));
  const widestName = layerNames ? Math.max(...nameWidths) + 14 : 0;
  const base = Math.max(narrow ? NAMES.narrow : NAMES.wide, widestName);
  const column = Math.max(MIN_COLUMN, columnWidth(width, widest, base)) * zoom;
  const labels = labelLayout(names, column);
  const left = Math.max(base, labels.before);
  const across = column * widest;
  const top = cells ? ABOVE.cells : ABOVE.nodes;
  const bottom = top + (cells ? rows.length : rows.length - 1) * gap;
  const strip = cells ? bottom : bottom + BELOW_NODES;
  const labelTop = strip + (cells ? 0 : STRIP) + AROUND_LABELS;
  const trackTop = labelTop + labels.height + AROUND_TRACKS;
  const height = Math.ceil(trackTop + tracks * (TRACK + AROUND_TRACKS) + 2);
  return {
    cells,
    texts: cells && column >= NUMBER.width && gap >= NUMBER.height,
    rows,
    layerName,
    generated,
    column,
    left,
    gap,
    across,
    labels,
    top,
    bottom,
    strip,
    labelTop,
    trackTop,
    stripHeight: STRIP,
    trackHeight: TRACK,
    radius: Math.max(RADIUS.min, Math.min(RADIUS.max, RADIUS.share * column)),
    width: Math.ceil(left + across + RIGHT),
    height,
    /** The center of a node's column. @type {(layer: number, node: number) => number} */
    x: (layer, node) => left + ((node + 0.5) * across) / size(layer),
    /** The center of a layer's row. @type {(layer: number) => number} */
    y: (layer) => bottom - gap * (rows.indexOf(layer) + (cells ? 0.5 : 0)),
    /** The node at a point; strip and labels of the tokens count as layer 0.
     * @type {(x: number, y: number) => NodeRef | null} */
    nodeAt: (x, y) => {
      const share = (x - left) / across;
      if (share < 0 || share >= 1 || y < top - gap / 2 || y > height) return null;
      if (y > (cells ? bottom : strip - 2)) return { layer: 0, node: Math.floor(share * names.length) };
      const row = cells ? Math.floor((bottom - y) / gap) : Math.round((bottom - y) / gap);
      const layer = rows[Math.max(0, Math.min(rows.length - 1, row))];
      return { layer, node: Math.floor(share * (cells ? names.length : size(layer))) };
    },
  };
}

/** Return the name of a layer at its row; short ones where a page is narrow.
 * @type {(layer: number, names: string[] | null, narrow: boolean) => string} */
function layerLabel(layer, names, narrow) {
  if (!names) return layer === 0 ? "input" : narrow ? String(layer) : `layer ${layer}`;
  return narrow ? names[layer].replace(/^(e|d)(?:ncoder|ecoder) /, "$1") : names[layer];
}

/** Return the distance of rows; chosen: about 500 pixels for twelve layers.
 * @type {(count: number, cells: boolean) => number} */
function rowGap(count, cells) {
  if (cells) return Math.max(12, Math.min(26, 320 / count));
  return Math.max(20, Math.min(54, 460 / count));
}

/**
 * Return how labels are drawn and the space that they need.
 *
 * @typedef {{ kind: "some" | "flat" | "upright" | "slanted", texts: string[], size: number, height: number,
 *   before: number }} LabelLayout `before`: space left of the first column
 * @type {(names: string[], column: number) => LabelLayout}
 */
function labelLayout(names, column) {
  const some = column < UPRIGHT_FROM;
  const size = !some && column < SLANTED_FROM ? Math.min(LABEL_SIZE, column - LINE_SPACE) : LABEL_SIZE;
  const texts = names.map((name) => fitName(name, size));
  const widths = texts.map((text) => textWidth(text, size));
  const widest = Math.max(...widths);
  if (some) return { kind: "some", texts, size, height: widest + 4, before: 0 };
  if (widest + 8 <= column) return { kind: "flat", texts, size, height: 16, before: 0 };
  if (column < SLANTED_FROM) return { kind: "upright", texts, size, height: widest + 4, before: 0 };
  const before = Math.max(...widths.map((width, at) => width * SLANT + 6 - (at + 0.5) * column));
  return { kind: "slanted", texts, size, height: widest * SLANT + 14, before };
}
