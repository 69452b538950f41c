/**
 * The maximum flow of one pair in a layered graph, with the minimum cut that proves it.
 *
 * Dinic's algorithm: levels by breadth-first search over edges with residual capacity, then augmenting
 * paths level by level until none is left. Capacities are scaled to integers held in float64, at most
 * 2^52 for what can flow at all, so that sums are exact and flow and cut are equal or they are not.
 *
 * E. A. Dinic (1970), Soviet Math. Doklady 11.
 */

/** @import { PairFlow, Vector } from "../types.js" */

/**
 * @typedef {object} Network
 * @property {number[]} sizes nodes of each layer
 * @property {number} source node of the top layer
 * @property {number} sink node of layer 0
 * @property {number} top
 * @property {number} unit capacity of one integer unit
 * @property {Vector[]} remaining residual capacities downwards, in units
 * @property {Vector[]} flow in units
 * @property {Int32Array[]} level distance from the source; −1: unreachable, −2: dead end
 * @property {Int32Array[]} next the next edge to try at each node
 * @property {number} value of the flow, in units
 * @property {number} bound on it by the edges at source and sink
 */

/**
 * Compute the maximum flow from node `source` of the top layer to node `sink` of layer 0.
 *
 * `capacities` has one matrix (above, below) for each layer, bottom first; Infinity: no bound.
 *
 * @type {(capacities: Vector[], sizes: number[], source: number, sink: number) => PairFlow}
 */
export function maxFlow(capacities, sizes, source, sink) {
  const network = createNetwork(capacities, sizes, source, sink);
  if (network === null) return unboundedFlow(capacities, sizes);
  while (assignLevels(network) && augment(network));
  const cut = network.level.map((levels) => Uint8Array.from(levels, (level) => (level >= 0 ? 1 : 0)));
  const flows = network.flow.map((flow) => flow.map((units) => units * network.unit));
  return { value: network.value * network.unit, flows, cut, cutValue: cutCapacity(capacities, sizes, cut) };
}

/**
 * Compute the value only; stops when it equals the bound at source or sink, which needs no cut.
 *
 * @type {(capacities: Vector[], sizes: number[], source: number, sink: number) => number}
 */
export function maxFlowValue(capacities, sizes, source, sink) {
  const network = createNetwork(capacities, sizes, source, sink);
  if (network === null) return Infinity;
  while (network.value < network.bound && assignLevels(network) && augment(network));
  return network.value * network.unit;
}

/** Sum the capacities of the edges that leave the source's side.
 * @type {(capacities: Vector[], sizes: number[], cut: Uint8Array[]) => number} */
function cutCapacity(capacities, sizes, cut) {
  let sum = 0;
  capacities.forEach((capacity, layer) => {
    for (let above = 0; above < sizes[layer + 1]; above++) {
      if (!cut[layer + 1][above]) continue;
      for (let below = 0; below < sizes[layer]; below++) {
        if (!cut[layer][below]) sum += capacity[above * sizes[layer] + below];
      }
    }
  });
  return sum;
}

/** Scale the capacities to integers; null if a path of unbounded edges exists.
 * @type {(capacities: Vector[], sizes: number[], source: number, sink: number) => Network | null} */
function createNetwork(capacities, sizes, source, sink) {
  const top = sizes.length - 1;
  if (hasUnboundedPath(capacities, sizes, source, sink)) return null;
  const outflow = rowSum(capacities[top - 1], source, sizes[top - 1]);
  const inflow = columnSum(capacities[0], sink, sizes[0]);
  let finite = 0;
  for (const layer of capacities) for (const c of layer) if (c < Infinity) finite += c;
  const limit = Math.min(outflow, inflow, finite) || 1;
  // No minimum cut has an edge above the total flow, so larger capacities count as twice that.
  const unit = 2 ** (Math.ceil(Math.log2(limit)) - 51);
  const remaining = capacities.map((layer) => layer.map((c) => Math.round(Math.min(c, 2 * limit) / unit)));
  return {
    sizes,
    source,
    sink,
    top,
    unit,
    remaining,
    flow: remaining.map((layer) => new Float64Array(layer.length)),
    level: sizes.map((size) => new Int32Array(size)),
    next: sizes.map((size) => new Int32Array(size)),
    value: 0,
    bound: Math.min(rowSum(remaining[top - 1], source, sizes[top - 1]), columnSum(remaining[0], sink, sizes[0])),
  };
}

/** @type {(matrix: Vector, row: number, columns: number) => number} */
function rowSum(matrix, row, columns) {
  return matrix.subarray(row * columns, (row + 1) * columns).reduce((sum, value) => sum + value, 0);
}

/** @type {(matrix: Vector, column: number, columns: number) => number} */
function columnSum(matrix, column, columns) {
  let sum = 0;
  for (let at = column; at < matrix.length; at += columns) sum += matrix[at];
  return sum;
}

/** @type {(capacities: Vector[], sizes: number[], source: number, sink: number) => boolean} */
function hasUnboundedPath(capacities, sizes, source, sink) {
  let reachable = new Set([source]);
  for (let layer = sizes.length - 2; layer >= 0; layer--) {
    /** @type {Set<number>} */
    const below = new Set();
    for (const above of reachable) {
      for (let k = 0; k < sizes[layer]; k++) {
        if (capacities[layer][above * sizes[layer] + k] === Infinity) below.add(k);
      }
    }
    reachable = below;
  }
  return reachable.has(sink);
}

/** @type {(capacities: Vector[], sizes: number[]) => PairFlow} */
function unboundedFlow(capacities, sizes) {
  return {
    value: Infinity,
    flows: capacities.map((layer) => new Float64Array(layer.length)),
    cut: sizes.map((size) => new Uint8Array(size)),
    cutValue: Infinity,
  };
}

/** Number all nodes by their distance from the source; return whether the sink is reachable.
 * @type {(network: Network) => boolean} */
function assignLevels({ sizes, source, sink, top, remaining, flow, level, next }) {
  for (const levels of level) levels.fill(-1);
  for (const edges of next) edges.fill(0);
  level[top][source] = 0;
  let front = [[top, source]];
  for (let distance = 1; front.length; distance++) {
    /** @type {number[][]} */
    const found = [];
    /** @type {(layer: number, node: number) => void} */
    const visit = (layer, node) => {
      if (level[layer][node] >= 0) return;
      level[layer][node] = distance;
      found.push([layer, node]);
    };
    for (const [layer, node] of front) {
      const below = layer > 0 ? sizes[layer - 1] : 0;
      for (let k = 0; k < below; k++) if (remaining[layer - 1][node * below + k] > 0) visit(layer - 1, k);
      // Only the source sends from the top, and it takes nothing back.
      if (layer >= top - 1) continue;
      for (let i = 0; i < sizes[layer + 1]; i++) if (flow[layer][i * sizes[layer] + node] > 0) visit(layer + 1, i);
    }
    front = found;
  }
  return level[0][sink] >= 0;
}

/** Push along shortest augmenting paths until none is left; return whether the flow grew.
 * @type {(network: Network) => boolean} */
function augment(network) {
  const before = network.value;
  const layers = [network.top];
  const nodes = [network.source];
  while (layers.length) {
    const last = layers.length - 1;
    if (layers[last] === 0 && nodes[last] === network.sink) {
      layers.length = nodes.length = pushPath(network, layers, nodes) + 1;
    } else if (!extendPath(network, layers, nodes)) {
      network.level[layers[last]][nodes[last]] = -2;
      layers.pop();
      nodes.pop();
    }
  }
  return network.value > before;
}

/** Extend the path by an edge to the next level; return false at a dead end.
 * @type {(network: Network, layers: number[], nodes: number[]) => boolean} */
function extendPath({ sizes, top, remaining, flow, level, next }, layers, nodes) {
  const layer = layers[layers.length - 1];
  const node = nodes[nodes.length - 1];
  const target = level[layer][node] + 1;
  const below = layer > 0 ? sizes[layer - 1] : 0;
  const above = layer < top - 1 ? sizes[layer + 1] : 0;
  for (let edge = next[layer][node]; edge < below + above; edge++) {
    const down = edge < below;
    const [to, other] = down ? [layer - 1, edge] : [layer + 1, edge - below];
    if (level[to][other] !== target) continue;
    const units = down ? remaining[layer - 1][node * below + edge] : flow[layer][other * sizes[layer] + node];
    if (units <= 0) continue;
    next[layer][node] = edge;
    layers.push(to);
    nodes.push(other);
    return true;
  }
  next[layer][node] = below + above;
  return false;
}

/** Push as much as the path takes; return the step whose edge is full.
 * @type {(network: Network, layers: number[], nodes: number[]) => number} */
function pushPath(network, layers, nodes) {
  const { sizes, remaining, flow } = network;
  /** @type {(step: number) => [boolean, number, number]} */
  const edgeAt = (step) => {
    const down = layers[step + 1] < layers[step];
    const layer = down ? layers[step] : layers[step + 1];
    const [above, below] = down ? [nodes[step], nodes[step + 1]] : [nodes[step + 1], nodes[step]];
    return [down, layer - 1, above * sizes[layer - 1] + below];
  };
  let units = Infinity;
  let narrowest = 0;
  for (let step = 0; step < layers.length - 1; step++) {
    const [down, layer, edge] = edgeAt(step);
    const free = down ? remaining[layer][edge] : flow[layer][edge];
    if (free < units) [units, narrowest] = [free, step];
  }
  for (let step = 0; step < layers.length - 1; step++) {
    const [down, layer, edge] = edgeAt(step);
    remaining[layer][edge] -= down ? units : -units;
    flow[layer][edge] += down ? units : -units;
  }
  network.value += units;
  return narrowest;
}
