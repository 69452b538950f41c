/**
 * The strongest edges of a picture, found without sorting millions of them.
 *
 * @typedef {{from: number, to: number, columns: number, values: Float32Array, nodes?: number[],
 *   firstColumn?: number, sums?: Float64Array, count?: (pieces?: number[][]) => number}} Block edges from
 *   nodes of one layer to nodes of another, row after row; `nodes` are the nodes of the rows where they
 *   are not 0, 1, …; where the block has not all edges, `sums` are the weights of all rows, and `count`
 *   tells the number of edges with a weight
 * @typedef {{block: Block, above: number, below: number, value: number}} Edge
 */

/** Values that the histogram looks at; of more, a share spread over all. Chosen: some 3 ms. */
const LOOKED_AT = 262144;

/**
 * About the `limit` strongest edges, weakest first; those under `floor` times the strongest are left out.
 *
 * @param {Block[]} blocks
 * @returns {{edges: Edge[], most: number, left: number, leftShare: number}} `left` edges with a weight
 *   are not among them, and carry `leftShare` of it all
 */
export function strongestEdges(blocks, limit, floor = 0) {
  const { least, sure, every } = thresholds(blocks, limit);
  const edges = [];
  let [total, count, seen] = [0, 0, 0];
  for (const block of blocks) {
    const { values, columns } = block;
    let [weight, some] = [0, 0];
    for (let at = 0; at < values.length; at++) {
      const value = values[at];
      if (!(value > 0)) continue;
      some++;
      if (value < Infinity) weight += value;
      if (value < least || (value < sure && seen++ % every)) continue;
      edges.push({ block, above: Math.floor(at / columns), below: at % columns, value });
    }
    total += block.sums ? block.sums.reduce((sum, value) => sum + value, 0) : weight;
    count += block.count ? block.count() : some;
  }
  return weighed(edges, total, count, floor);
}

/**
 * Where to cut: positive floats sort like the whole numbers that their bits are, so a histogram over
 * the upper 16 bits tells. Where most are about equal, one in `every` from `least` up to `sure` is drawn.
 */
function thresholds(blocks, limit) {
  const size = blocks.reduce((sum, { values }) => sum + values.length, 0);
  const stride = Math.ceil(size / LOOKED_AT);
  const histogram = new Uint32Array(65536);
  for (const { values } of blocks) {
    const patterns = new Uint32Array(values.buffer, values.byteOffset, values.length);
    // Odd steps, so that all columns are looked at.
    for (let at = 0; at < patterns.length; at += stride | 1) histogram[patterns[at] >>> 16]++;
  }
  // Edges without weight do not count.
  histogram[0] = 0;
  const wanted = limit / (stride | 1);
  let [bucket, kept] = [65536, 0];
  while (bucket > 0 && kept + histogram[bucket - 1] <= wanted) kept += histogram[--bucket];
  const sure = floatOf(bucket);
  if (bucket === 0 || kept >= wanted / 2) return { least: sure, sure, every: 1 };
  return { least: floatOf(bucket - 1), sure, every: Math.ceil(histogram[bucket - 1] / (wanted - kept)) };
}

/** The number whose upper 16 bits are these, and the others zero. */
function floatOf(bits) {
  return bits > 65535 ? Infinity : new Float32Array(new Uint32Array([bits << 16]).buffer)[0];
}

function weighed(found, total, count, floor) {
  const most = found.reduce((max, { value }) => (value > max && value < Infinity ? value : max), 0) || 1;
  const edges = found.filter(({ value }) => value >= floor * most).sort((a, b) => a.value - b.value);
  let [sum, finite] = [0, 0];
  for (const edge of edges) {
    const { nodes, firstColumn = 0 } = edge.block;
    if (nodes) edge.above = nodes[edge.above];
    edge.below += firstColumn;
    if (edge.value < Infinity) sum += edge.value;
    finite++;
  }
  return { edges, most, left: Math.max(0, count - finite), leftShare: total > 0 ? Math.max(0, 1 - sum / total) : 0 };
}
