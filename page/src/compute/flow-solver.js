/** Flow that the document does not contain: other heads, another residual, other positions. */

/** @import { Settings, SolvedPair, Vector } from "../types.js" */

import { setBounded, settingsKey } from "./cache.js";
import { sumOf } from "./matrix.js";
import { flowLimit, flowRow, maxFlow } from "./maxflow.js";
import { networkSteps } from "./network.js";

/** Edges up to which flow is solved: 512 tokens of 48 layers. Chosen: a row takes half a minute at most, and a page 1 GB. */
const MAX_EDGES = 13e6;
/** Edges times tokens times positions up to which all rows are solved, for the overview; chosen: a few seconds. */
const ALL_LIMIT = 1.5e7;
/** Cached pairs, and cached settings with all their rows; chosen: what a person goes back to. A pair of many edges
 * takes 50 MB and more, so that there is one. */
const CACHED_PAIRS = 4;
const MANY_EDGES = 1e6;
const CACHED_SETTINGS = 8;
/** Relative difference up to which flow is at its ceiling: more than the error of a value. */
const SAME = 1e-8;
/** Flat scores: how near their median is to the common limit, how near they are to their median, and how many of them;
 * as in Python, see `flow`. */
const NEAR_LIMIT = 0.1;
const NEAR_MEDIAN = 0.025;
const PART = 0.75;

/** The flow from a node to all tokens, and what `flow` says of it: whether it is at its ceiling, and whether flat.
 * @typedef {{ row: Vector, atCeiling: boolean, flat: boolean }} SolvedRow */

export class FlowSolver {
  /**
   * @param {import("./edges.js").Edges} edges
   * @param {import("./scheduler.js").Scheduler} scheduler
   * @param {string} [name] of these edges among those that share the scheduler
   */
  constructor(edges, scheduler, name = "") {
    this.edges = edges;
    this.name = name;
    this.scheduler = scheduler;
    /** @type {Map<string, Map<string, SolvedRow>>} settings → node → row */
    this.rows = new Map();
    /** @type {Map<string, SolvedPair>} */
    this.pairs = new Map();
    /** @type {{ key: string, capacities: Vector[], network: import("./network.js").Network } | null} the last one */
    this.last = null;
    /** The number of rows solved so far. */
    this.solved = 0;
    const sources = edges.sizes.slice(1).reduce((sum, size) => sum + size, 0);
    this.canSolve = edges.count <= MAX_EDGES;
    this.canSolveAll = this.canSolve && edges.count * edges.sizes[0] * sources <= ALL_LIMIT;
  }

  /** Return the flow from a node to all tokens, or null while it is being solved.
   * @type {(layer: number, node: number, settings: Settings) => Vector | null} */
  row(layer, node, settings) {
    const cached = this.cachedRow(layer, node, settings);
    if (cached) return cached;
    const key = `${this.name} ${layer} ${node} ${settingsKey(settings)}`;
    // The first step of a long one would delay the picture that asks for it.
    this.scheduler.request(key, () => this.solveRow(layer, node, settings), this.edges.count > MANY_EDGES);
    return this.cachedRow(layer, node, settings);
  }

  /** @type {(layer: number, node: number, settings: Settings) => Vector | null} */
  cachedRow(layer, node, settings) {
    return this.solvedRow(layer, node, settings)?.row ?? null;
  }

  /** @type {(layer: number, node: number, settings: Settings) => SolvedRow | undefined} */
  solvedRow(layer, node, settings) {
    return this.rows.get(settingsKey(settings))?.get(`${layer} ${node}`);
  }

  /** @type {(layer: number, node: number, settings: Settings) => Generator<void, void>} */
  *solveRow(layer, node, settings) {
    const { capacities, network } = yield* this.network(layer, node, settings);
    const row = yield* flowRow(network, capacities, node);
    const key = settingsKey(settings);
    const { sizes } = this.edges;
    const atCeiling = isAtCeiling(row, capacities, node, sizes[layer - 1]);
    const flat = sizes.slice(0, layer + 1).every((size) => size === row.length) && isFlat(row, capacities, node);
    const rows = setBounded(this.rows, key, this.rows.get(key) ?? new Map(), CACHED_SETTINGS);
    rows.set(`${layer} ${node}`, { row, atCeiling, flat });
    this.solved++;
  }

  /** Return the network below a layer; the last one is kept, for the other nodes of this layer.
   * @type {(layer: number, node: number, settings: Settings) =>
   *   Generator<void, { capacities: Vector[], network: import("./network.js").Network }>} */
  *network(layer, node, settings) {
    const sizes = this.edges.sizes.slice(0, layer + 1);
    const known = `${layer} ${settingsKey(settings)}`;
    /** @type {Vector[]} */
    let capacities = [];
    if (this.last?.key.startsWith(`${known} `)) capacities = this.last.capacities;
    else {
      for (const matrix of this.edges.capacityLayers(layer, settings)) {
        capacities.push(matrix);
        yield;
      }
    }
    const limit = flowLimit(capacities, sizes, node);
    // Nodes of attention send one each, but for rounding, so that one network serves all of them.
    const exponent = Math.ceil(Math.log2(limit) - 0.01);
    const key = `${known} ${exponent}`;
    if (this.last?.key === key) return this.last;
    const network = yield* networkSteps(capacities, sizes, 2 ** exponent);
    this.last = { key, capacities, network };
    return this.last;
  }

  /** Solve many rows, given as [layer, node]. @type {(nodes: [number, number][], settings: Settings) => void} */
  requestRows(nodes, settings) {
    this.scheduler.request(`${this.name} all ${settingsKey(settings)}`, () => this.solveRows(nodes, settings));
  }

  /** @type {(nodes: [number, number][], settings: Settings) => Generator<void, void>} */
  *solveRows(nodes, settings) {
    for (const [layer, node] of nodes) {
      if (!this.cachedRow(layer, node, settings)) yield* this.solveRow(layer, node, settings);
    }
  }

  /** Return flow and cut of one pair; null where the graph is too large.
   * @type {(layer: number, node: number, sink: number, settings: Settings) => SolvedPair | null} */
  pair(layer, node, sink, settings) {
    if (!this.canSolve) return null;
    const key = `${layer} ${node} ${sink} ${settingsKey(settings)}`;
    const cached = this.pairs.get(key);
    if (cached) return cached;
    const capacities = [...this.edges.capacityLayers(layer, settings)];
    const solved = maxFlow(capacities, this.edges.sizes.slice(0, layer + 1), node, sink);
    const kept = this.edges.count > MANY_EDGES ? 1 : CACHED_PAIRS;
    return setBounded(this.pairs, key, { ...solved, capacities }, kept);
  }
}

/** Return whether each flow is what its token gives or the node takes, as in Python; `below` is the size of the layer
 * below the node.
 * @type {(row: Vector, capacities: Vector[], node: number, below: number) => boolean} */
function isAtCeiling(row, capacities, node, below) {
  if (capacities.length < 2) return false;
  const giving = new Float64Array(row.length);
  capacities[0].forEach((weight, edge) => {
    giving[edge % row.length] += weight;
  });
  const taking = sumOf(capacities[capacities.length - 1].subarray(node * below, (node + 1) * below));
  return row.every((flow, token) => {
    const ceiling = Math.min(giving[token], taking);
    return flow === ceiling || Math.abs(flow - ceiling) <= SAME * ceiling;
  });
}

/** Return whether all tokens but the node's own have nearly the same score: what leaves the node limits each alike.
 * All layers have the size of the row.
 * @type {(row: Vector, capacities: Vector[], node: number) => boolean} */
function isFlat(row, capacities, node) {
  if (capacities.length < 2) return false;
  const size = row.length;
  const own = node * size;
  const leaving = capacities
    .slice(1)
    .map((layer) => sumOf(layer.subarray(own, own + node)) + sumOf(layer.subarray(own + node + 1, own + size)));
  const limit = sumOf(leaving);
  const others = row.filter((flow, token) => token !== node && flow > 0 && flow < Infinity).sort();
  const count = others.length;
  const median = (others[(count - 1) >> 1] + others[count >> 1]) / 2;
  const near = others.filter((flow) => Math.abs(flow - median) <= NEAR_MEDIAN * median).length;
  return count > 1 && Math.abs(median / limit - 1) <= NEAR_LIMIT && near >= PART * count;
}
