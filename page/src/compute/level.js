/** Token level or word level: the names of the nodes, and the positions that a node stands for. */

/** @import { Block, PageData } from "../types.js" */

import { mergeMatrix, mergeRow } from "./matrix.js";

export class Level {
  /** @param {PageData} data @param {boolean} words */
  constructor(data, words) {
    this.data = data;
    this.words = words && hasWords(data) ? data.words : null;
    /** @type {number[][] | undefined} the positions of each word; undefined at token level */
    this.pieces = this.words?.pieces;
    /** @type {number[]} */
    this.wordOf = [];
    this.pieces?.forEach((pieces, word) => {
      for (const piece of pieces) this.wordOf[piece] = word;
    });
  }

  /** Return the number of nodes of a layer. @type {(layer: number) => number} */
  size(layer) {
    return this.pieces ? this.pieces.length : this.data.sizes[layer];
  }

  /** Return the names of the nodes of a layer. @type {(layer: number) => string[]} */
  names(layer) {
    if (this.words) return this.words.names;
    return this.data.names ? this.data.names[layer] : this.data.tokens;
  }

  /** Return the name of a layer, as "layer 3" or "encoder 3". @type {(layer: number) => string} */
  layerName(layer) {
    return this.data.layer_names?.[layer] ?? `layer ${layer}`;
  }

  /** The number of nodes at the end that the model generated. */
  get generated() {
    const { generated, tokens } = this.data;
    if (!this.pieces) return generated;
    return this.pieces.filter((pieces) => pieces[0] >= tokens.length - generated).length;
  }

  /** Return the position whose output is the first token of a node, or null if the model did not generate it.
   * @type {(node: number) => number | null} */
  writer(node) {
    const { generated, tokens } = this.data;
    const [first] = this.positions(node);
    return generated && first >= tokens.length - generated ? first - 1 : null;
  }

  /** Return the position of the token that a node wrote, or null. @type {(node: number) => number | null} */
  written(node) {
    const { generated, tokens } = this.data;
    const next = (this.positions(node).at(-1) ?? 0) + 1;
    return generated && next < tokens.length && next >= tokens.length - generated ? next : null;
  }

  /** @type {(layer: number, node: number) => string} */
  label(layer, node) {
    return this.names(layer)[node] ?? String(node);
  }

  /** Return the positions of a node. @type {(node: number) => number[]} */
  positions(node) {
    return this.pieces ? this.pieces[node] : [node];
  }

  /** Return the node of a position. @type {(position: number) => number} */
  nodeOf(position) {
    return this.pieces ? (this.wordOf[position] ?? 0) : position;
  }

  /**
   * Return the words of which some piece has a row in a matrix, and those rows.
   *
   * @param {number[][]} words the pieces of each word
   * @param {number[]} [positions] of the rows of the matrix; by default 0, 1, …
   */
  wordRows(words, positions = [...this.wordOf.keys()]) {
    const rowOf = new Map(positions.map((position, row) => [position, row]));
    const rows = words.map((pieces) => pieces.map((piece) => rowOf.get(piece)).filter((row) => row !== undefined));
    const nodes = [...rows.keys()].filter((word) => rows[word].length);
    return { nodes, rows: nodes.map((word) => rows[word]) };
  }

  /**
   * Merge edges between positions into edges between nodes: the mean over the rows of a word, or with
   * `summed` their sum where the block has sums, and the sum over its columns.
   *
   * @type {(block: Block, summed?: boolean) => Block}
   */
  block(block, summed = false) {
    const { pieces } = this;
    if (!pieces) return block;
    const { nodes, rows } = this.wordRows(pieces, block.nodes);
    const values = mergeMatrix(block.values, block.columns, rows, pieces);
    const { from, to, sums, count } = block;
    const columns = pieces.length;
    const merged = { from, to, columns, values, nodes };
    if (!sums) return merged;
    // A row that the block omits counts as one without weight.
    /** @type {(word: number) => number} */
    const share = (word) => (summed ? 1 : 1 / pieces[word].length);
    for (let at = 0; at < values.length; at++) {
      const row = Math.floor(at / columns);
      values[at] *= rows[row].length * share(nodes[row]);
    }
    const wordSums = mergeRow(sums, pieces).map((sum, word) => sum * share(word));
    return { ...merged, sums: wordSums, count: count && (() => count(pieces)) };
  }
}

/** Return whether words are known and every layer has the nodes of the tokens. @type {(data: PageData) => boolean} */
export function hasWords(data) {
  return Boolean(data.words) && !data.grid && data.sizes.every((size) => size === data.tokens.length) && !data.names;
}
