/** The text itself, each token or word on a ground as strong as its score. */

import { make } from "./dom.js";
import { cellAlpha } from "../draw/marks.js";
import { largest } from "../compute/matrix.js";
import { numberText, visibleName } from "../draw/format.js";

/**
 * The text in pieces: characters of a node, characters between nodes, and nodes without characters,
 * such as special tokens.
 *
 * @returns {{text: string, node: number | null, apart?: boolean}[]}
 */
export function textPieces(data, level) {
  const names = level.names(0);
  if (!data.text || !data.spans) return names.map((name, node) => ({ text: visibleName(name), node, apart: true }));
  const pieces = [];
  let place = 0;
  names.forEach((name, node) => {
    const spans = level
      .positions(node)
      .map((position) => data.spans[position])
      .filter(Boolean);
    const start = Math.max(place, Math.min(...spans.map((span) => span[0])));
    const end = Math.max(...spans.map((span) => span[1]));
    if (!spans.length || end <= start) return pieces.push({ text: visibleName(name), node, apart: true });
    if (start > place) pieces.push({ text: data.text.slice(place, start), node: null });
    pieces.push({ text: data.text.slice(start, end), node });
    place = end;
  });
  if (place < data.text.length) pieces.push({ text: data.text.slice(place), node: null });
  return pieces;
}

/** One paragraph that shows the scores of one method at a time. */
export class TextView {
  constructor(method) {
    this.method = method;
    this.element = make("p", { class: "text", "data-method": method });
    this.tokens = new Map();
  }

  show(pieces, scores, selected) {
    if (this.pieces !== pieces) this.build(pieces);
    const most = scores ? largest(scores) || 1 : 1;
    for (const [node, span] of this.tokens) {
      const score = scores?.[node] ?? 0;
      span.style.setProperty("--share", `${Math.round(100 * cellAlpha(score / most))}%`);
      span.classList.toggle("selected", node === selected);
      span.title = scores ? numberText(score) : "not computed";
    }
  }

  build(pieces) {
    this.pieces = pieces;
    this.tokens.clear();
    const spans = pieces.map(({ text, node, apart }) => {
      if (node === null) return document.createTextNode(text);
      const span = make("span", { class: apart ? "token apart" : "token", "data-node": node }, text);
      this.tokens.set(node, span);
      return span;
    });
    this.element.replaceChildren(...spans);
  }
}
