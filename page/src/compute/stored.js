/** Scores in the document, row by row. */

/** @import { EncodedArray, EncodedScores, Vector } from "../types.js" */

import { decodeArray } from "./decode.js";

/** Scores of one method in the document. */
export class StoredScores {
  /** @param {EncodedScores} scores @param {EncodedArray} [values] for the same rows */
  constructor({ layers, queries, saturated, at_ceiling, flat, ...scores }, values = scores.values) {
    this.layers = layers;
    this.queries = queries;
    this.saturated = saturated;
    this.atCeiling = at_ceiling;
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

  /** Return whether flow of a position is the "same" as of all others, at its "ceiling", or neither; `size` is the
   * number of positions of the layer.
   * @type {(layer: number, position: number, size: number) => "" | "same" | "ceiling"} */
  saturation(layer, position, size) {
    const [index, row] = [this.layers.indexOf(layer), this.rowOf.get(position)];
    if (index < 0 || row === undefined) return "";
    const saturated = this.saturated[index];
    // Of scores that were passed, only what they say of their queries is known.
    if (!this.atCeiling) return saturated ? (this.queries.length > 1 ? "same" : "ceiling") : "";
    const isSame = saturated && this.queries.length === size && size > 1;
    return isSame ? "same" : this.atCeiling[index][row] ? "ceiling" : "";
  }

  /** @type {(layer: number, position: number) => boolean} */
  isFlat(layer, position) {
    const row = this.rowOf.get(position);
    return row !== undefined && this.flat[this.layers.indexOf(layer)]?.[row] === 1;
  }
}
