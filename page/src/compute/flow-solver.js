/** Flow where the document does not hold it: other heads, another residual, other positions. */

import { keepLast, settingsKey } from "./cache.js";
import { maxFlow, maxFlowValue } from "./maxflow.js";

/** Edges looked at for a row: edges of the graph by tokens. Chosen: about a second, in slices. */
const ROW_LIMIT = 2e6;
/** The same for all rows, which the picture at rest wants. Chosen: a few seconds. */
const ALL_LIMIT = 1.5e7;
/** Edges of the graph where one pair is solved. Chosen: what takes a good second at most. */
const PAIR_LIMIT = 8e5;
/** Pairs, and heads and residuals with all their rows, that are kept. Chosen: what a person goes back to. */
const PAIRS_KEPT = 4;
const SETTINGS_KEPT = 8;

export class Flows {
  /**
   * @param {import("./edges.js").Edges} edges
   * @param {import("./scheduler.js").Slices} slices
   */
  constructor(edges, slices) {
    this.edges = edges;
    this.slices = slices;
    // Settings → place → row.
    this.rows = new Map();
    this.pairs = new Map();
    // Rows so far.
    this.solved = 0;
  }

  get solvesRows() {
    return this.edges.count * this.edges.sizes[0] <= ROW_LIMIT;
  }

  get solvesAll() {
    const sources = this.edges.sizes.slice(1).reduce((sum, size) => sum + size, 0);
    return this.solvesRows && this.edges.count * this.edges.sizes[0] * sources <= ALL_LIMIT;
  }

  get solvesPairs() {
    return this.edges.count <= PAIR_LIMIT;
  }

  /** Flow from a node to all tokens, or null while it is being solved. */
  row(layer, node, settings) {
    const known = this.known(layer, node, settings);
    const key = `${placeKey(layer, node)} ${settingsKey(settings)}`;
    if (!known) this.slices.want(key, () => this.solveRow(layer, node, settings));
    return known ?? this.known(layer, node, settings);
  }

  /** The row if it has been solved; asks for nothing. */
  known(layer, node, settings) {
    return this.rows.get(settingsKey(settings))?.get(placeKey(layer, node)) ?? null;
  }

  *solveRow(layer, node, settings) {
    const sizes = this.edges.sizes.slice(0, layer + 1);
    const capacities = this.edges.capacities(layer, settings);
    const row = new Float64Array(sizes[0]);
    for (let sink = 0; sink < row.length; sink++) {
      row[sink] = maxFlowValue(capacities, sizes, node, sink);
      yield;
    }
    const rows = this.rows.get(settingsKey(settings)) ?? new Map();
    keepLast(this.rows, settingsKey(settings), rows.set(placeKey(layer, node), row), SETTINGS_KEPT);
    this.solved++;
  }

  /** Ask for many rows at once, as [layer, node]. */
  wantAll(places, settings) {
    this.slices.want(`all ${settingsKey(settings)}`, () => this.solveAll(places, settings));
  }

  *solveAll(places, settings) {
    for (const [layer, node] of places) {
      if (!this.known(layer, node, settings)) yield* this.solveRow(layer, node, settings);
    }
  }

  /** One pair with its flow over the edges and its cut; null where the graph is too large. */
  pair(layer, node, sink, settings) {
    if (!this.solvesPairs) return null;
    const key = `${placeKey(layer, node)} ${sink} ${settingsKey(settings)}`;
    if (!this.pairs.has(key)) {
      const capacities = this.edges.capacities(layer, settings);
      const found = maxFlow(capacities, this.edges.sizes.slice(0, layer + 1), node, sink);
      keepLast(this.pairs, key, { ...found, capacities }, PAIRS_KEPT);
    }
    return this.pairs.get(key);
  }
}

const placeKey = (layer, node) => `${layer} ${node}`;
