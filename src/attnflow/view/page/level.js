/** Tokens or words: what a node of the picture is called, and which positions it stands for. */

import { mergedMatrix } from "./numbers.js";

export class Level {
  /** @param {object} data the document @param {boolean} words */
  constructor(data, words) {
    this.data = data;
    this.pieces = words && hasWords(data) ? data.words.pieces : null;
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

  name(layer, node) {
    return this.names(layer)[node] ?? String(node);
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
   * `added` their sum, and the sum over the pieces that give.
   *
   * @param {import("./strongest.js").Block} block
   * @returns {import("./strongest.js").Block}
   */
  block(block, added = false) {
    if (!this.pieces) return block;
    const { nodes, above } = this.wordRows(block.nodes);
    const values = mergedMatrix(block.values, block.columns, above, this.pieces);
    const columns = this.pieces.length;
    if (added) values.forEach((value, at) => (values[at] = value * above[Math.floor(at / columns)].length));
    const { from, to, total } = block;
    return { from, to, columns, values, nodes, total, count: block.count && this.pieces.length ** 2 };
  }
}

/** Whether words are known, and every layer stands for the tokens that they are made of. */
export function hasWords(data) {
  return Boolean(data.words) && data.sizes.every((size) => size === data.tokens.length) && !data.names;
}
