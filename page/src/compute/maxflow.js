/**
 * The maximum flow of one pair in a layered graph, with the minimum cut that proves it.
 *
 * Dinic's algorithm: levels by breadth-first search over edges with room, then paths level by level
 * until none is left. Capacities become whole numbers held in float64, at most 2^52 for what can
 * flow at all, so that sums are exact and flow and cut are equal or they are not.
 *
 * E. A. Dinic (1970), Soviet Math. Doklady 11.
 *
 * @typedef {{value: number, flows: Float64Array[], cut: Uint8Array[], cutValue: number}} PairFlow
 */

/**
 * Maximum flow from node `source` of the top layer to node `sink` of layer 0.
 *
 * @param {Float64Array[]} capacities one matrix (above, below) a layer, bottom first; Infinity: no bound
 * @param {number[]} sizes nodes of layers 0…d
 * @returns {PairFlow} flows like capacities; cut is 1 on the source's side, one array a layer 0…d
 */
export function maxFlow(capacities, sizes, source, sink) {
  const network = flowNetwork(capacities, sizes, source, sink);
  if (network === null) return unboundedFlow(capacities, sizes);
  while (levelled(network) && pushed(network));
  const cut = network.level.map((levels) => Uint8Array.from(levels, (level) => (level >= 0 ? 1 : 0)));
  const flows = network.flow.map((flow) => flow.map((units) => units * network.unit));
  const value = network.value * network.unit;
  return { value, flows, cut, cutValue: cutCapacity(capacities, sizes, cut) };
}

/** The value alone; done as soon as it is all that source or sink allow, which needs no cut. */
export function maxFlowValue(capacities, sizes, source, sink) {
  const network = flowNetwork(capacities, sizes, source, sink);
  if (network === null) return Infinity;
  while (network.value < network.most && levelled(network) && pushed(network));
  return network.value * network.unit;
}

/** The capacity of the edges that lead from the source's side to the other. */
function cutCapacity(capacities, sizes, cut) {
  let sum = 0;
  capacities.forEach((capacity, at) => {
    for (let above = 0; above < sizes[at + 1]; above++) {
      if (!cut[at + 1][above]) continue;
      for (let below = 0; below < sizes[at]; below++) {
        if (!cut[at][below]) sum += capacity[above * sizes[at] + below];
      }
    }
  });
  return sum;
}

/** Capacities in whole units, or null where edges without bound lead all the way. */
function flowNetwork(capacities, sizes, source, sink) {
  const top = sizes.length - 1;
  if (unboundedWay(capacities, sizes, source, sink)) return null;
  const giving = rowSum(capacities.at(-1), source, sizes[top - 1]);
  const taking = columnSum(capacities[0], sink, sizes[0]);
  let finite = 0;
  for (const layer of capacities) for (const c of layer) if (c < Infinity) finite += c;
  const bound = Math.min(giving, taking, finite) || 1;
  // No cut has an edge of more than the whole flow, so what is wider may be taken as twice that.
  const unit = 2 ** (Math.ceil(Math.log2(bound)) - 51);
  const most = 2 * bound;
  const room = capacities.map((layer) => layer.map((c) => Math.round(Math.min(c, most) / unit)));
  return {
    sizes,
    source,
    sink,
    top,
    unit,
    room,
    flow: room.map((layer) => new Float64Array(layer.length)),
    level: sizes.map((size) => new Int32Array(size)),
    next: sizes.map((size) => new Int32Array(size)),
    value: 0,
    most: Math.min(rowSum(room.at(-1), source, sizes[top - 1]), columnSum(room[0], sink, sizes[0])),
  };
}

function rowSum(matrix, row, columns) {
  return matrix.subarray(row * columns, (row + 1) * columns).reduce((sum, value) => sum + value, 0);
}

function columnSum(matrix, column, columns) {
  let sum = 0;
  for (let at = column; at < matrix.length; at += columns) sum += matrix[at];
  return sum;
}

/** Whether the sink is reached over edges without bound alone. */
function unboundedWay(capacities, sizes, source, sink) {
  let reached = new Set([source]);
  for (let at = sizes.length - 2; at >= 0; at--) {
    const below = new Set();
    for (const above of reached) {
      for (let k = 0; k < sizes[at]; k++) {
        if (capacities[at][above * sizes[at] + k] === Infinity) below.add(k);
      }
    }
    reached = below;
  }
  return reached.has(sink);
}

function unboundedFlow(capacities, sizes) {
  return {
    value: Infinity,
    flows: capacities.map((layer) => new Float64Array(layer.length)),
    cut: sizes.map((size) => new Uint8Array(size)),
    cutValue: Infinity,
  };
}

/** Number all nodes by their distance from the source over edges with room; −1: out of reach. */
function levelled({ sizes, source, sink, top, room, flow, level, next }) {
  for (const each of level) each.fill(-1);
  for (const each of next) each.fill(0);
  level[top][source] = 0;
  let front = [[top, source]];
  for (let distance = 1; front.length; distance++) {
    const reached = [];
    const reach = (layer, node) => {
      if (level[layer][node] >= 0) return;
      level[layer][node] = distance;
      reached.push([layer, node]);
    };
    for (const [layer, node] of front) {
      const below = layer > 0 ? sizes[layer - 1] : 0;
      for (let k = 0; k < below; k++) if (room[layer - 1][node * below + k] > 0) reach(layer - 1, k);
      // Only the source sends from the top, and it takes nothing back.
      if (layer >= top - 1) continue;
      for (let i = 0; i < sizes[layer + 1]; i++) if (flow[layer][i * sizes[layer] + node] > 0) reach(layer + 1, i);
    }
    front = reached;
  }
  return level[0][sink] >= 0;
}

/** Push along paths that go one level at a step until there is none; whether anything was pushed. */
function pushed(network) {
  const before = network.value;
  const layers = [network.top];
  const nodes = [network.source];
  while (layers.length) {
    const at = layers.length - 1;
    if (layers[at] === 0 && nodes[at] === network.sink) {
      const blocked = pushPath(network, layers, nodes);
      layers.length = nodes.length = blocked + 1;
    } else if (!stepOn(network, layers, nodes)) {
      // A dead end until the next search.
      network.level[layers[at]][nodes[at]] = -2;
      layers.pop();
      nodes.pop();
    }
  }
  return network.value > before;
}

/** Lengthen the path by an edge with room to the next level; false at a dead end. */
function stepOn({ sizes, top, room, flow, level, next }, layers, nodes) {
  const layer = layers[layers.length - 1];
  const node = nodes[nodes.length - 1];
  const wanted = level[layer][node] + 1;
  const below = layer > 0 ? sizes[layer - 1] : 0;
  const above = layer < top - 1 ? sizes[layer + 1] : 0;
  for (let edge = next[layer][node]; edge < below + above; edge++) {
    const down = edge < below;
    const [to, other] = down ? [layer - 1, edge] : [layer + 1, edge - below];
    if (level[to][other] !== wanted) continue;
    const units = down ? room[layer - 1][node * below + edge] : flow[layer][other * sizes[layer] + node];
    if (units <= 0) continue;
    next[layer][node] = edge;
    layers.push(to);
    nodes.push(other);
    return true;
  }
  next[layer][node] = below + above;
  return false;
}

/** Push as much as the path takes; the place of the node whose edge is full now. */
function pushPath(network, layers, nodes) {
  const { sizes, room, flow } = network;
  const edgeAt = (step) => {
    const down = layers[step + 1] < layers[step];
    const layer = down ? layers[step] : layers[step + 1];
    const [above, below] = down ? [nodes[step], nodes[step + 1]] : [nodes[step + 1], nodes[step]];
    return [down, layer - 1, above * sizes[layer - 1] + below];
  };
  let units = Infinity;
  let narrowest = 0;
  for (let step = 0; step < layers.length - 1; step++) {
    const [down, layer, edge] = edgeAt(step);
    const free = down ? room[layer][edge] : flow[layer][edge];
    if (free < units) [units, narrowest] = [free, step];
  }
  for (let step = 0; step < layers.length - 1; step++) {
    const [down, layer, edge] = edgeAt(step);
    room[layer][edge] -= down ? units : -units;
    flow[layer][edge] += down ? units : -units;
  }
  network.value += units;
  return narrowest;
}
