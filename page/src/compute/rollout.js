/**
 * Rollout: R(l) = A(l) R(l − 1). A row is carried down layer by layer; whole matrices, for the
 * picture at rest, are made row by row so that the page answers in between.
 *
 * With a head, that head alone stands at the layer of interest, and heads are averaged below it: the
 * paper's appendix A.1.
 */

import { largest, massesOfRow, rowOfProduct, rowTimes, sharesOfRow, timesColumn } from "./matrix.js";

/** What arrives at each layer below where `start` is at layer `layer`: index m holds R(layer → m). */
export function carriedDown(edges, layer, start, { head, residual }) {
  const arriving = [];
  arriving[layer] = start;
  for (let at = layer; at >= 1; at--) {
    const W = edges.weights(at, at === layer ? head : -1);
    arriving[at - 1] = rowTimes(arriving[at], W, edges.sizes[at - 1], residual);
  }
  return arriving;
}

/**
 * What runs over the edges on the way down, layer by layer, where `arriving` is of `carriedDown`.
 *
 * Rows with nothing of `floor` times the strongest edge are left out unseen: of a long input, most.
 *
 * @returns {import("./top-edges.js").Block[]} with weight and number of all edges, left out or not
 */
export function massesBelow(edges, layer, arriving, settings, floor) {
  const strong = strongRows(floor);
  const blocks = [];
  for (let at = layer; at >= 1; at--) {
    const x = arriving[at];
    const { residual } = settings;
    const head = at === layer ? settings.head : -1;
    const W = edges.weights(at, head);
    const columns = edges.sizes[at - 1];
    const count = (pieces) => reached(x, edges.degrees(at, { head, residual }, pieces).below, pieces);
    blocks.push(strong(at, columns, x, count, (row, masses) => massesOfRow(x[row], W, row, columns, residual, masses)));
  }
  return blocks;
}

/**
 * What the edges above hand up of `start` at layer `layer`, heads averaged; the rest as above.
 *
 * Where `start` is one node, `alone`, the edges right above it are one column.
 */
export function massesAbove(edges, layer, start, { residual }, floor, alone) {
  const strong = strongRows(floor);
  const blocks = [];
  let having = start;
  for (let at = layer + 1; at <= edges.layers; at++) {
    const W = edges.weights(at);
    const y = having;
    having = timesColumn(W, y, edges.sizes[at], residual);
    if (alone !== undefined && at === layer + 1) {
      blocks.push({ from: at, to: layer, columns: 1, firstColumn: alone, values: Float32Array.from(having) });
    } else {
      const count = (pieces) => reached(y, edges.degrees(at, { head: -1, residual }, pieces).above, pieces);
      blocks.push(strong(at, y.length, having, count, (row, masses) => sharesOfRow(y, W, row, residual, masses)));
    }
  }
  return blocks;
}

/** Makes blocks of the rows that may hold a strong edge: no edge has more than its row in all. */
function strongRows(floor) {
  let most = 0;
  return (layer, columns, sums, count, fill) => {
    most ||= largest(sums);
    const nodes = [];
    for (let row = 0; row < sums.length; row++) {
      if (sums[row] > 0 && sums[row] >= floor * most) nodes.push(row);
    }
    const values = new Float32Array(nodes.length * columns);
    nodes.forEach((row, at) => fill(row, values.subarray(at * columns, (at + 1) * columns)));
    return { from: layer, to: layer - 1, columns, values, nodes, sums, count };
  };
}

/** Edges with a weight at the nodes where something is: at a word, where something is at a piece of it. */
function reached(there, degrees, pieces) {
  const has = pieces ? (node) => pieces[node].some((piece) => there[piece] > 0) : (node) => there[node] > 0;
  return degrees.reduce((sum, degree, node) => sum + (has(node) ? degree : 0), 0);
}

/** A row with one at a node, or spread evenly over several. */
export function startAt(size, nodes, share = 1 / nodes.length) {
  const start = new Float64Array(size);
  for (const node of nodes) start[node] = share;
  return start;
}

/** R(1) … R(L) of all nodes, made in steps. */
export class RolloutMatrices {
  constructor(edges, settings) {
    this.edges = edges;
    this.settings = settings;
    // Index l: R(l) with heads averaged, for the layer above.
    this.fused = [];
    // Index l: R(l) as asked for.
    this.tops = [];
  }

  /** Multiplications that all of it takes. */
  static cost({ sizes }) {
    return sizes.reduce((sum, size, at) => sum + (at > 1 ? size * sizes[at - 1] * sizes[0] : 0), 0);
  }

  /** @returns {Float32Array | undefined} scores (node, token) of a layer, once they are made */
  matrix(layer) {
    return this.tops[layer];
  }

  /** Work to be done in slices; yields after every row. */
  *steps() {
    const { head, residual } = this.settings;
    for (let layer = 1; layer <= this.edges.layers; layer++) {
      this.fused[layer] = yield* this.product(layer, -1, residual);
      this.tops[layer] = head < 0 ? this.fused[layer] : yield* this.product(layer, head, residual);
    }
  }

  *product(layer, head, residual) {
    const { sizes } = this.edges;
    const W = this.edges.weights(layer, head);
    const inner = sizes[layer - 1];
    const below = layer > 1 ? this.fused[layer - 1] : identity(inner);
    const whole = new Float32Array(sizes[layer] * sizes[0]);
    const sums = new Float64Array(sizes[0]);
    for (let row = 0; row < sizes[layer]; row++) {
      whole.set(rowOfProduct(W, row, below, inner, sizes[0], residual, sums), row * sizes[0]);
      yield;
    }
    return whole;
  }
}

function identity(size) {
  const matrix = new Float32Array(size * size);
  for (let node = 0; node < size; node++) matrix[node * (size + 1)] = 1;
  return matrix;
}
