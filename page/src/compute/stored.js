/** Scores in the document, row by row. */

/** @import { EncodedArray, EncodedScores, Vector } from "../types.js" */

import { decodeArray } from "./decode.js";

/** Scores of one method in the document. */
export class StoredScores {
  /** @param {EncodedScores} scores @param {EncodedArray} [values] for the same rows */
  constructor({ layers, queries, saturated, flat, ...scores }, values = scores.values) {
    this.layers = layers;
    this.queries = queries;
    this.saturated = saturated;
    this.flat = flat;
    this.tokens = values.shape[2];
    this.values = decodeArray(values);
    this.rowOf = new Map(queries.map((query, row) => [query, row]));
  }

  /** @type {(layer: number, position: number) => Vector | null} */
  row(layer, position) {
    const index = this.layers.indexOf(layer);
    const row = this.rowOf.get(position);
    if (index < 0 || row === undefined) return null;
    const start = (index * this.queries.length + row) * this.tokens;
    return Float64Array.from(this.values.subarray(start, start + this.tokens));
  }

  /** @type {(layer: number) => boolean} */
  isSaturated(layer) {
    return this.saturated[this.layers.indexOf(layer)] ?? false;
  }

  /** @type {(layer: number, position: number) => boolean} */
  isFlat(layer, position) {
    const row = this.rowOf.get(position);
    return (row !== undefined && this.flat[this.layers.indexOf(layer)]?.[row]) ?? false;
  }
}
