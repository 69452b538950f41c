/**
 * The elements of a picture. A scene is a size and a list of marks; canvas.js and svg.js draw it.
 *
 * Colors are names of the palette. A mark without alpha is opaque.
 */

/** @import { BoxMark, Color, DotMark, GroupMark, LineMark, Mark, Palette, Shape, TextMark } from "../types.js" */

/** @type {(x1: number, y1: number, x2: number, y2: number, color: Color, width: number, m?: Partial<LineMark>) => LineMark} */
export const line = (x1, y1, x2, y2, color, width, more) => ({ kind: "line", x1, y1, x2, y2, color, width, ...more });

/** @type {(x: number, y: number, radius: number, color: Color, more?: Partial<DotMark>) => DotMark} */
export const dot = (x, y, radius, color, more) => ({ kind: "dot", x, y, radius, color, ...more });

/** @type {(x: number, y: number, width: number, height: number, color: Color, more?: Partial<BoxMark>) => BoxMark} */
export const box = (x, y, width, height, color, more) => ({ kind: "box", x, y, width, height, color, ...more });

/** @type {(x: number, y: number, text: string, color: Color, more?: Partial<TextMark>) => TextMark} */
export const label = (x, y, text, color, more) => ({ kind: "text", x, y, text, color, ...more });

/** @type {(x: number, y: number, marks: Mark[]) => GroupMark} */
export const group = (x, y, marks) => ({ kind: "group", x, y, marks });

/**
 * Return width and opacity of an edge with this share of the strongest one; chosen by eye.
 *
 * `ink` is 1, or less where edges are so many that they would hide each other.
 *
 * @type {(share: number, column: number, ink?: number) => { width: number, alpha: number }}
 */
export function edgeStyle(share, column, ink = 1) {
  const clamped = Math.min(1, share);
  const widest = Math.max(1, Math.min(3.6, 0.2 * column));
  return { width: 0.5 + (widest - 0.5) * clamped, alpha: Math.max(0.03, ink * (0.06 + 0.8 * clamped ** 0.7)) };
}

/** Return the opacity of a token or cell with this share of the highest score. @type {(share: number) => number} */
export const cellAlpha = (share) => (share > 0 ? 0.06 + 0.94 * Math.min(1, share) : 0);

/** Return the opacity of a mark; cells are lighter, so that text on them is readable.
 * @type {(mark: Shape, palette: Palette) => number} */
export function alphaOf(mark, palette) {
  return (mark.alpha ?? 1) * (mark.kind === "box" && mark.cell ? palette.cells : 1);
}
