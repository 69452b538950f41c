/** Flow where the document does not hold it: other heads, another residual, other positions. */

import { maxFlow, maxFlowValue } from "./maxflow.js";

/** Edges looked at for a row: edges of the graph by tokens. Chosen: about a second, in slices. */
const ROW_LIMIT = 2e6;
/** The same for all rows, which the picture at rest wants. Chosen: a few seconds. */
const ALL_LIMIT = 1.5e7;
/** Edges of the graph where one pair is solved. Chosen: what takes a good second at most. */
const PAIR_LIMIT = 8e5;

export class Flows {
  /**
   * @param {import("./edges.js").Edges} edges
   * @param {import("./slices.js").Slices} slices
   */
  constructor(edges, slices) {
    this.edges = edges;
    this.slices = slices;
    this.rows = new Map();
    this.pairs = new Map();
  }

  get solvesRows() {
    return this.edges.count * this.edges.sizes[0] <= ROW_LIMIT;
  }

  get solvesAll() {
    const sources = this.edges.sizes.slice(1).reduce((sum, size) => sum + size, 0);
    return this.edges.count * this.edges.sizes[0] * sources <= ALL_LIMIT;
  }

  get solvesPairs() {
    return this.edges.count <= PAIR_LIMIT;
  }

  /** Flow from a node to all tokens, or null while it is being solved. */
  row(layer, node, settings) {
    const key = flowKey(layer, node, settings);
    if (!this.rows.has(key)) this.slices.want(key, () => this.solveRow(key, layer, node, settings));
    return this.rows.get(key) ?? null;
  }

  /** The row if it has been solved; asks for nothing. */
  known(layer, node, settings) {
    return this.rows.get(flowKey(layer, node, settings)) ?? null;
  }

  *solveRow(key, layer, node, settings) {
    const sizes = this.edges.sizes.slice(0, layer + 1);
    const capacities = this.edges.capacities(layer, settings);
    const row = new Float64Array(sizes[0]);
    for (let sink = 0; sink < row.length; sink++) {
      row[sink] = maxFlowValue(capacities, sizes, node, sink);
      yield;
    }
    this.rows.set(key, row);
  }

  /** Ask for all rows, those of the layer of interest first; how many are not there yet. */
  wantAll(settings) {
    let missing = 0;
    for (let layer = 1; layer <= this.edges.layers; layer++) {
      for (let node = 0; node < this.edges.sizes[layer]; node++) {
        if (!this.known(layer, node, settings)) missing++;
      }
    }
    if (missing) this.slices.want(`all ${settings.head} ${settings.residual}`, () => this.solveAll(settings));
    return missing;
  }

  *solveAll(settings) {
    for (let layer = 1; layer <= this.edges.layers; layer++) {
      for (let node = 0; node < this.edges.sizes[layer]; node++) {
        const key = flowKey(layer, node, settings);
        if (!this.rows.has(key)) yield* this.solveRow(key, layer, node, settings);
      }
    }
  }

  /** One pair with its flow over the edges and its cut; null where the graph is too large. */
  pair(layer, node, sink, settings) {
    if (!this.solvesPairs) return null;
    const key = `${flowKey(layer, node, settings)} ${sink}`;
    if (!this.pairs.has(key)) {
      const capacities = this.edges.capacities(layer, settings);
      const found = maxFlow(capacities, this.edges.sizes.slice(0, layer + 1), node, sink);
      this.pairs.set(key, { ...found, capacities });
    }
    return this.pairs.get(key);
  }
}

function flowKey(layer, node, { head, residual }) {
  return `${layer} ${node} ${head} ${residual}`;
}
