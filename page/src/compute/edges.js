/**
 * What the edges of the graph weigh: the document's attention or graph, decoded when asked for.
 *
 * @typedef {{head: number, residual: number}} Settings head −1: the mean of the heads
 */

import { arrayPart } from "./decode.js";
import { makeRowsShares, mergedMatrix } from "./matrix.js";

export class Edges {
  /** @param {object} data the document, with "attention" or "graph" */
  constructor(data) {
    this.attention = data.attention;
    this.graph = data.graph;
    this.sizes = data.sizes;
    this.heads = this.attention?.heads ? this.attention.heads.shape[1] : 0;
    this.defaults = { head: -1, residual: this.attention?.residual ?? 0 };
    this.decoded = new Map();
    this.counted = new Map();
  }

  get layers() {
    return this.sizes.length - 1;
  }

  /** All edges of the graph, those without weight among them. */
  get count() {
    return this.sizes.reduce((sum, size, at) => sum + (at ? size * this.sizes[at - 1] : 0), 0);
  }

  /** Whether the settings are those that scores in the document were made with. */
  plain({ head, residual }) {
    return head === this.defaults.head && residual === this.defaults.residual;
  }

  /**
   * W of layer 1…L without residual, as shares: rows of attention sum to one, and an edge without
   * bound, over which a node is carried along unchanged, counts as one.
   *
   * @returns {Float32Array} flat (above, below)
   */
  weights(layer, head = -1) {
    const key = `${layer} ${head}`;
    if (!this.decoded.has(key)) this.decoded.set(key, this.read(layer, head));
    return this.decoded.get(key);
  }

  read(layer, head) {
    const above = this.sizes[layer];
    const below = this.sizes[layer - 1];
    if (this.graph) return arrayPart(this.graph[layer - 1]).map((weight) => (weight === Infinity ? 1 : weight));
    const place = head < 0 ? layer - 1 : (layer - 1) * this.heads + head;
    const array = head < 0 ? this.attention.mean : this.attention.heads;
    const weights = arrayPart(array, place * above * below, above * below);
    // 16 bits a weight leave a sum that is a little off.
    makeRowsShares(weights, above, below);
    return weights;
  }

  /**
   * How many edges with a weight each node of a layer has below it, and each node under it above.
   *
   * @param {Settings} settings whose residual is an edge to itself for every node
   * @param {number[][]} [pieces] of words, where edges between words are counted
   * @returns {{below: Uint32Array, above: Uint32Array}}
   */
  degrees(layer, { head, residual }, pieces) {
    const key = `${layer} ${head} ${residual > 0} ${Boolean(pieces)}`;
    if (!this.counted.has(key)) {
      const W = this.weights(layer, head);
      const columns = this.sizes[layer - 1];
      const there = Float32Array.from(W, (weight) => Number(weight > 0));
      if (residual > 0) for (let node = 0; node < columns; node++) there[node * (columns + 1)] = 1;
      const merged = pieces ? mergedMatrix(there, columns, pieces, pieces) : there;
      this.counted.set(key, degreesOf(merged, pieces?.length ?? columns));
    }
    return this.counted.get(key);
  }

  /**
   * Capacities of layers 1…`layer` for flow: (1 − r) W + r I, the head alone at the layer itself.
   *
   * @param {Settings} settings
   * @returns {Float64Array[]}
   */
  capacities(layer, { head, residual }) {
    const matrices = [];
    for (let at = 1; at <= layer; at++) {
      if (this.graph) matrices.push(Float64Array.from(arrayPart(this.graph[at - 1])));
      else matrices.push(mixed(this.weights(at, at === layer ? head : -1), this.sizes[at], residual));
    }
    return matrices;
  }
}

function degreesOf(matrix, columns) {
  const [below, above] = [new Uint32Array(matrix.length / columns), new Uint32Array(columns)];
  matrix.forEach((weight, at) => {
    if (!(weight > 0)) return;
    below[Math.floor(at / columns)]++;
    above[at % columns]++;
  });
  return { below, above };
}

function mixed(W, size, residual) {
  const A = Float64Array.from(W, (weight) => (1 - residual) * weight);
  for (let node = 0; node < size; node++) A[node * size + node] += residual;
  return A;
}
