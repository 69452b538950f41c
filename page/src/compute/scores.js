/**
 * Scores of the three methods: computed here, read from the document, or solved on request.
 *
 * Raw attention and rollout are computed if the document has attention or a graph. Flow is read from
 * the document, and solved for other positions and settings.
 */

/** @import { Block, Method, PageData, Settings, Vector } from "../types.js" */

import { setBounded, settingsKey } from "./cache.js";
import { blockOfRows, Edges } from "./edges.js";
import { FlowSolver } from "./flow-solver.js";
import { correctedMatrix, correctedRow, ReceptiveField } from "./receptive-field.js";
import { indicator, propagateDown, RolloutMatrices } from "./rollout.js";
import { StoredScores } from "./stored.js";

/** @type {Method[]} */
const METHODS = ["raw", "rollout", "flow"];
/** Multiplications of rollout that are done without slices; chosen: about 50 ms. */
const IMMEDIATE_LIMIT = 4e7;
/** Cached propagations; chosen: those of a hover, and of one position at all layers of a heat map. */
const CACHED_PROPAGATIONS = 64;
/** Cached settings of the rollout of all positions; chosen: one of a long input is about 10 MB. */
const CACHED_MATRICES = 4;

/**
 * The edges of all positions. `missing` counts layers or rows that can be computed but are not yet;
 * `pending` tells whether they are being computed.
 *
 * @typedef {{ blocks: Block[], missing: number, pending: boolean }} Overview
 */

export class Scores {
  /** @param {PageData} data @param {import("./scheduler.js").Scheduler} scheduler */
  constructor(data, scheduler) {
    this.data = data;
    this.scheduler = scheduler;
    this.edges = data.attention || data.graph ? new Edges(data) : null;
    this.solver = this.edges && new FlowSolver(this.edges, scheduler);
    this.field = data.causal && data.attention ? new ReceptiveField(data, scheduler) : null;
    this.stored = new Map(data.scores.map((scores) => [scores.method, new StoredScores(scores)]));
    this.methods = METHODS.filter(
      (method) => this.computes(method) || this.canSolve(method) || this.stored.has(method),
    );
    this.layers = this.edges ? [...data.sizes.keys()].slice(1) : storedLayers([...this.stored.values()]);
    /** @type {Map<string, RolloutMatrices>} */
    this.matrices = new Map();
    /** @type {Map<string, Vector[]>} */
    this.propagations = new Map();
  }

  /** @returns {Settings} */
  get defaults() {
    return this.edges?.defaults ?? { head: -1, residual: 0, keepSinks: false };
  }

  /** Return these settings where they can be chosen, else the defaults.
   * @template {Settings} T @param {T} settings @returns {T} */
  applicable(settings) {
    if (this.edges?.attention) return settings;
    const keepSinks = this.edges?.sinks.length ? settings.keepSinks : this.defaults.keepSinks;
    return { ...settings, ...this.defaults, keepSinks, field: false };
  }

  /** Return whether a method is computed from edge weights at once. @type {(method: Method) => boolean} */
  computes(method) {
    return this.edges !== null && method !== "flow";
  }

  /** Return whether rows of a method are solved here. @type {(method: Method) => boolean} */
  canSolve(method) {
    return method === "flow" && Boolean(this.solver?.canSolve);
  }

  /**
   * Return the scores of a position for all tokens; of raw attention, for the nodes of the layer below.
   *
   * Null where they are unknown; `reason` says why.
   *
   * @type {(method: Method, layer: number, position: number, settings: Settings) => Vector | null}
   */
  row(method, layer, position, settings) {
    const { edges } = this;
    if (!edges || method === "flow") return this.readRow(method, layer, position, settings);
    if (position >= edges.sizes[layer]) return null;
    const raw = method === "raw";
    const matrix = raw ? edges.rawWeights(layer, settings) : this.matrices.get(settingsKey(settings))?.matrix(layer);
    if (!matrix) return this.propagated(layer, [position], settings)[0];
    const columns = edges.sizes[raw ? layer - 1 : 0];
    return Float64Array.from(matrix.subarray(position * columns, (position + 1) * columns));
  }

  /** The same, corrected for the receptive field.
   * @type {(method: Method, layer: number, position: number, settings: Settings) => Vector | null} */
  correctedRow(method, layer, position, settings) {
    const row = this.row(method, layer, position, settings);
    return row && this.field ? this.field.correct(row, method, layer, position, settings) : row;
  }

  /** Propagate the mean of some positions down to the input; the last few results are cached.
   * @type {(layer: number, positions: number[], settings: Settings) => Vector[]} */
  propagated(layer, positions, settings) {
    const edges = /** @type {Edges} */ (this.edges);
    const key = `${layer} ${positions} ${settingsKey(settings)}`;
    const cached = this.propagations.get(key);
    if (cached) return cached;
    const vectors = propagateDown(edges, layer, indicator(edges.sizes[layer], positions), settings);
    return setBounded(this.propagations, key, vectors, CACHED_PROPAGATIONS);
  }

  /** @type {(method: Method, layer: number, position: number, settings: Settings) => Vector | null} */
  readRow(method, layer, position, settings) {
    const stored = this.storedRow(method, layer, position, settings);
    if (stored || !this.solver || !this.canSolve(method) || position >= this.data.sizes[layer]) return stored;
    return this.solver.row(layer, position, settings);
  }

  /** Return a row of the document.
   * @type {(method: Method, layer: number, position: number, settings: Settings) => Vector | null} */
  storedRow(method, layer, position, settings) {
    return this.hasDefaults(settings) ? (this.stored.get(method)?.row(layer, position) ?? null) : null;
  }

  /** Return whether the scores of the document have these settings. @type {(settings: Settings) => boolean} */
  hasDefaults(settings) {
    return !this.edges || this.edges.isDefault(settings);
  }

  /** Return what stands for a score that is not known. @type {(method: Method) => string} */
  missing(method) {
    return this.canSolve(method) ? "solving…" : "not computed";
  }

  /** Return why there is no row, as a sentence.
   * @type {(method: Method, layer: number, settings: Settings) => string} */
  reason(method, layer, settings) {
    if (this.solver?.canSolve) return "Solving…";
    if (!this.hasDefaults(settings)) {
      return "The graph is too large to solve here for other settings; use attnflow.flow in Python.";
    }
    const stored = this.stored.get(method);
    if (!stored) return "Not computed.";
    if (!stored.layers.includes(layer)) return `Not computed for layer ${layer}.`;
    const { queries } = stored;
    const listed = queries.slice(0, 3).join(", ") + (queries.length > 3 ? ", …" : "");
    return `Computed for ${queries.length > 1 ? "positions" : "position"} ${listed} only.`;
  }

  /** Return whether flow of a position is the "same" as of all others, at its "ceiling", or neither.
   * @type {(layer: number, position: number, settings: Settings) => "" | "same" | "ceiling"} */
  saturation(layer, position, settings) {
    if (this.storedRow("flow", layer, position, settings))
      return this.stored.get("flow")?.saturation(layer, position, this.data.sizes[layer]) ?? "";
    return this.solver?.solvedRow(layer, position, settings)?.atCeiling ? "ceiling" : "";
  }

  /** Return whether all tokens but the position's own have nearly the same score of flow.
   * @type {(layer: number, position: number, settings: Settings) => boolean} */
  isFlat(layer, position, settings) {
    if (this.storedRow("flow", layer, position, settings))
      return Boolean(this.stored.get("flow")?.isFlat(layer, position));
    return Boolean(this.solver?.solvedRow(layer, position, settings)?.flat);
  }

  /** Return the edges of all positions to the layer below, weighted by score, `corrected` for the receptive field.
   * @type {(method: Method, settings: Settings, corrected?: boolean) => Overview} */
  overview(method, settings, corrected = false) {
    const { edges } = this;
    const field = corrected ? this.field : null;
    if (!edges || method === "flow") return this.rowsOverview(method, settings, field);
    if (method === "rollout") return this.rolloutOverview(edges, settings, field);
    const blocks = this.layers.map((layer) => {
      const values = edges.rawWeights(layer, settings);
      return { from: layer, to: layer - 1, columns: this.data.sizes[layer - 1], values };
    });
    return { blocks, missing: 0, pending: false };
  }

  /** @type {(edges: Edges, settings: Settings, field: ReceptiveField | null) => Overview} */
  rolloutOverview(edges, settings, field) {
    const rollout = this.rolloutMatrices("rollout", edges, settings, this.matrices);
    const uniform = { ...settings, head: -1 };
    const seen = field && this.rolloutMatrices("uniform rollout", field.edges, uniform, field.matrices);
    const columns = this.data.sizes[0];
    const blocks = this.layers.flatMap((layer) => {
      const [matrix, divisor] = [rollout.matrix(layer), seen?.matrix(layer)];
      if (!matrix || (seen && !divisor)) return [];
      const values = divisor ? correctedMatrix(matrix, divisor, columns) : matrix;
      return [{ from: layer, to: this.overviewTarget(layer), columns, values }];
    });
    return { blocks, missing: this.layers.length - blocks.length, pending: true };
  }

  /** Return rollout of all positions, computed at once if it is small, else requested.
   * @type {(name: string, edges: Edges, settings: Settings, cached: Map<string, RolloutMatrices>) => RolloutMatrices} */
  rolloutMatrices(name, edges, settings, cached) {
    const key = settingsKey(settings);
    const rollout = cached.get(key) ?? new RolloutMatrices(edges, settings);
    setBounded(cached, key, rollout, CACHED_MATRICES);
    if (!rollout.matrix(edges.layers)) {
      if (RolloutMatrices.cost(edges) <= IMMEDIATE_LIMIT) for (const _ of rollout.steps());
      else this.scheduler.request(`${name} ${key}`, () => rollout.steps());
    }
    return rollout;
  }

  /** @type {(method: Method, settings: Settings, field: ReceptiveField | null) => Overview} */
  rowsOverview(method, settings, field) {
    const solver = this.canSolve(method) ? this.solver : null;
    const known = this.knownRows(method, settings, field);
    const count = known.missing.length + known.unseen.length;
    if (!count || !solver?.canSolveAll) return { blocks: known.blocks, missing: solver ? count : 0, pending: false };
    if (known.missing.length) solver.requestRows(known.missing, settings);
    const uniform = { ...settings, head: -1 };
    const unknown = known.missing.filter(([layer, position]) => !field?.knownFlow(layer, position, uniform));
    const unseen = [...unknown, ...known.unseen];
    if (unseen.length) field?.solver.requestRows(unseen, uniform);
    // Those of a small graph are solved at once.
    const { blocks, ...others } = this.knownRows(method, settings, field);
    const left = others.missing.length + others.unseen.length;
    return { blocks, missing: left, pending: left > 0 };
  }

  /**
   * Return the edges of all rows that are known, and as [layer, position] the others: those without scores, and
   * those of which only the scores of uniform attention are missing.
   *
   * @type {(method: Method, settings: Settings, field: ReceptiveField | null) =>
   *   { blocks: Block[], missing: [number, number][], unseen: [number, number][] }}
   */
  knownRows(method, settings, field) {
    const solver = this.canSolve(method) ? this.solver : null;
    const uniform = { ...settings, head: -1 };
    /** @type {[number, number][]} */
    const missing = [];
    /** @type {[number, number][]} */
    const unseen = [];
    const blocks = this.layers.map((layer) => {
      /** @type {number[]} */
      const nodes = [];
      /** @type {Vector[]} */
      const rows = [];
      for (let position = 0; position < this.data.sizes[layer]; position++) {
        const row = this.storedRow(method, layer, position, settings) ?? solver?.cachedRow(layer, position, settings);
        const seen = field?.knownFlow(layer, position, uniform);
        if (!row) missing.push([layer, position]);
        else if (field && !seen) unseen.push([layer, position]);
        else {
          nodes.push(position);
          rows.push(seen ? correctedRow(row, seen) : row);
        }
      }
      return blockOfRows(layer, this.overviewTarget(layer), this.data.sizes[0], rows, nodes);
    });
    return { blocks, missing, unseen };
  }

  /** Return where edges of the overview end: one layer below, or at the tokens if that layer has other nodes.
   * @type {(layer: number) => number} */
  overviewTarget(layer) {
    return this.data.sizes[layer - 1] === this.data.sizes[0] ? layer - 1 : 0;
  }
}

/** @type {(stored: StoredScores[]) => number[]} */
function storedLayers(stored) {
  return [...new Set(stored.flatMap(({ layers }) => layers))].sort((a, b) => a - b);
}
