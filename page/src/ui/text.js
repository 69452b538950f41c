/** The text view: each token or word on a background as opaque as its score. */

/** @import { Method, PageData, TextPiece, Vector } from "../types.js" */

import { displayName, formatCount, formatScore } from "../draw/format.js";
import { cellAlpha } from "../draw/marks.js";
import { make } from "./dom.js";

/**
 * Split the text into the characters of nodes, those between nodes, and nodes without characters, such
 * as special tokens.
 *
 * @type {(data: PageData, level: import("../compute/level.js").Level) => TextPiece[]}
 */
export function textPieces({ text, spans }, level) {
  const names = level.names(0);
  /** @type {(node: number) => boolean} */
  const isGenerated = (node) => level.writer(node) !== null;
  if (!text || !spans) {
    return names.map((name, node) => ({ text: displayName(name), node, apart: true, generated: isGenerated(node) }));
  }
  /** @type {TextPiece[]} */
  const pieces = [];
  let place = 0;
  names.forEach((name, node) => {
    const own = level
      .positions(node)
      .map((position) => spans[position])
      .filter((span) => span !== null);
    const start = Math.max(place, Math.min(...own.map((span) => span[0])));
    const end = Math.max(...own.map((span) => span[1]));
    if (!own.length || end <= start) {
      pieces.push({ text: displayName(name), node, apart: true, generated: isGenerated(node) });
      return;
    }
    if (start > place) pieces.push({ text: text.slice(place, start), node: null });
    pieces.push({ text: text.slice(start, end), node, generated: isGenerated(node) });
    place = end;
  });
  const rest = text.slice(place).trim();
  // A text that is too long for the model is cut off.
  if (place && rest) pieces.push({ text: ` … (${formatCount(rest.length)} characters not read)`, node: null });
  return pieces;
}

export class TextView {
  /** @param {Method} method */
  constructor(method) {
    this.element = make("p", { class: "text", "data-method": method });
    /** @type {TextPiece[]} */
    this.pieces = [];
    /** @type {Map<number, HTMLElement>} node → its element */
    this.tokens = new Map();
  }

  /** Show scores on a scale that ends at `max`; `written` is the token that the selected one wrote.
   * @type {(pieces: TextPiece[], scores: Vector | null, max: number, selected: number, written: number | null) => void} */
  show(pieces, scores, max, selected, written) {
    if (this.pieces !== pieces) this.build(pieces);
    for (const [node, span] of this.tokens) {
      const score = scores?.[node] ?? 0;
      span.style.setProperty("--share", `${Math.round(100 * cellAlpha(score / max))}%`);
      span.classList.toggle("selected", node === selected);
      span.classList.toggle("written", node === written);
      span.title = scores ? formatScore(score) : "not known";
    }
  }

  /** @type {(pieces: TextPiece[]) => void} */
  build(pieces) {
    this.pieces = pieces;
    this.tokens.clear();
    const children = pieces.map(({ text, node, apart, generated }) => {
      if (node === null) return text;
      const classes = ["token", apart && "apart", generated && "generated"].filter(Boolean).join(" ");
      const span = make("span", { class: classes, "data-node": node }, text);
      this.tokens.set(node, span);
      return span;
    });
    this.element.replaceChildren(...children);
  }
}
