/**
 * Rollout: R(l) = A(l) R(l − 1). A row is propagated down layer by layer; complete matrices, for the
 * overview, are computed row by row so that the page stays responsive.
 *
 * With a head, that head alone is used at the layer of interest and heads are averaged below it: the
 * paper's appendix A.1.
 */

/** @import { Block, Matrix, Settings, Vector } from "../types.js" */
/** @import { Edges } from "./edges.js" */

import { edgeContributions, layerTimesVector, maxFinite, rowOfProduct, vectorTimesLayer } from "./matrix.js";

/** Propagate `start` from `layer` down to the input; index m holds start · R(layer → m).
 * @type {(edges: Edges, layer: number, start: Vector, settings: Settings) => Vector[]} */
export function propagateDown(edges, layer, start, settings) {
  const { head, residual } = settings;
  /** @type {Vector[]} */
  const vectors = [];
  vectors[layer] = start;
  for (let at = layer; at >= 1; at--) {
    const W = edges.weights(at, settings, at === layer ? head : -1);
    vectors[at - 1] = vectorTimesLayer(vectors[at], W, edges.sizes[at - 1], residual);
  }
  return vectors;
}

/** Propagate factors of the tokens up to `layer`; index m holds R(m → 0) · factors.
 * @type {(edges: Edges, layer: number, factors: Vector, settings: Settings) => Vector[]} */
export function propagateUp(edges, layer, factors, settings) {
  const { head, residual } = settings;
  const vectors = [factors];
  for (let at = 1; at <= layer; at++) {
    const W = edges.weights(at, settings, at === layer ? head : -1);
    vectors[at] = layerTimesVector(W, vectors[at - 1], edges.sizes[at], residual);
  }
  return vectors;
}

/**
 * Vectors of `propagateDown`, and where the scores of tokens are multiplied by factors, those of `propagateUp`.
 *
 * @typedef {{ down: Vector[], up: Vector[] | null }} Paths
 */

/**
 * Return what each edge below `layer` contributes to the sum of the scores of these paths.
 *
 * Rows without an edge of `floor` times the strongest one are skipped: of a long input, most. The
 * blocks count all edges, skipped or not.
 *
 * @type {(edges: Edges, layer: number, paths: Paths[], settings: Settings, floor: number) => Block[]}
 */
export function contributionsBelow(edges, layer, paths, settings, floor) {
  const makeBlock = blockMaker(floor);
  const { residual } = settings;
  /** @type {Block[]} */
  const blocks = [];
  for (let at = layer; at >= 1; at--) {
    const sums = new Float64Array(edges.sizes[at]);
    for (const { down, up } of paths)
      for (let row = 0; row < sums.length; row++) sums[row] += down[at][row] * (up ? up[at][row] : 1);
    const head = at === layer ? settings.head : -1;
    const W = edges.weights(at, settings, head);
    /** @type {Block["count"]} */
    const count = (pieces) => countActive(sums, edges.degrees(at, { ...settings, head }, pieces).below, pieces);
    blocks.push(
      makeBlock(at, edges.sizes[at - 1], sums, count, (row, out) => {
        for (const { down, up } of paths) edgeContributions(W, row, down[at][row], up?.[at - 1] ?? null, residual, out);
      }),
    );
  }
  return blocks;
}

/**
 * Return what each edge above `layer` contributes when `start` is propagated up, heads averaged.
 *
 * Where `start` is at one node, `single`, the edges directly above it are one column.
 *
 * @type {(edges: Edges, layer: number, start: Vector, settings: Settings, floor: number, single?: number) => Block[]}
 */
export function contributionsAbove(edges, layer, start, settings, floor, single) {
  const averaged = { ...settings, head: -1 };
  const { residual } = settings;
  const makeBlock = blockMaker(floor);
  /** @type {Block[]} */
  const blocks = [];
  let above = start;
  for (let at = layer + 1; at <= edges.layers; at++) {
    const W = edges.weights(at, averaged);
    const below = above;
    above = layerTimesVector(W, below, edges.sizes[at], residual);
    if (single !== undefined && at === layer + 1) {
      blocks.push({ from: at, to: layer, columns: 1, firstColumn: single, values: Float32Array.from(above) });
    } else {
      /** @type {Block["count"]} */
      const count = (pieces) => countActive(below, edges.degrees(at, averaged, pieces).above, pieces);
      blocks.push(
        makeBlock(at, below.length, above, count, (row, out) => edgeContributions(W, row, 1, below, residual, out)),
      );
    }
  }
  return blocks;
}

/**
 * Return a function that makes blocks of the rows that may have a strong edge: no edge exceeds the sum of its row.
 *
 * @param {number} floor
 * @returns {(layer: number, columns: number, sums: Vector, count: Block["count"],
 *   fill: (row: number, out: Matrix) => void) => Block}
 */
function blockMaker(floor) {
  let max = 0;
  return (layer, columns, sums, count, fill) => {
    max ||= maxFinite(sums);
    const nodes = [...sums.keys()].filter((row) => sums[row] > 0 && sums[row] >= floor * max);
    const values = new Float32Array(nodes.length * columns);
    nodes.forEach((row, at) => {
      fill(row, values.subarray(at * columns, (at + 1) * columns));
    });
    return { from: layer, to: layer - 1, columns, values, nodes, sums, count };
  };
}

/** Sum the degrees of the nodes with a positive value; of a word, of any of its pieces.
 * @type {(values: Vector, degrees: Uint32Array, pieces?: number[][]) => number} */
function countActive(values, degrees, pieces) {
  /** @type {(node: number) => boolean} */
  const isActive = (node) => (pieces ? pieces[node].some((piece) => values[piece] > 0) : values[node] > 0);
  return degrees.reduce((sum, degree, node) => sum + (isActive(node) ? degree : 0), 0);
}

/** Return a vector with `share` at these nodes, by default one distributed evenly.
 * @type {(size: number, nodes: number[], share?: number) => Vector} */
export function indicator(size, nodes, share = 1 / nodes.length) {
  const vector = new Float64Array(size);
  for (const node of nodes) vector[node] = share;
  return vector;
}

/** R(1) … R(L) of all nodes, computed in steps. */
export class RolloutMatrices {
  /** @param {Edges} edges @param {Settings} settings */
  constructor(edges, settings) {
    this.edges = edges;
    this.settings = settings;
    /** @type {Matrix[]} index l: R(l) with heads averaged, for the layer above */
    this.averaged = [];
    /** @type {Matrix[]} index l: R(l) with the head of the settings at layer l */
    this.matrices = [];
  }

  /** Return the number of multiplications. @type {(edges: Edges) => number} */
  static cost({ sizes }) {
    return sizes.reduce((sum, size, at) => sum + (at > 1 ? size * sizes[at - 1] * sizes[0] : 0), 0);
  }

  /** Return the scores (node, token) of a layer once they are computed.
   * @type {(layer: number) => Matrix | undefined} */
  matrix(layer) {
    return this.matrices[layer];
  }

  /** Compute all layers; yields after every row. @type {() => Generator<void, void>} */
  *steps() {
    const { head } = this.settings;
    for (let layer = 1; layer <= this.edges.layers; layer++) {
      this.averaged[layer] = yield* this.product(layer, -1);
      this.matrices[layer] = head < 0 ? this.averaged[layer] : yield* this.product(layer, head);
    }
  }

  /** @type {(layer: number, head: number) => Generator<void, Matrix>} */
  *product(layer, head) {
    const { sizes } = this.edges;
    const W = this.edges.weights(layer, this.settings, head);
    const inner = sizes[layer - 1];
    const below = layer > 1 ? this.averaged[layer - 1] : identity(inner);
    const product = new Float32Array(sizes[layer] * sizes[0]);
    const sums = new Float64Array(sizes[0]);
    for (let row = 0; row < sizes[layer]; row++) {
      product.set(rowOfProduct(W, row, below, inner, this.settings.residual, sums), row * sizes[0]);
      yield;
    }
    return product;
  }
}

/** @type {(size: number) => Matrix} */
function identity(size) {
  const matrix = new Float32Array(size * size);
  for (let node = 0; node < size; node++) matrix[node * (size + 1)] = 1;
  return matrix;
}
