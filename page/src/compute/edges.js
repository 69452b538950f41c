/** Edge weights of the graph: the document's attention or graph, decoded when needed. */

/** @import { Block, Matrix, Numbers, PageData, Settings, Vector } from "../types.js" */

import { decodeArray } from "./decode.js";
import { mergeMatrix, normalizeRows, sumOf } from "./matrix.js";

export class Edges {
  /** @param {PageData} data with `attention` or `graph` */
  constructor(data) {
    this.attention = data.attention;
    this.graph = data.graph;
    this.sizes = data.sizes;
    this.heads = data.attention?.heads?.shape[1] ?? 0;
    this.sinks = data.sinks;
    this.graphResidual = data.graph_residual;
    /** @type {Settings} the settings of the scores in the document */
    this.defaults = { head: -1, residual: data.attention?.residual ?? 0, keepSinks: data.keep_sinks };
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
  isDefault({ head, residual, keepSinks }) {
    const { defaults, sinks } = this;
    const sameSinks = !sinks.length || Boolean(keepSinks) === defaults.keepSinks;
    return head === defaults.head && residual === defaults.residual && sameSinks;
  }

  /**
   * Return W of layer 1…L without residual. Rows of attention sum to one; an unbounded edge, which
   * carries a node along unchanged, counts as one.
   *
   * @type {(layer: number, settings: Settings, head?: number) => Matrix}
   */
  weights(layer, { head: chosen, keepSinks }, head = chosen) {
    const removed = !keepSinks && this.sinks.length > 0;
    const key = `${layer} ${head} ${removed}`;
    const known = this.decoded.get(key);
    if (known) return known;
    const weights = this.graph
      ? this.graphLayer(layer, removed).map((weight) => (weight === Infinity ? 1 : weight))
      : this.attentionLayer(layer, head);
    if (removed && !this.graph) removeColumns(weights, this.sizes[layer - 1], this.sinks);
    this.decoded.set(key, weights);
    return weights;
  }

  /** Return a layer of the graph, with residual. @type {(layer: number, removed: boolean) => Matrix} */
  graphLayer(layer, removed) {
    const weights = decodeArray(/** @type {NonNullable<PageData["graph"]>} */ (this.graph)[layer - 1]);
    if (removed) removeColumns(weights, this.sizes[layer - 1], this.sinks, this.graphResidual ?? 0);
    return weights;
  }

  /** Return the weights that raw attention shows: W, also of a graph whose residual is known.
   * @type {(layer: number, settings: Settings) => Matrix} */
  rawWeights(layer, settings) {
    const weights = this.weights(layer, settings);
    if (!this.graph || !this.graphResidual) return weights;
    const key = `raw ${layer} ${Boolean(settings.keepSinks)}`;
    const known = this.decoded.get(key);
    if (known) return known;
    const raw = weights.slice();
    const unbounded = this.graphLayer(layer, false);
    removeResidual(raw, unbounded, this.sizes[layer - 1], this.graphResidual);
    this.decoded.set(key, raw);
    return raw;
  }

  /** Return W of a head, −1 for their mean. @type {(layer: number, head: number) => Matrix} */
  attentionLayer(layer, head) {
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
  degrees(layer, settings, pieces) {
    const { head, residual, keepSinks } = settings;
    const key = `${layer} ${head} ${residual > 0} ${Boolean(keepSinks)} ${Boolean(pieces)}`;
    const known = this.counted.get(key);
    if (known) return known;
    const columns = this.sizes[layer - 1];
    const present = this.weights(layer, settings).map((weight) => Number(weight > 0));
    if (residual > 0) for (let node = 0; node < columns; node++) present[node * (columns + 1)] = 1;
    const merged = pieces ? mergeMatrix(present, columns, pieces, pieces) : present;
    const degrees = countDegrees(merged, pieces?.length ?? columns);
    this.counted.set(key, degrees);
    return degrees;
  }

  /**
   * Yield the capacities of layers 1…`layer` for flow: (1 − r) W + r I, with `head` at the last of them only.
   *
   * @type {(layer: number, settings: Settings) => Generator<Vector, void>}
   */
  *capacityLayers(layer, settings) {
    const { head, residual, keepSinks } = settings;
    for (let at = 1; at <= layer; at++) {
      if (this.graph) yield Float64Array.from(this.graphLayer(at, !keepSinks && this.sinks.length > 0));
      else {
        const size = this.sizes[at];
        const A = new Float64Array(this.weights(at, settings, at === layer ? head : -1));
        for (let edge = 0; edge < A.length; edge++) A[edge] *= 1 - residual;
        for (let node = 0; node < size; node++) A[node * size + node] += residual;
        yield A;
      }
    }
  }
}

/** The edges of uniform causal attention: every position attends equally to itself and all earlier ones. */
export class UniformEdges extends Edges {
  /** All layers are the same. @override @type {Edges["weights"]} */
  weights(_, settings) {
    return super.weights(1, settings, -1);
  }

  /** @override @type {Edges["attentionLayer"]} */
  attentionLayer() {
    const size = this.sizes[0];
    const weights = new Float32Array(size * size);
    for (let row = 0; row < size; row++) weights.fill(1 / (row + 1), row * size, row * size + row + 1);
    return weights;
  }
}

/** Turn (1 − r) W + r I into W, in place; rows of `given` with an unbounded edge stay.
 * @type {(matrix: Matrix, given: Matrix, columns: number, residual: number) => void} */
function removeResidual(matrix, given, columns, residual) {
  for (let start = 0, node = 0; start < matrix.length; start += columns, node++) {
    if (given.subarray(start, start + columns).includes(Infinity)) continue;
    const row = matrix.subarray(start, start + columns);
    row[node] = Math.max(0, row[node] - residual);
    for (let column = 0; column < columns; column++) row[column] /= 1 - residual;
  }
}

/**
 * Remove columns from the weights of a square layer and normalize its rows, in place.
 *
 * The layer is (1 − r) W + r I with the residual r; columns are removed from W, and a row of zeros then
 * attends to itself. Rows with an unbounded edge stay.
 *
 * @type {(matrix: Matrix, columns: number, removed: number[], residual?: number) => void}
 */
function removeColumns(matrix, columns, removed, residual = 0) {
  for (let start = 0, node = 0; start < matrix.length; start += columns, node++) {
    const row = matrix.subarray(start, start + columns);
    if (row.includes(Infinity)) continue;
    row[node] = Math.max(0, row[node] - residual);
    for (const column of removed) row[column] = 0;
    const sum = sumOf(row);
    for (let column = 0; column < columns && sum; column++) row[column] *= (1 - residual) / sum;
    row[node] += sum ? residual : 1;
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
