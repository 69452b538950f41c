/** Edge weights of the graph: the document's attention or graph, decoded when needed. */

/** @import { Block, Matrix, Numbers, PageData, Settings, Vector } from "../types.js" */

import { decodeArray } from "./decode.js";
import { mergeMatrix, normalizeRows } from "./matrix.js";

export class Edges {
  /** @param {PageData} data with `attention` or `graph` */
  constructor(data) {
    this.attention = data.attention;
    this.graph = data.graph;
    this.sizes = data.sizes;
    this.heads = data.attention?.heads?.shape[1] ?? 0;
    /** @type {Settings} the settings of the scores in the document */
    this.defaults = { head: -1, residual: data.attention?.residual ?? 0 };
    /** @type {Map<string, Matrix>} */
    this.decoded = new Map();
    /** @type {Map<string, { below: Uint32Array, above: Uint32Array }>} */
    this.counted = new Map();
  }

  get layers() {
    return this.sizes.length - 1;
  }

  /** The number of edges of the graph, including those of weight zero. */
  get count() {
    return countEdges(this.sizes);
  }

  /** @type {(settings: Settings) => boolean} */
  isDefault({ head, residual }) {
    return head === this.defaults.head && residual === this.defaults.residual;
  }

  /**
   * Return W of layer 1…L without residual. Rows of attention sum to one; an unbounded edge, which
   * carries a node along unchanged, counts as one.
   *
   * @type {(layer: number, head?: number) => Matrix}
   */
  weights(layer, head = -1) {
    const key = `${layer} ${head}`;
    const weights = this.decoded.get(key) ?? this.decode(layer, head);
    this.decoded.set(key, weights);
    return weights;
  }

  /** @type {(layer: number, head: number) => Matrix} */
  decode(layer, head) {
    if (this.graph) return decodeArray(this.graph[layer - 1]).map((weight) => (weight === Infinity ? 1 : weight));
    const { mean, heads } = /** @type {NonNullable<PageData["attention"]>} */ (this.attention);
    const columns = this.sizes[layer - 1];
    const size = this.sizes[layer] * columns;
    const weights =
      head < 0 || !heads
        ? decodeArray(mean, (layer - 1) * size, size)
        : decodeArray(heads, ((layer - 1) * this.heads + head) * size, size);
    // Weights are rounded to 16 bits, so the sums are slightly off.
    normalizeRows(weights, columns);
    return weights;
  }

  /**
   * Count the edges with a weight below each node of a layer, and above each node of the next lower one.
   *
   * A residual adds an edge from every node to itself. With `pieces` edges between words are counted.
   *
   * @type {(layer: number, settings: Settings, pieces?: number[][]) => { below: Uint32Array, above: Uint32Array }}
   */
  degrees(layer, { head, residual }, pieces) {
    const key = `${layer} ${head} ${residual > 0} ${Boolean(pieces)}`;
    const known = this.counted.get(key);
    if (known) return known;
    const columns = this.sizes[layer - 1];
    const present = this.weights(layer, head).map((weight) => Number(weight > 0));
    if (residual > 0) for (let node = 0; node < columns; node++) present[node * (columns + 1)] = 1;
    const merged = pieces ? mergeMatrix(present, columns, pieces, pieces) : present;
    const degrees = countDegrees(merged, pieces?.length ?? columns);
    this.counted.set(key, degrees);
    return degrees;
  }

  /**
   * Return the capacities of layers 1…`layer` for flow: (1 − r) W + r I, with `head` at the last of them only.
   *
   * @type {(layer: number, settings: Settings) => Vector[]}
   */
  capacities(layer, { head, residual }) {
    return Array.from({ length: layer }, (_, index) => {
      if (this.graph) return Float64Array.from(decodeArray(this.graph[index]));
      const size = this.sizes[index + 1];
      const W = this.weights(index + 1, index + 1 === layer ? head : -1);
      const A = Float64Array.from(W, (weight) => (1 - residual) * weight);
      for (let node = 0; node < size; node++) A[node * size + node] += residual;
      return A;
    });
  }
}

/** Return the number of edges between layers of these sizes. @type {(sizes: number[]) => number} */
export function countEdges(sizes) {
  return sizes.reduce((sum, size, layer) => sum + (layer ? size * sizes[layer - 1] : 0), 0);
}

/** @type {(from: number, to: number, columns: number, rows: Numbers[], nodes: number[]) => Block} */
export function blockOfRows(from, to, columns, rows, nodes) {
  const values = new Float32Array(rows.length * columns);
  rows.forEach((row, at) => {
    values.set(row, at * columns);
  });
  return { from, to, columns, values, nodes };
}

/** @type {(matrix: Matrix, columns: number) => { below: Uint32Array, above: Uint32Array }} */
function countDegrees(matrix, columns) {
  const [below, above] = [new Uint32Array(matrix.length / columns), new Uint32Array(columns)];
  matrix.forEach((weight, at) => {
    if (!(weight > 0)) return;
    below[Math.floor(at / columns)]++;
    above[at % columns]++;
  });
  return { below, above };
}
