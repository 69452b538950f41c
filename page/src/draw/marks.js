/**
 * What a picture is made of. A scene is its size and a list of marks; painters draw it.
 *
 * Colours are names of the palette. Alpha and width are numbers; a mark without them is opaque, 1 wide.
 *
 * @typedef {{kind: "line", x1: number, y1: number, x2: number, y2: number, colour: string, width: number,
 *   alpha?: number, dash?: number}} LineMark
 * @typedef {{kind: "dot", x: number, y: number, radius: number, colour: string, alpha?: number,
 *   hollow?: number}} DotMark hollow: the width of a ring's line
 * @typedef {{kind: "box", x: number, y: number, width: number, height: number, colour: string,
 *   alpha?: number, corner?: number, hollow?: number, cell?: boolean}} BoxMark cell: a ground for text
 * @typedef {{kind: "text", x: number, y: number, text: string, colour: string, size?: number,
 *   anchor?: "start" | "middle" | "end", angle?: number, bold?: boolean}} TextMark
 * @typedef {{kind: "group", x: number, y: number, marks: Mark[]}} GroupMark
 * @typedef {LineMark | DotMark | BoxMark | TextMark | GroupMark} Mark
 * @typedef {{width: number, height: number, marks: Mark[], names?: Mark[]}} Scene names: of the layers, which
 *   stay in sight
 */

export const line = (x1, y1, x2, y2, colour, width, more = {}) => ({
  kind: "line",
  x1,
  y1,
  x2,
  y2,
  colour,
  width,
  ...more,
});
export const dot = (x, y, radius, colour, more = {}) => ({ kind: "dot", x, y, radius, colour, ...more });
export const box = (x, y, width, height, colour, more = {}) => ({ kind: "box", x, y, width, height, colour, ...more });
export const words = (x, y, text, colour, more = {}) => ({ kind: "text", x, y, text, colour, ...more });
export const group = (x, y, marks) => ({ kind: "group", x, y, marks });

/**
 * How wide and how opaque an edge is that has this share of the strongest one; chosen by eye.
 *
 * @param {number} ink 1, or less where edges are so many that they would hide each other
 */
export function edgeLook(share, column, ink = 1) {
  const clamped = Math.min(1, share);
  const widest = Math.max(1, Math.min(3.6, 0.2 * column));
  return { width: 0.5 + (widest - 0.5) * clamped, alpha: Math.max(0.03, ink * (0.06 + 0.8 * clamped ** 0.7)) };
}

/** How opaque a token or a cell is that has this share of the strongest score. */
export const cellAlpha = (share) => (share > 0 ? 0.06 + 0.94 * Math.min(1, share) : 0);

/** A mark's opacity; of a cell, less than all, so that text on it can be read. */
export const alphaOf = (mark, palette) => (mark.alpha ?? 1) * (mark.cell ? palette.cells : 1);
