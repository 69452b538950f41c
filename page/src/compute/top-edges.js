/** The strongest edges of a picture, found without sorting millions of them. */

/** @import { Block, Edge, TopEdges } from "../types.js" */

import { maxFinite, sumOf } from "./matrix.js";

/** Values that the histogram counts; of more, a sample. Chosen: about 3 ms. */
const SAMPLE_SIZE = 262144;

/**
 * Return about the `limit` strongest edges, weakest first, without those below `floor` times the largest.
 *
 * The largest is that of the scale: edges that `isSkipped`, as of a node to itself, do not count.
 *
 * @type {(blocks: Block[], limit: number, floor?: number, isSkipped?: (edge: Edge) => boolean) => TopEdges}
 */
export function topEdges(blocks, limit, floor = 0, isSkipped = () => false) {
  const { lower, upper, stride } = thresholds(blocks, limit);
  /** @type {Edge[]} */
  const edges = [];
  let [total, count, candidates] = [0, 0, 0];
  for (const block of blocks) {
    const { values, columns } = block;
    let [weight, positive] = [0, 0];
    for (let at = 0; at < values.length; at++) {
      const value = values[at];
      if (!(value > 0)) continue;
      positive++;
      if (value < Infinity) weight += value;
      if (value < lower || (value < upper && candidates++ % stride)) continue;
      edges.push({ block, above: Math.floor(at / columns), below: at % columns, value });
    }
    total += block.sums ? sumOf(block.sums) : weight;
    count += block.count ? block.count() : positive;
  }
  for (const edge of edges) {
    const { nodes, firstColumn = 0 } = edge.block;
    if (nodes) edge.above = nodes[edge.above];
    edge.below += firstColumn;
  }
  return summarize(edges, total, count, floor, isSkipped);
}

/**
 * Return the thresholds: edges from `upper` on are all drawn, of those from `lower` to `upper` one in
 * `stride`, which matters where most edges are about equal.
 *
 * Positive floats sort like the integers of their bits, so a histogram over the upper 16 bits suffices.
 *
 * @type {(blocks: Block[], limit: number) => { lower: number, upper: number, stride: number }}
 */
function thresholds(blocks, limit) {
  const size = blocks.reduce((sum, { values }) => sum + values.length, 0);
  // Odd steps, so that all columns are sampled.
  const step = Math.ceil(size / SAMPLE_SIZE) | 1;
  const histogram = new Uint32Array(65536);
  for (const { values } of blocks) {
    const patterns = new Uint32Array(values.buffer, values.byteOffset, values.length);
    for (let at = 0; at < patterns.length; at += step) histogram[patterns[at] >>> 16]++;
  }
  // Edges without weight do not count.
  histogram[0] = 0;
  const target = limit / step;
  let [bucket, taken] = [65536, 0];
  while (bucket > 0 && taken + histogram[bucket - 1] <= target) taken += histogram[--bucket];
  const upper = floatOf(bucket);
  if (bucket === 0 || taken >= target / 2) return { lower: upper, upper, stride: 1 };
  return { lower: floatOf(bucket - 1), upper, stride: Math.ceil(histogram[bucket - 1] / (target - taken)) };
}

/** Return the float with these upper 16 bits and zeros below. @type {(bits: number) => number} */
function floatOf(bits) {
  return bits > 65535 ? Infinity : new Float32Array(new Uint32Array([bits << 16]).buffer)[0];
}

/** @type {(found: Edge[], total: number, count: number, floor: number, isSkipped: (edge: Edge) => boolean) =>
 *   TopEdges} */
function summarize(found, total, count, floor, isSkipped) {
  const largest = maxFinite(found.map(({ value }) => value));
  const others = maxFinite(found.filter((edge) => !isSkipped(edge)).map(({ value }) => value));
  const max = others || largest || 1;
  const edges = found.filter(({ value }) => value >= floor * max).sort((a, b) => a.value - b.value);
  let sum = 0;
  for (const { value } of edges) if (value < Infinity) sum += value;
  const omittedShare = total > 0 ? Math.max(0, 1 - sum / total) : 0;
  return { edges, max, exceeds: largest > max, omitted: Math.max(0, count - edges.length), omittedShare };
}
