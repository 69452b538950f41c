/** Flow that the document does not contain: other heads, another residual, other positions. */

/** @import { Settings, SolvedPair, Vector } from "../types.js" */

import { setBounded, settingsKey } from "./cache.js";
import { maxFlow, maxFlowValue } from "./maxflow.js";

/** Edges times tokens up to which a row is solved; chosen: about a second, in slices. */
const ROW_LIMIT = 2e6;
/** The same for all rows, which the overview needs; chosen: a few seconds. */
const ALL_LIMIT = 1.5e7;
/** Edges up to which one pair is solved; chosen: about a second. */
const PAIR_LIMIT = 8e5;
/** Cached pairs, and cached settings with all their rows; chosen: what a person goes back to. */
const CACHED_PAIRS = 4;
const CACHED_SETTINGS = 8;

export class FlowSolver {
  /** @param {import("./edges.js").Edges} edges @param {import("./scheduler.js").Scheduler} scheduler */
  constructor(edges, scheduler) {
    this.edges = edges;
    this.scheduler = scheduler;
    /** @type {Map<string, Map<string, Vector>>} settings → node → row */
    this.rows = new Map();
    /** @type {Map<string, SolvedPair>} */
    this.pairs = new Map();
    /** The number of rows solved so far. */
    this.solved = 0;
    const cost = edges.count * edges.sizes[0];
    const sources = edges.sizes.slice(1).reduce((sum, size) => sum + size, 0);
    this.canSolveRows = cost <= ROW_LIMIT;
    this.canSolveAll = this.canSolveRows && cost * sources <= ALL_LIMIT;
  }

  /** Return the flow from a node to all tokens, or null while it is being solved.
   * @type {(layer: number, node: number, settings: Settings) => Vector | null} */
  row(layer, node, settings) {
    const cached = this.cachedRow(layer, node, settings);
    if (cached) return cached;
    const key = `${layer} ${node} ${settingsKey(settings)}`;
    this.scheduler.request(key, () => this.solveRow(layer, node, settings));
    return this.cachedRow(layer, node, settings);
  }

  /** @type {(layer: number, node: number, settings: Settings) => Vector | null} */
  cachedRow(layer, node, settings) {
    return this.rows.get(settingsKey(settings))?.get(`${layer} ${node}`) ?? null;
  }

  /** @type {(layer: number, node: number, settings: Settings) => Generator<void, void>} */
  *solveRow(layer, node, settings) {
    const sizes = this.edges.sizes.slice(0, layer + 1);
    const capacities = this.edges.capacities(layer, settings);
    const row = new Float64Array(sizes[0]);
    for (let sink = 0; sink < row.length; sink++) {
      row[sink] = maxFlowValue(capacities, sizes, node, sink);
      yield;
    }
    const key = settingsKey(settings);
    setBounded(this.rows, key, this.rows.get(key) ?? new Map(), CACHED_SETTINGS).set(`${layer} ${node}`, row);
    this.solved++;
  }

  /** Solve many rows, given as [layer, node]. @type {(nodes: [number, number][], settings: Settings) => void} */
  requestRows(nodes, settings) {
    this.scheduler.request(`all ${settingsKey(settings)}`, () => this.solveRows(nodes, settings));
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
    if (this.edges.count > PAIR_LIMIT) return null;
    const key = `${layer} ${node} ${sink} ${settingsKey(settings)}`;
    const cached = this.pairs.get(key);
    if (cached) return cached;
    const capacities = this.edges.capacities(layer, settings);
    const solved = maxFlow(capacities, this.edges.sizes.slice(0, layer + 1), node, sink);
    return setBounded(this.pairs, key, { ...solved, capacities }, CACHED_PAIRS);
  }
}
