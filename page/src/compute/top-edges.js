/** The strongest edges of a picture, found without sorting millions of them. */

/** @import { Block, Edge, TopEdges } from "../types.js" */
/** @import { Skipped } from "./scale.js" */
/** @typedef {{ edges: Edge[], total: number, count: number }} Found */
/** @typedef {(block: Block, column: number) => boolean} Counts whether a column of a block counts */

import { maxFinite, sumOf } from "./matrix.js";
import { coveringColumns, edgesEnd } from "./scale.js";

/** Values that the histogram counts; of more, a sample. Chosen: about 3 ms. */
const SAMPLE_SIZE = 262144;
/** @type {Skipped} */
const NONE = { own: false, sinks: new Set() };
/** The share of all edges that those to sinks may be, if these are drawn apart; chosen by eye. */
const FANS = 0.2;

/**
 * Return about the `limit` strongest edges, weakest first, without those below `floor` times the end of the scale.
 *
 * With `apart`, edges to nodes whose median edge is an outlier, which would cover all others, are `faint` and come
 * first.
 *
 * @type {(blocks: Block[], limit: number, floor?: number, skipped?: Skipped, apart?: boolean) => TopEdges}
 */
export function topEdges(blocks, limit, floor = 0, skipped = NONE, apart = false) {
  const end = edgesEnd(blocks, skipped);
  /** @type {Map<Block, Set<number>>} */
  const fans = new Map(blocks.map((block) => [block, apart ? coveringColumns(block, skipped.own) : new Set()]));
  if (![...fans.values()].some(({ size }) => size)) return summarize([strongest(blocks, limit)], floor, end);
  const parts = [true, false].map((isFan) => {
    const found = strongest(
      blocks,
      isFan ? FANS * limit : limit,
      (block, column) => fans.get(block)?.has(column) === isFan,
    );
    return { ...found, edges: found.edges.map((edge) => ({ ...edge, faint: isFan })) };
  });
  return summarize(parts, floor, end);
}

/** Return about the `limit` strongest edges, the weight of all, and their number; only of the columns that `counts`.
 * @type {(blocks: Block[], limit: number, counts?: Counts | null) => Found} */
function strongest(blocks, limit, counts = null) {
  const { lower, upper, stride } = thresholds(blocks, limit, counts);
  /** @type {Edge[]} */
  const edges = [];
  let [total, count, candidates] = [0, 0, 0];
  for (const block of blocks) {
    const { values, columns } = block;
    let [weight, positive] = [0, 0];
    for (let at = 0; at < values.length; at++) {
      const value = values[at];
      if (!(value > 0) || (counts && !counts(block, at % columns))) continue;
      positive++;
      if (value < Infinity) weight += value;
      if (value < lower || (value < upper && candidates++ % stride)) continue;
      edges.push({ block, above: Math.floor(at / columns), below: at % columns, value });
    }
    total += block.sums && !counts ? sumOf(block.sums) : weight;
    count += block.count && !counts ? block.count() : positive;
  }
  for (const edge of edges) {
    const { nodes, firstColumn = 0 } = edge.block;
    if (nodes) edge.above = nodes[edge.above];
    edge.below += firstColumn;
  }
  return { edges, total, count };
}

/**
 * Return the thresholds: edges from `upper` on are all drawn, of those from `lower` to `upper` one in
 * `stride`, which matters where most edges are about equal.
 *
 * Positive floats sort like the integers of their bits, so a histogram over the upper 16 bits suffices.
 *
 * @type {(blocks: Block[], limit: number, counts: Counts | null) => { lower: number, upper: number, stride: number }}
 */
function thresholds(blocks, limit, counts) {
  const size = blocks.reduce((sum, { values }) => sum + values.length, 0);
  // Odd steps, so that all columns are sampled.
  const step = Math.ceil(size / SAMPLE_SIZE) | 1;
  const histogram = new Uint32Array(65536);
  for (const block of blocks) {
    const { values, columns } = block;
    const patterns = new Uint32Array(values.buffer, values.byteOffset, values.length);
    for (let at = 0; at < patterns.length; at += step)
      if (!counts || counts(block, at % columns)) histogram[patterns[at] >>> 16]++;
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

/** @type {(found: Found[], floor: number, end: number) => TopEdges} */
function summarize(found, floor, end) {
  const all = found.flatMap(({ edges }) => edges);
  const largest = maxFinite(all.map(({ value }) => value));
  const max = end || largest || 1;
  const strong = all.filter(({ value }) => value >= floor * max).sort((a, b) => a.value - b.value);
  const edges = [...strong.filter(({ faint }) => faint), ...strong.filter(({ faint }) => !faint)];
  const [total, count] = [sumOf(found.map((part) => part.total)), sumOf(found.map((part) => part.count))];
  let sum = 0;
  for (const { value } of edges) if (value < Infinity) sum += value;
  const omittedShare = total > 0 ? Math.max(0, 1 - sum / total) : 0;
  return { edges, max, exceeds: largest > max, omitted: Math.max(0, count - edges.length), omittedShare };
}
