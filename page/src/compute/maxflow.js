/**
 * The maximum flow of pairs in a layered graph, with the minimum cut that proves it.
 *
 * Dinic's algorithm: distances to the sink by breadth-first search over edges with something left, then
 * augmenting paths along them until none is left.
 *
 * E. A. Dinic (1970), Soviet Math. Doklady 11.
 */

/** @import { PairFlow, Vector } from "../types.js" */
/** @import { Network } from "./network.js" */

import { columnSums, distancesToSink, networkSteps, nodesBetween, reset, rowSum, sourceSide } from "./network.js";

/**
 * Compute the maximum flow from node `source` of the top layer to node `sink` of layer 0.
 *
 * `capacities` has one matrix (above, below) for each layer, bottom first; Infinity: no bound.
 *
 * @type {(capacities: Vector[], sizes: number[], source: number, sink: number) => PairFlow}
 */
export function maxFlow(capacities, sizes, source, sink) {
  if (unboundedTokens(capacities, sizes, source).has(sink)) return unboundedFlow(capacities, sizes);
  const inflow = columnSums(capacities[0], sizes[0])[sink];
  const network = finish(networkSteps(capacities, sizes, flowLimit(capacities, sizes, source, inflow)));
  const value = solve(network, source, sink, Infinity);
  const cut = sourceSide(network, source);
  const flows = network.capacity.map((full, layer) =>
    full.map((units, edge) => (units - network.remaining[layer][edge]) * network.unit),
  );
  return { value: value * network.unit, flows, cut, cutValue: cutCapacity(capacities, sizes, cut) };
}

/**
 * Compute the values of the flows from one source to all nodes of layer 0; yields after every one.
 *
 * A search ends where the value equals what source or sink allow, which needs no cut. `network` may be
 * shared by many calls, also interrupted ones: it is as new whenever this yields.
 *
 * @type {(network: Network, capacities: Vector[], source: number) => Generator<void, Vector>}
 */
export function* flowRow(network, capacities, source) {
  const { sizes, top, unit, inflow } = network;
  const row = new Float64Array(sizes[0]);
  const unbounded = unboundedTokens(capacities, sizes, source);
  const outflow = rowSum(network.capacity[top - 1], source, sizes[top - 1]);
  for (let sink = 0; sink < row.length; sink++) {
    if (unbounded.has(sink)) row[sink] = Infinity;
    else row[sink] = solve(network, source, sink, Math.min(outflow, inflow[sink])) * unit;
    reset(network);
    yield;
  }
  return row;
}

/** Return an upper bound of the flows from a source. @type {(capacities: Vector[], sizes: number[],
 * source: number, inflow?: number) => number} */
export function flowLimit(capacities, sizes, source, inflow = Infinity) {
  const top = sizes.length - 1;
  const outflow = rowSum(capacities[top - 1], source, sizes[top - 1]);
  const limit = Math.min(outflow, inflow);
  if (limit < Infinity) return limit || 1;
  let finite = 0;
  for (const layer of capacities) for (const capacity of layer) if (capacity < Infinity) finite += capacity;
  return finite || 1;
}

/**
 * Run a generator to its end.
 *
 * @template T
 * @param {Generator<void, T>} steps
 */
function finish(steps) {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
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

/** Return the nodes of layer 0 to which a path of unbounded edges leads.
 * @type {(capacities: Vector[], sizes: number[], source: number) => Set<number>} */
function unboundedTokens(capacities, sizes, source) {
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
  return reachable;
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

/** Return the value of a maximum flow in units; the search ends at `bound`.
 * @type {(network: Network, source: number, sink: number, bound: number) => number} */
function solve(network, source, sink, bound) {
  let value = 0;
  while (value < bound && distancesToSink(network, source, sink)) {
    const pushed = augment(network, source, sink);
    if (!pushed) break;
    value += pushed;
  }
  return value;
}

/** Push along shortest augmenting paths until none is left; return by how much the flow grew.
 * @type {(network: Network, source: number, sink: number) => number} */
function augment(network, source, sink) {
  let pushed = 0;
  const layers = [network.top];
  const nodes = [source];
  while (layers.length) {
    const last = layers.length - 1;
    if (layers[last] === 0) {
      const { units, step } = pushPath(network, layers, nodes);
      pushed += units;
      layers.length = nodes.length = step + 1;
    } else if (!extendPath(network, layers, nodes, source, sink)) {
      network.level[layers[last]][nodes[last]] = -2;
      layers.pop();
      nodes.pop();
    }
  }
  return pushed;
}

/** Extend the path by an edge to a node that is nearer to the sink; return false at a dead end.
 * @type {(network: Network, layers: number[], nodes: number[], source: number, sink: number) => boolean} */
function extendPath(network, layers, nodes, source, sink) {
  const { sizes, top, capacity, remaining, level, next } = network;
  const layer = layers[layers.length - 1];
  const node = nodes[nodes.length - 1];
  const target = level[layer][node] - 1;
  // Edges are tried in order: first those down, then those up. The only way from layer 1 down is the sink.
  const [first, last] = layer === 1 ? [sink, sink] : nodesBetween(network, layer - 1, source, sink);
  const below = sizes[layer - 1];
  let edge = Math.max(next[layer][node], first);
  for (; edge <= last; edge++) {
    if (level[layer - 1][edge] !== target || remaining[layer - 1][node * below + edge] <= 0) continue;
    next[layer][node] = edge;
    layers.push(layer - 1);
    nodes.push(edge);
    return true;
  }
  edge = Math.max(edge, below);
  const above = layer < top - 1 ? sizes[layer + 1] : 0;
  for (; edge < below + above; edge++) {
    const other = edge - below;
    const at = other * sizes[layer] + node;
    if (level[layer + 1][other] !== target || capacity[layer][at] <= remaining[layer][at]) continue;
    next[layer][node] = edge;
    layers.push(layer + 1);
    nodes.push(other);
    return true;
  }
  next[layer][node] = below + above;
  return false;
}

/** Push as much as the path takes; return how much, and the step whose edge is full.
 * @type {(network: Network, layers: number[], nodes: number[]) => { units: number, step: number }} */
function pushPath({ sizes, capacity, remaining, used }, layers, nodes) {
  const edges = [];
  let [units, narrowest] = [Infinity, 0];
  for (let step = 0; step < layers.length - 1; step++) {
    const down = layers[step + 1] < layers[step];
    const layer = Math.min(layers[step], layers[step + 1]);
    const edge = down ? nodes[step] * sizes[layer] + nodes[step + 1] : nodes[step + 1] * sizes[layer] + nodes[step];
    edges.push(edge);
    const free = down ? remaining[layer][edge] : capacity[layer][edge] - remaining[layer][edge];
    if (free < units) [units, narrowest] = [free, step];
  }
  for (let step = 0; step < edges.length; step++) {
    const down = layers[step + 1] < layers[step];
    const layer = Math.min(layers[step], layers[step + 1]);
    if (remaining[layer][edges[step]] === capacity[layer][edges[step]]) used[layer].push(edges[step]);
    remaining[layer][edges[step]] -= down ? units : -units;
  }
  return { units, step: narrowest };
}
