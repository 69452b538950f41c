/**
 * Where things stand in a panel: columns of tokens, rows of layers, labels. No drawing, no DOM.
 *
 * Everything asks the layout where a node is, and which node is at a point; nothing asks the screen.
 */

import { FONT } from "./theme.js";
import { visibleName } from "./format.js";

const LABEL_SIZE = 12;
/** Pixels. Chosen by eye: columns that still show as columns, and that need no more room. */
const LEAST_COLUMN = 2;
const MOST_COLUMN = 84;
/** Columns that slanted and upright labels need so as not to touch; chosen by eye. */
const SLANTED_FROM = 18;
export const UPRIGHT_FROM = 9;
/** Pixels that a label, the strip of scores and a track of bars have at most. Chosen by eye, as all below. */
const LABEL_WIDTH = 104;
const STRIP = 14;
const TRACK = 30;
/** Width of a panel under which layers have short names, and the room that names have there and elsewhere. */
const NARROW = 420;
const NAMES = { narrow: 38, wide: 62 };
/** What is left free: right of the columns, above the rows, under the nodes, and around labels and tracks. */
const RIGHT = 12;
const ABOVE = { cells: 6, nodes: 12 };
const UNDER_NODES = 10;
const AROUND_LABELS = 6;
const AROUND_TRACKS = 8;
/** A node's radius in pixels, and as a share of its column. */
const RADIUS = { least: 0.8, most: 4.5, share: 0.32 };
// Labels at 45 degrees.
const SLANT = Math.SQRT1_2;

let measuring = null;

/** The width of a text in pixels. */
export function textWidth(text, size = LABEL_SIZE) {
  measuring ??= document.createElement("canvas").getContext("2d");
  measuring.font = `${size}px ${FONT}`;
  return measuring.measureText(text).width;
}

/** A name cut so that it fits, with an ellipsis. */
function fittingName(name, width = LABEL_WIDTH, size = LABEL_SIZE) {
  const whole = visibleName(name);
  if (textWidth(whole, size) <= width) return whole;
  const characters = Array.from(whole);
  let [low, high] = [1, characters.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (textWidth(`${characters.slice(0, middle).join("")}…`, size) <= width) low = middle;
    else high = middle - 1;
  }
  return `${characters.slice(0, low).join("")}…`;
}

/** The width of a column in a panel of this width; panels stand one below the other where it is too small. */
export function columnWidth(width, size, left) {
  return Math.min(MOST_COLUMN, (width - left - RIGHT - 2) / size);
}

/**
 * A panel with layers as rows, the input at the bottom and its labels under it.
 *
 * @param {object} wanted
 * @param {number} wanted.width of the panel
 * @param {number[]} wanted.rows layers, bottom first; a graph begins with layer 0
 * @param {(layer: number) => number} wanted.size nodes of a layer
 * @param {string[]} wanted.names of the tokens
 * @param {number} wanted.tracks bars under the labels, one track for each importance
 * @param {number} wanted.zoom
 * @param {boolean} wanted.cells whether rows are cells of a heat map, and not nodes of a graph
 */
export function panelLayout({ width, rows, size, names, tracks, zoom, cells }) {
  const narrow = width < NARROW;
  const widest = Math.max(...rows.map(size), names.length);
  const gap = rowGap(rows.length, cells);
  const base = narrow ? NAMES.narrow : NAMES.wide;
  const column = Math.max(LEAST_COLUMN, columnWidth(width, widest, base)) * zoom;
  const labels = labelled(names, column);
  const left = Math.max(base, labels.before);
  const across = column * widest;
  const top = cells ? ABOVE.cells : ABOVE.nodes;
  const bottom = top + (cells ? rows.length : rows.length - 1) * gap;
  const strip = cells ? bottom : bottom + UNDER_NODES;
  const labelTop = strip + (cells ? 0 : STRIP) + AROUND_LABELS;
  const trackTop = labelTop + labels.height + AROUND_TRACKS;
  const layout = {
    cells,
    rows,
    narrow,
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
    tracks,
    radius: Math.max(RADIUS.least, Math.min(RADIUS.most, RADIUS.share * column)),
    width: Math.ceil(left + across + RIGHT),
    height: Math.ceil(trackTop + tracks * (TRACK + AROUND_TRACKS) + 2),
    /** The middle of a node's column. */
    x: (layer, node) => left + ((node + 0.5) * across) / size(layer),
    /** The middle of a layer's row. */
    y: (layer) => bottom - gap * (rows.indexOf(layer) + (cells ? 0.5 : 0)),
  };
  layout.nodeAt = (x, y) => nodeAt(layout, size, names.length, x, y);
  return layout;
}

/** Pixels from row to row; deep models get closer rows. Chosen: about 500 pixels for twelve layers. */
function rowGap(count, cells) {
  if (cells) return Math.max(12, Math.min(26, 320 / count));
  return Math.max(20, Math.min(54, 460 / count));
}

/** How labels stand, and the room that they need. */
function labelled(names, column) {
  if (column < UPRIGHT_FROM) return { kind: "none", texts: [], height: 0, before: 0 };
  const size = column < SLANTED_FROM ? Math.min(LABEL_SIZE, column + 1.5) : LABEL_SIZE;
  const texts = names.map((name) => fittingName(name, LABEL_WIDTH, size));
  const widths = texts.map((text) => textWidth(text, size));
  const widest = Math.max(...widths);
  if (widest + 8 <= column) return { kind: "flat", texts, size, height: 16, before: 0 };
  if (column < SLANTED_FROM) return { kind: "upright", texts, size, height: widest + 4, before: 0 };
  const before = Math.max(...widths.map((width, at) => width * SLANT + 6 - (at + 0.5) * column));
  return { kind: "slanted", texts, size, height: widest * SLANT + 14, before };
}

/** The node at a point, or null. The strip and the labels of the tokens count as layer 0. */
function nodeAt(layout, size, tokens, x, y) {
  const { rows, left, across, bottom, gap, top, cells, strip } = layout;
  const along = (x - left) / across;
  if (along < 0 || along >= 1 || y < top - gap / 2 || y > layout.height) return null;
  if (y > (cells ? bottom : strip - 2)) return { layer: 0, node: Math.floor(along * tokens) };
  const row = cells ? Math.floor((bottom - y) / gap) : Math.round((bottom - y) / gap);
  const layer = rows[Math.max(0, Math.min(rows.length - 1, row))];
  return { layer, node: Math.floor(along * (cells ? tokens : size(layer))) };
}
