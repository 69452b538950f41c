/**
 * Scores of the three methods: computed here, taken from the document, or solved when asked for.
 *
 * Raw and rollout are computed where attention or a graph is there; flow is taken where the document
 * has it, and solved where the graph is small.
 */

import { arrayPart } from "./decode.js";
import { Edges } from "./edges.js";
import { Flows } from "./flow-solver.js";
import { keepLast, settingsKey } from "./cache.js";
import { RolloutMatrices, carriedDown, startAt } from "./rollout.js";

export const METHODS = ["raw", "rollout", "flow"];
/** Multiplications of rollout that are done at once. Chosen: some 50 ms. */
const AT_ONCE = 4e7;
/** Chosen: what a hover asks for, and the position of interest at all layers of a heat map. */
const CHAINS = 64;
/** Heads and residuals whose rollout of all positions is kept. Chosen: one of a long input is some 10 MB. */
const MATRICES = 4;

export class Scores {
  constructor(data, slices) {
    this.data = data;
    this.slices = slices;
    this.edges = data.attention || data.graph ? new Edges(data) : null;
    this.flows = this.edges && new Flows(this.edges, slices);
    this.given = new Map(data.scores.map((each) => [each.method, givenScores(each)]));
    const computed = this.edges ? ["raw", "rollout", ...(this.flows.solvesRows ? ["flow"] : [])] : [];
    this.methods = METHODS.filter((method) => computed.includes(method) || this.given.has(method));
    this.layers = this.edges ? [...data.sizes.keys()].slice(1) : givenLayers(this.given);
    this.matrices = new Map();
    this.chains = new Map();
  }

  get defaults() {
    return this.edges ? this.edges.defaults : { head: -1, residual: 0 };
  }

  /** Whether a method is computed from edges, and not read off. */
  computes(method) {
    return this.edges !== null && method !== "flow";
  }

  /**
   * What a position takes from each token; of raw, from each node of the layer below it.
   *
   * @param {import("./edges.js").Settings} settings
   * @returns {Float64Array | null} null where it is not known; `reason` says why
   */
  row(method, layer, position, settings) {
    if (!this.computes(method)) return this.readRow(method, layer, position, settings);
    if (position >= this.edges.sizes[layer]) return null;
    if (method === "raw") {
      const below = this.edges.sizes[layer - 1];
      const W = this.edges.weights(layer, settings.head);
      return Float64Array.from(W.subarray(position * below, (position + 1) * below));
    }
    const matrix = this.matrices.get(settingsKey(settings))?.matrix(layer);
    const tokens = this.edges.sizes[0];
    if (matrix) return Float64Array.from(matrix.subarray(position * tokens, (position + 1) * tokens));
    return this.carried(layer, [position], settings)[0];
  }

  /** What arrives at the layers below from a node; the last few are kept, as several things ask for them. */
  carried(layer, positions, settings) {
    const key = `${layer} ${positions} ${settingsKey(settings)}`;
    if (!this.chains.has(key)) {
      const start = startAt(this.edges.sizes[layer], positions);
      keepLast(this.chains, key, carriedDown(this.edges, layer, start, settings), CHAINS);
    }
    return this.chains.get(key);
  }

  readRow(method, layer, position, settings) {
    const found = this.givenRow(method, layer, position, settings);
    if (found || !this.flows || method !== "flow") return found;
    if (!this.flows.solvesRows || position >= this.edges.sizes[layer]) return null;
    return this.flows.row(layer, position, settings);
  }

  /** A row that the document holds. */
  givenRow(method, layer, position, settings) {
    const given = this.given.get(method);
    if (!given || (this.edges && !this.edges.plain(settings))) return null;
    const at = given.layers.indexOf(layer);
    const row = given.rowOf.get(position);
    if (at < 0 || row === undefined) return null;
    const start = (at * given.queries.length + row) * given.tokens;
    return Float64Array.from(given.values.subarray(start, start + given.tokens));
  }

  /** Why there is no row, in a sentence. */
  reason(method, layer, settings) {
    const given = this.given.get(method);
    if (this.flows?.solvesRows) return "Solving…";
    if (this.edges && !this.edges.plain(settings)) {
      return "The graph is too large to solve for another head or residual here; Python does.";
    }
    const listed = given ? given.queries.slice(0, 3).join(", ") + (given.queries.length > 3 ? ", …" : "") : "";
    if (given && !given.layers.includes(layer)) return `Not computed for layer ${layer}.`;
    return given
      ? `Computed for ${given.queries.length > 1 ? "positions" : "position"} ${listed} only.`
      : "Not computed.";
  }

  /** Whether flow tells nothing about who asks: "same" for all, at its "ceiling", or "". */
  saturation(layer, settings) {
    const given = this.given.get("flow");
    if (!given || (this.edges && !this.edges.plain(settings))) return "";
    if (!given.saturated[given.layers.indexOf(layer)]) return "";
    return given.queries.length > 1 ? "same" : "ceiling";
  }

  /**
   * Edges of the picture at rest: from each position to what lies below it, as strong as its score.
   *
   * @returns {{blocks: import("./top-edges.js").Block[], missing: number, wanted: boolean}} `missing`: layers
   *   or rows that are not there and can be computed here; `wanted`: whether they are on their way
   */
  resting(method, settings) {
    if (method === "raw" && this.edges) {
      return { blocks: this.layers.map((layer) => this.rawBlock(layer, settings.head)), missing: 0, wanted: false };
    }
    return method === "rollout" && this.edges ? this.restingRollout(settings) : this.restingRows(method, settings);
  }

  rawBlock(layer, head) {
    const columns = this.data.sizes[layer - 1];
    return { from: layer, to: layer - 1, columns, values: this.edges.weights(layer, head) };
  }

  restingRollout(settings) {
    const key = settingsKey(settings);
    const made = this.matrices.get(key) ?? new RolloutMatrices(this.edges, settings);
    keepLast(this.matrices, key, made, MATRICES);
    if (!made.matrix(this.edges.layers)) {
      if (RolloutMatrices.cost(this.edges) <= AT_ONCE) for (const _ of made.steps());
      else this.slices.want(`rollout ${key}`, () => made.steps());
    }
    const tokens = this.data.sizes[0];
    const blocks = this.layers
      .filter((layer) => made.matrix(layer))
      .map((layer) => ({ from: layer, to: this.restsOn(layer), columns: tokens, values: made.matrix(layer) }));
    return { blocks, missing: this.layers.length - blocks.length, wanted: true };
  }

  restingRows(method, settings) {
    const flows = method === "flow" && this.flows?.solvesRows ? this.flows : null;
    const missing = [];
    const tokens = this.data.sizes[0];
    const blocks = this.layers.map((layer) => {
      const [nodes, rows] = [[], []];
      for (let position = 0; position < this.data.sizes[layer]; position++) {
        const row = this.givenRow(method, layer, position, settings) ?? flows?.known(layer, position, settings);
        if (row) {
          nodes.push(position);
          rows.push(row);
        } else if (flows) missing.push([layer, position]);
      }
      const values = new Float32Array(rows.length * tokens);
      rows.forEach((row, at) => values.set(row, at * tokens));
      return { from: layer, to: this.restsOn(layer), columns: tokens, values, nodes };
    });
    const wanted = missing.length > 0 && flows.solvesAll;
    if (wanted) flows.wantAll(missing, settings);
    return { blocks, missing: missing.length, wanted };
  }

  /** Where edges at rest end: one layer below, or at the tokens where that layer has other nodes. */
  restsOn(layer) {
    return this.data.sizes[layer - 1] === this.data.sizes[0] ? layer - 1 : 0;
  }
}

function givenScores({ layers, queries, values, saturated }) {
  return {
    layers,
    queries,
    saturated,
    rowOf: new Map(queries.map((query, row) => [query, row])),
    tokens: values.shape[2],
    values: arrayPart(values),
  };
}

function givenLayers(given) {
  const layers = new Set([...given.values()].flatMap((each) => each.layers));
  return [...layers].sort((a, b) => a - b);
}
