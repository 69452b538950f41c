/** Tokens or words: what a node of the picture is called, and which positions it stands for. */

import { mergedMatrix, mergedRow } from "./matrix.js";

export class Level {
  /** @param {object} data the document @param {boolean} words */
  constructor(data, words) {
    this.data = data;
    this.pieces = words && hasWords(data) ? data.words.pieces : null;
    this.readable = readableTokens(data);
    this.wordOf = [];
    this.pieces?.forEach((pieces, word) => pieces.forEach((piece) => (this.wordOf[piece] = word)));
  }

  size(layer) {
    return this.pieces ? this.pieces.length : this.data.sizes[layer];
  }

  /** Names of the nodes of a layer. */
  names(layer) {
    if (this.pieces) return this.data.words.names;
    return this.data.names ? this.data.names[layer] : this.data.tokens;
  }

  /** The same for people to read: where pieces carry the marks of their tokenizer, the text itself. */
  labels(layer) {
    return this.pieces || this.data.names ? this.names(layer) : this.readable;
  }

  label(layer, node) {
    return this.labels(layer)[node] ?? String(node);
  }

  /** Positions behind a node. */
  positions(node) {
    return this.pieces ? this.pieces[node] : [node];
  }

  /** The node that holds a position. */
  nodeOf(position) {
    return this.pieces ? (this.wordOf[position] ?? 0) : position;
  }

  /** Words of which some piece has a row, and those rows; by default each position has its own. */
  wordRows(positions = [...this.wordOf.keys()]) {
    const rowOf = new Map(positions.map((position, row) => [position, row]));
    const groups = this.pieces.map((pieces) => pieces.filter((p) => rowOf.has(p)).map((p) => rowOf.get(p)));
    const nodes = [...groups.keys()].filter((word) => groups[word].length);
    return { nodes, above: nodes.map((word) => groups[word]) };
  }

  /**
   * Edges between positions as edges between nodes: the mean over the pieces that take, or with
   * `added`, where the block has sums, their sum; and the sum over the pieces that give.
   *
   * @param {import("./top-edges.js").Block} block
   * @returns {import("./top-edges.js").Block}
   */
  block(block, added = false) {
    if (!this.pieces) return block;
    const { nodes, above } = this.wordRows(block.nodes);
    const values = mergedMatrix(block.values, block.columns, above, this.pieces);
    const { from, to, sums, count } = block;
    const columns = this.pieces.length;
    const merged = { from, to, columns, values, nodes };
    if (!sums) return merged;
    // A row that the block has left out counts as one without weight.
    const share = (word) => (added ? 1 : 1 / this.pieces[word].length);
    values.forEach((_, at) => {
      const row = Math.floor(at / columns);
      values[at] *= above[row].length * share(nodes[row]);
    });
    const whole = mergedRow(sums, this.pieces).map((sum, word) => sum * share(word));
    return { ...merged, sums: whole, count: () => count(this.pieces) };
  }
}

/** Marks that byte-level and SentencePiece tokenizers put where a space or a new line was. */
const SPACE_MARKS = /[ĠĊ▁]/;

function readableTokens({ tokens, text, spans }) {
  if (!text || !spans || !tokens.some((token) => SPACE_MARKS.test(token))) return tokens;
  return tokens.map((token, at) => {
    const characters = spans[at] ? text.slice(...spans[at]) : "";
    return characters.trim() || characters || token;
  });
}

/** Whether words are known, and every layer stands for the tokens that they are made of. */
export function hasWords(data) {
  return Boolean(data.words) && data.sizes.every((size) => size === data.tokens.length) && !data.names;
}
