/**
 * The correction for the receptive field: in a causal model more positions see early tokens.
 *
 * Scores are divided by those that the same method gives for uniform causal attention, and rows sum to one.
 */

/** @import { Matrix, Method, PageData, Settings, Vector } from "../types.js" */

import { setBounded, settingsKey } from "./cache.js";
import { UniformEdges } from "./edges.js";
import { FlowSolver } from "./flow-solver.js";
import { normalizedRow } from "./matrix.js";
import { indicator, propagateDown, RolloutMatrices } from "./rollout.js";
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
    /** @type {Map<string, RolloutMatrices>} */
    this.matrices = new Map();
  }

  /** Return a corrected row; null while the flow of uniform attention is being solved.
   * @type {(row: Vector, method: Method, layer: number, position: number, settings: Settings) => Vector | null} */
  correct(row, method, layer, position, settings) {
    if (method === "raw") return row; // it has no paths
    const uniform = { ...settings, head: -1 };
    const seen = method === "flow" ? this.flow(layer, position, uniform) : this.rollout(layer, position, uniform);
    return seen && correctedRow(row, seen);
  }

  /** @type {(layer: number, position: number, settings: Settings) => Vector | null} */
  flow(layer, position, settings) {
    const known = this.knownFlow(layer, position, settings);
    return known || !this.solver.canSolve ? known : this.solver.row(layer, position, settings);
  }

  /** Return flow of uniform attention that is in the document or solved, else null.
   * @type {(layer: number, position: number, settings: Settings) => Vector | null} */
  knownFlow(layer, position, settings) {
    const stored = this.edges.isDefault(settings) ? this.stored?.row(layer, position) : null;
    return stored ?? this.solver.cachedRow(layer, position, settings);
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

/**
 * Return the scores of a row divided by those of uniform attention, with a sum of one.
 *
 * @template {Matrix | Vector} T
 * @param {T} row
 * @param {T} seen
 * @returns {T}
 */
export function correctedRow(row, seen) {
  return normalizedRow(/** @type {T} */ (row.map((score, token) => (seen[token] > 0 ? score / seen[token] : 0))));
}

/** Correct all rows of a matrix. @type {(matrix: Matrix, seen: Matrix, columns: number) => Matrix} */
export function correctedMatrix(matrix, seen, columns) {
  const corrected = new Float32Array(matrix.length);
  for (let start = 0; start < matrix.length; start += columns) {
    const end = start + columns;
    corrected.set(correctedRow(matrix.subarray(start, end), seen.subarray(start, end)), start);
  }
  return corrected;
}
