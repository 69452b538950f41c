/**
 * Where a node draws from down to the input, and what draws on it: the edges that light up.
 *
 * Raw: the edges right below and above. Rollout: what runs over every edge. Flow, and scores without
 * edges: straight lines to the tokens.
 */

import { massesAbove, massesBelow, startAt } from "./rollout.js";
import { mergedMatrix } from "./matrix.js";

/**
 * @param {import("./scores.js").Scores} scores
 * @param {import("./level.js").Level} level
 * @param {{layer: number, node: number}} at node of the level, layer 0 for a token
 * @param {number} interest the layer whose positions are asked where a token is `at`
 * @param {number} floor share of the strongest edge under which edges may be left out
 * @returns {import("./top-edges.js").Block[] | null} null where nothing is known of it
 */
export function traced(scores, method, level, at, interest, settings, floor) {
  if (!scores.computes(method)) return straightLines(scores, method, level, at, interest, settings);
  return (method === "raw" ? rawAround : massesAround)(scores, level, at, settings, floor);
}

function rawAround({ edges }, level, { layer, node }, { head }) {
  const positions = level.positions(node);
  const blocks = [];
  if (layer > 0) {
    const columns = edges.sizes[layer - 1];
    const W = edges.weights(layer, head);
    const values = new Float32Array(positions.length * columns);
    positions.forEach((p, row) => values.set(W.subarray(p * columns, (p + 1) * columns), row * columns));
    blocks.push(level.block({ from: layer, to: layer - 1, columns, values, nodes: positions }));
  }
  if (layer < edges.layers) {
    const columns = edges.sizes[layer];
    const W = edges.weights(layer + 1, head);
    const column = new Float32Array(edges.sizes[layer + 1]);
    for (let row = 0; row < column.length; row++) for (const p of positions) column[row] += W[row * columns + p];
    blocks.push(columnBlock(level, layer + 1, layer, node, column));
  }
  return blocks;
}

/** Edges into one node, given by their upper ends. */
function columnBlock(level, from, to, node, column, nodes) {
  if (!level.pieces) return { from, to, columns: 1, firstColumn: node, values: column, nodes };
  const found = level.wordRows(nodes);
  const values = mergedMatrix(column, 1, found.above, [[0]]);
  return { from, to, columns: 1, firstColumn: node, values, nodes: found.nodes };
}

function massesAround(scores, level, { layer, node }, settings, floor) {
  const { edges } = scores;
  const positions = level.positions(node);
  const size = edges.sizes[layer];
  const below = layer > 0 ? massesBelow(edges, layer, scores.carried(layer, positions, settings), settings, floor) : [];
  const alone = level.pieces ? undefined : node;
  const above = massesAbove(edges, layer, startAt(size, positions, 1), settings, floor, alone);
  // Where the mass starts is the mean over the pieces of a word, so that what runs on is added.
  return [...below.map((block) => level.block(block, true)), ...above.map((block) => level.block(block))];
}

function straightLines(scores, method, level, { layer, node }, interest, settings) {
  if (layer === 0) return linesToToken(scores, method, level, node, interest, settings);
  const rows = level.positions(node).map((position) => [position, scores.row(method, layer, position, settings)]);
  const known = rows.filter(([, row]) => row);
  if (!known.length) return null;
  const columns = known[0][1].length;
  const values = new Float32Array(known.length * columns);
  known.forEach(([, row], at) => values.set(row, at * columns));
  return [level.block({ from: layer, to: 0, columns, values, nodes: known.map(([position]) => position) })];
}

/** Lines to a token from all positions of the layer of interest whose scores are there already. */
function linesToToken(scores, method, level, node, interest, settings) {
  const { blocks } = scores.resting(method, settings);
  const block = blocks.find(({ from }) => from === interest);
  if (!block?.values.length) return null;
  const column = new Float32Array(block.values.length / block.columns);
  for (const position of level.positions(node)) {
    for (let row = 0; row < column.length; row++) column[row] += block.values[row * block.columns + position];
  }
  return [columnBlock(level, interest, 0, node, column, block.nodes)];
}
