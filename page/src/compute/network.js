/**
 * The network of a maximum flow: capacities as integers, and searches over what is left of them.
 *
 * Capacities are scaled to integers held in float64, at most 2^52 for what can flow at all, so that
 * sums are exact and flow and cut are equal or they are not. One network serves many pairs: `reset`
 * restores only the edges that carried flow.
 */

/** @import { Vector } from "../types.js" */

/**
 * @typedef {object} Network
 * @property {number[]} sizes nodes of each layer
 * @property {number} top
 * @property {number} unit capacity of one integer unit
 * @property {Vector[]} capacity in units, a matrix (above, below) for each layer, bottom first
 * @property {Vector[]} remaining capacities that are left, in units; their difference is the flow
 * @property {number[][]} used edges of each layer that carried flow since the last reset
 * @property {boolean} causal whether no node has an edge to a later one
 * @property {Vector} inflow the most that each node of layer 0 takes, in units
 * @property {Int32Array[]} level distance of a search; −1: not reached, −2: dead end
 * @property {Int32Array[]} next the next edge to try at each node
 */

/**
 * Return the network of these capacities for flows of at most `limit`; yields after every layer.
 *
 * @type {(capacities: Vector[], sizes: number[], limit: number) => Generator<void, Network>}
 */
export function* networkSteps(capacities, sizes, limit) {
  // No minimum cut has an edge above the total flow, so larger capacities count as twice that.
  const unit = 2 ** (Math.ceil(Math.log2(limit)) - 51);
  /** @type {Vector[]} */
  const capacity = [];
  for (const layer of capacities) {
    const units = new Float64Array(layer.length);
    for (let at = 0; at < layer.length; at++) units[at] = Math.round(Math.min(layer[at], 2 * limit) / unit);
    capacity.push(units);
    yield;
  }
  const remaining = capacity.map((layer) => layer.slice());
  return {
    sizes,
    top: sizes.length - 1,
    unit,
    capacity,
    remaining,
    used: capacity.map(() => []),
    causal: isCausal(capacity, sizes),
    inflow: columnSums(capacity[0], sizes[0]),
    level: sizes.map((size) => new Int32Array(size)),
    next: sizes.map((size) => new Int32Array(size)),
  };
}

/** @type {(matrix: Vector, columns: number) => Vector} */
export function columnSums(matrix, columns) {
  const sums = new Float64Array(columns);
  for (let start = 0; start < matrix.length; start += columns)
    for (let column = 0; column < columns; column++) sums[column] += matrix[start + column];
  return sums;
}

/** @type {(matrix: Vector, row: number, columns: number) => number} */
export function rowSum(matrix, row, columns) {
  let sum = 0;
  for (let at = row * columns; at < (row + 1) * columns; at++) sum += matrix[at];
  return sum;
}

/** @type {(capacity: Vector[], sizes: number[]) => boolean} */
function isCausal(capacity, sizes) {
  return capacity.every((layer, at) => {
    if (sizes[at] !== sizes[at + 1]) return false;
    for (let row = 0; row < sizes[at]; row++)
      for (let column = row + 1; column < sizes[at]; column++) if (layer[row * sizes[at] + column] > 0) return false;
    return true;
  });
}

/** Return the first and last node of a layer on any path between a source and a sink.
 * @type {(network: Network, layer: number, source: number, sink: number) => [number, number]} */
export function nodesBetween({ causal, sizes }, layer, source, sink) {
  return causal ? [sink, source] : [0, sizes[layer] - 1];
}

/** Restore the edges that carried flow. @param {Network} network */
export function reset({ capacity, remaining, used }) {
  used.forEach((edges, layer) => {
    for (const edge of edges) remaining[layer][edge] = capacity[layer][edge];
    edges.length = 0;
  });
}

/**
 * Number nodes by their distance to the sink; return whether the source reaches it.
 *
 * Only nodes that are not reached yet are looked at: the first nodes of a dense layer reach most of the
 * next one.
 *
 * @type {(network: Network, source: number, sink: number) => boolean}
 */
export function distancesToSink(network, source, sink) {
  const { sizes, top, remaining, capacity, level, next } = network;
  for (const levels of level) levels.fill(-1);
  for (const edges of next) edges.fill(-1);
  const open = openNodes(network, source, sink);
  open[0] = [];
  level[0][sink] = 0;
  let front = [[0, sink]];
  for (let distance = 1; front.length && level[top][source] < 0; distance++) {
    /** @type {number[][]} */
    const found = [];
    for (const [layer, node] of front) {
      // An edge from above with something left, and an edge to below whose flow can be taken back.
      if (layer < top) {
        const [left, size] = [remaining[layer], sizes[layer]];
        visit(open, level, found, layer + 1, distance, (other) => left[other * size + node] > 0);
      }
      if (layer > 1) {
        const [left, full, start] = [remaining[layer - 1], capacity[layer - 1], node * sizes[layer - 1]];
        visit(open, level, found, layer - 1, distance, (other) => full[start + other] > left[start + other]);
      }
    }
    front = found;
  }
  return level[top][source] >= 0;
}

/** Return which nodes the source reaches, 1 or 0: its side of the cut once the flow is maximal.
 * @type {(network: Network, source: number) => Uint8Array[]} */
export function sourceSide({ sizes, top, remaining, capacity, level }, source) {
  for (const levels of level) levels.fill(-1);
  const open = sizes.map((size) => [...Array(size).keys()]);
  open[top] = [];
  level[top][source] = 0;
  let front = [[top, source]];
  while (front.length) {
    /** @type {number[][]} */
    const found = [];
    for (const [layer, node] of front) {
      if (layer > 0) {
        const [left, start] = [remaining[layer - 1], node * sizes[layer - 1]];
        visit(open, level, found, layer - 1, 1, (other) => left[start + other] > 0);
      }
      if (layer < top) {
        const [left, full, size] = [remaining[layer], capacity[layer], sizes[layer]];
        visit(open, level, found, layer + 1, 1, (other) => full[other * size + node] > left[other * size + node]);
      }
    }
    front = found;
  }
  return level.map((levels) => Uint8Array.from(levels, (distance) => (distance >= 0 ? 1 : 0)));
}

/** Return the nodes of each layer between source and sink; the source is alone at the top.
 * @type {(network: Network, source: number, sink: number) => number[][]} */
function openNodes(network, source, sink) {
  return network.sizes.map((_, layer) => {
    if (layer === network.top) return [source];
    const [first, last] = nodesBetween(network, layer, source, sink);
    return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => first + at);
  });
}

/** Move the open nodes of a layer that `isReached` to `found`.
 * @type {(open: number[][], level: Int32Array[], found: number[][], layer: number, distance: number,
 *   isReached: (node: number) => boolean) => void} */
function visit(open, level, found, layer, distance, isReached) {
  const nodes = open[layer];
  let kept = 0;
  for (let at = 0; at < nodes.length; at++) {
    const node = nodes[at];
    if (isReached(node)) {
      level[layer][node] = distance;
      found.push([layer, node]);
    } else nodes[kept++] = node;
  }
  nodes.length = kept;
}
