/**
 * The end of a scale of colors, which a few large scores do not decide: attention sinks, and columns that are nearly
 * that, such as [SEP] or a full stop. And that of a scale of widths, which edges to attention sinks do not decide.
 *
 * `_internal/scale.py` and `plot/_scale.py` compute the same, but for samples of long columns and sinks that are known.
 */

/** @import { Block, Numbers, Scale, Vector } from "../types.js" */

/** A score is an outlier above this many times all outside the largest quarter, if there are at least so many. */
const TIMES = 5;
const LEAST = 4;
/** Nodes up to which each edge can be followed, so that fans are drawn as the others. */
const FEW_NODES = 20;
/** Edges to one node that are many: at least so many, and at least this share of the rows that have edges. */
const MANY = 4;
const MANY_SHARE = 0.25;
/** Rows that the median of a column is of; of more, a sample. Chosen: some milliseconds for a long input. */
const MEDIAN_ROWS = 64;

/** Return the largest score that is no outlier; 0 if none is positive and finite.
 * @type {(scores: Vector) => number} */
export function scaleEnd(scores) {
  const counted = scores.filter((score) => score > 0 && score < Infinity).sort();
  if (counted.length < LEAST) return counted.at(-1) ?? 0;
  const limit = TIMES * counted[Math.floor((counted.length * 3) / 4) - 1];
  return counted.filter((score) => score <= limit).at(-1) ?? 0;
}

/**
 * Return the end of the color scale of some rows: that of the largest scores of the columns but for those `skipped`.
 *
 * `exceeds` tells whether some score is larger.
 *
 * @type {(rows: Numbers[], skipped: Set<number>) => Scale}
 */
export function robustMax(rows, skipped) {
  const largest = new Float64Array(Math.max(0, ...rows.map(({ length }) => length)));
  for (const row of rows)
    for (let at = 0; at < row.length; at++) if (row[at] > largest[at] && row[at] < Infinity) largest[at] = row[at];
  const end = scaleEnd(largest.map((score, at) => (skipped.has(at) ? 0 : score)));
  const highest = largest.reduce((most, score) => Math.max(most, score), 0);
  return { max: end || highest || 1, exceeds: end > 0 && highest > end };
}

/**
 * What does not count for the scale of edges: those of a node to itself where `own`, and those to `sinks`.
 *
 * @typedef {{ own: boolean, sinks: Set<number> }} Skipped
 */

/** Return the end of the scale of some edges: the largest of all blocks. @type {(blocks: Block[], skipped: Skipped) => number} */
export function edgesEnd(blocks, skipped) {
  return blocks.reduce((most, block) => Math.max(most, blockEnd(block, skipped)), 0);
}

/** @type {(block: Block, skipped: Skipped) => number} */
function blockEnd(block, { own, sinks }) {
  const { values, columns, firstColumn = 0 } = block;
  const fans = fansOf(block, own);
  const skipped = Array.from({ length: columns }, (_, column) => fans.has(column) || sinks.has(column + firstColumn));
  let [end, all] = [0, 0];
  for (let start = 0, row = 0; start < values.length; start += columns, row++) {
    const node = own ? nodeOf(block, row) - firstColumn : -1;
    for (let column = 0; column < columns; column++) {
      const value = values[start + column];
      if (!(value > end) || value === Infinity) continue;
      all = Math.max(all, value);
      if (column !== node && !skipped[column]) end = value;
    }
  }
  return end || all;
}

/** Return the columns whose edges would cover those to others; of few none.
 * @type {(block: Block, own: boolean) => Set<number>} */
export function coveringColumns(block, own) {
  return block.columns > FEW_NODES ? fansOf(block, own) : new Set();
}

/** Return the columns with many edges whose median is an outlier. @type {(block: Block, own: boolean) => Set<number>} */
function fansOf(block, own) {
  const { medians, many } = columnMedians(block, own);
  const end = scaleEnd(medians);
  return new Set([...medians.keys()].filter((column) => many[column] && medians[column] > end));
}

/** Return the median of the positive values of each column, but for those of a node to itself; 0 without any. And
 * whether the column has many.
 * @type {(block: Block, own: boolean) => { medians: Vector, many: boolean[] }} */
function columnMedians(block, own) {
  const { values, columns, firstColumn = 0 } = block;
  const rows = values.length / columns;
  const step = Math.ceil(rows / MEDIAN_ROWS) | 1;
  const capacity = Math.ceil(rows / step);
  // Filled in the order of memory, row by row.
  const samples = new Float64Array(columns * capacity);
  const counts = new Int32Array(columns);
  let counted = 0;
  for (let row = 0; row < rows; row += step) {
    const node = own ? nodeOf(block, row) - firstColumn : -1;
    let found = false;
    for (let column = 0, at = row * columns; column < columns; column++, at++) {
      const value = values[at];
      if (!(value > 0 && value < Infinity) || column === node) continue;
      samples[column * capacity + counts[column]++] = value;
      found = true;
    }
    if (found) counted++;
  }
  const least = Math.max(MANY, MANY_SHARE * counted);
  const medians = Float64Array.from(counts, (count, column) => {
    const sorted = samples.subarray(column * capacity, column * capacity + count).sort();
    return count ? (sorted[(count - 1) >> 1] + sorted[count >> 1]) / 2 : 0;
  });
  return { medians, many: Array.from(counts, (count) => count >= least) };
}

/** @type {(block: Block, row: number) => number} */
const nodeOf = ({ nodes }, row) => (nodes ? nodes[row] : row);
