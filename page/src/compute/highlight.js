/**
 * The edges of a highlighted node: from the input up to it, and from it upwards.
 *
 * Raw: the edges directly below and above. Rollout: what every edge contributes. Flow, and scores
 * without edges: straight lines to the tokens. Corrected for the receptive field, the edges below a node
 * contribute to its corrected scores; those above it are not corrected, as each leads to nodes of other fields.
 */

/** @import { Block, Matrix, Method, NodeRef, Settings, Vector } from "../types.js" */
/** @import { Edges } from "./edges.js" */
/** @import { Level } from "./level.js" */
/** @import { Scores } from "./scores.js" */

import { blockOfRows } from "./edges.js";
import { mergeMatrix } from "./matrix.js";
import { contributionsAbove, contributionsBelow, indicator, propagateUp } from "./rollout.js";

/**
 * Return the edges of a node, or null if its scores are unknown.
 *
 * @param {Scores} scores
 * @param {Method} method
 * @param {Level} level
 * @param {NodeRef} at
 * @param {number} layer whose positions are joined to the token, if `at` is one
 * @param {Settings} settings
 * @param {number} floor share of the strongest edge below which edges may be omitted
 * @param {boolean} [corrected] for the receptive field
 * @returns {Block[] | null}
 */
export function nodeEdges(scores, method, level, at, layer, settings, floor, corrected = false) {
  const { edges } = scores;
  if (!edges || method === "flow") return straightLines(scores, method, level, at, layer, settings, corrected);
  const positions = level.positions(at.node);
  if (method === "raw") return rawEdges(edges, level, at, positions, settings);
  const single = level.pieces ? undefined : at.node;
  const start = indicator(edges.sizes[at.layer], positions, 1);
  const paths = at.layer > 0 ? pathsBelow(scores, edges, at.layer, positions, settings, corrected) : [];
  return [
    // The start is the mean over the pieces of a word, so what continues from it is summed.
    ...contributionsBelow(edges, at.layer, paths, settings, floor).map((block) => level.block(block, true)),
    ...contributionsAbove(edges, at.layer, start, settings, floor, single).map((block) => level.block(block)),
  ];
}

/** Return the paths of some positions down to the input; corrected, those of each position end in its own factors.
 * @type {(scores: Scores, edges: Edges, layer: number, positions: number[], settings: Settings, corrected: boolean) =>
 *   import("./rollout.js").Paths[]} */
function pathsBelow(scores, edges, layer, positions, settings, corrected) {
  if (!corrected || !scores.field) return [{ down: scores.propagated(layer, positions, settings), up: null }];
  return positions.flatMap((position) => {
    const down = scores.propagated(layer, [position], settings);
    const row = scores.field?.correct(down[0], "rollout", layer, position, settings);
    const factors = row?.map((score, token) => (score > 0 ? score / down[0][token] / positions.length : 0));
    return factors ? [{ down, up: propagateUp(edges, layer, factors, settings) }] : [];
  });
}

/** @type {(edges: Edges, level: Level, at: NodeRef, positions: number[], settings: Settings) => Block[]} */
function rawEdges(edges, level, { layer, node }, positions, settings) {
  /** @type {Block[]} */
  const blocks = [];
  if (layer > 0) {
    const columns = edges.sizes[layer - 1];
    const W = edges.rawWeights(layer, settings);
    const rows = positions.map((position) => W.subarray(position * columns, (position + 1) * columns));
    blocks.push(level.block(blockOfRows(layer, layer - 1, columns, rows, positions)));
  }
  if (layer < edges.layers) {
    const column = columnSum(edges.rawWeights(layer + 1, settings), edges.sizes[layer], positions);
    blocks.push(columnBlock(level, layer + 1, layer, node, column));
  }
  return blocks;
}

/** Sum some columns of a matrix. @type {(matrix: Matrix, columns: number, positions: number[]) => Matrix} */
function columnSum(matrix, columns, positions) {
  const sums = new Float32Array(matrix.length / columns);
  for (let row = 0; row < sums.length; row++) for (const p of positions) sums[row] += matrix[row * columns + p];
  return sums;
}

/** Return the edges into one node, given by their upper ends.
 * @type {(level: Level, from: number, to: number, node: number, column: Matrix, nodes?: number[]) => Block} */
function columnBlock(level, from, to, node, column, nodes) {
  const block = { from, to, columns: 1, firstColumn: node, values: column, nodes };
  if (!level.pieces) return block;
  const words = level.wordRows(level.pieces, nodes);
  return { ...block, values: mergeMatrix(column, 1, words.rows, [[0]]), nodes: words.nodes };
}

/** @type {(scores: Scores, method: Method, level: Level, at: NodeRef, top: number, settings: Settings,
 *   corrected: boolean) => Block[] | null} */
function straightLines(scores, method, level, { layer, node }, top, settings, corrected) {
  if (layer === 0) {
    // From all positions of the layer whose scores are known.
    const block = scores.overview(method, settings, corrected).blocks.find(({ from }) => from === top);
    if (!block?.values.length) return null;
    const column = columnSum(block.values, block.columns, level.positions(node));
    return [columnBlock(level, top, 0, node, column, block.nodes)];
  }
  /** @type {number[]} */
  const nodes = [];
  /** @type {Vector[]} */
  const rows = [];
  for (const position of level.positions(node)) {
    const row = corrected
      ? scores.correctedRow(method, layer, position, settings)
      : scores.row(method, layer, position, settings);
    if (!row) continue;
    nodes.push(position);
    rows.push(row);
  }
  return rows.length ? [level.block(blockOfRows(layer, 0, rows[0].length, rows, nodes))] : null;
}
