/**
 * The correction for the receptive field: in a causal model more positions see early tokens.
 *
 * Scores are divided by those that the same method gives for uniform causal attention, and rows sum to one.
 */

/** @import { Method, PageData, Settings, Vector } from "../types.js" */

import { setBounded, settingsKey } from "./cache.js";
import { UniformEdges } from "./edges.js";
import { FlowSolver } from "./flow-solver.js";
import { normalizedRow } from "./matrix.js";
import { indicator, propagateDown } from "./rollout.js";
import { StoredScores } from "./stored.js";

/** Cached rows of rollout; chosen: those of one position at all layers of a heat map. */
const CACHED_ROWS = 64;

export class ReceptiveField {
  /** @param {PageData} data of causal attention @param {import("./scheduler.js").Scheduler} scheduler */
  constructor(data, scheduler) {
    this.edges = new UniformEdges(data);
    this.solver = new FlowSolver(this.edges, scheduler, "uniform");
    const flow = data.scores.find(({ method, uniform }) => method === "flow" && uniform);
    this.stored = flow?.uniform ? new StoredScores(flow, flow.uniform) : null;
    /** @type {Map<string, Vector>} */
    this.rollouts = new Map();
  }

  /** Return a corrected row; null while the flow of uniform attention is being solved.
   * @type {(row: Vector, method: Method, layer: number, position: number, settings: Settings) => Vector | null} */
  correct(row, method, layer, position, settings) {
    if (method === "raw") return row; // it has no paths
    const uniform = { ...settings, head: -1 };
    const seen = method === "flow" ? this.flow(layer, position, uniform) : this.rollout(layer, position, uniform);
    return seen && normalizedRow(row.map((score, token) => (seen[token] > 0 ? score / seen[token] : 0)));
  }

  /** @type {(layer: number, position: number, settings: Settings) => Vector | null} */
  flow(layer, position, settings) {
    const stored = this.edges.isDefault(settings) ? this.stored?.row(layer, position) : null;
    if (stored) return stored;
    return this.solver.canSolve ? this.solver.row(layer, position, settings) : null;
  }

  /** @type {(layer: number, position: number, settings: Settings) => Vector} */
  rollout(layer, position, settings) {
    const { edges, rollouts } = this;
    const key = `${layer} ${position} ${settingsKey(settings)}`;
    const start = indicator(edges.sizes[layer], [position]);
    const row = rollouts.get(key) ?? propagateDown(edges, layer, start, settings)[0];
    return setBounded(rollouts, key, row, CACHED_ROWS);
  }
}
