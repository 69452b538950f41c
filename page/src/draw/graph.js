/** The layered graph as a scene: edges, nodes, the tokens coloured by score. */

import { box, cellAlpha, dot, edgeLook, line } from "./marks.js";
import { largest } from "../compute/matrix.js";
import { importanceMarks, layerMarks, stuckNames, tokenLabels } from "./axes.js";

/** Pixels of a column under which nodes touch each other. */
const TOUCHING = 4;
/** Share of a picture that edges may cover, counted as if they did not lie over each other; chosen by eye. */
const COVERED = 1.2;
/** A flow that counts as none: where nothing runs, widths are not divided by zero. Chosen: no score is as small. */
const NO_FLOW = 1e-300;
/** Pixels that the bar across a cut edge reaches to each side, and those of a halo and a ring; chosen by eye. */
const CUT_BAR = 5;
const HALO = 5;
const RING = 6.5;
/** How opaque an edge with flow is at least; chosen: it is seen under the cut. */
const FLOWING = 0.25;

/**
 * @param {object} layout of `panelLayout`
 * @param {object} seen
 * @param {string} seen.method whose colour it has
 * @param {{edges: import("../compute/top-edges.js").Edge[], most: number}} seen.picked
 * @param {Float64Array | null} seen.scores of the tokens
 * @param {boolean} seen.strip whether there are, or will be, scores to colour the tokens by
 * @param {{layer: number, node: number}} seen.selected the node whose scores those are
 * @param {{layer: number, node: number} | null} seen.lit the node that edges lead from and to
 * @param {{layer: number, node: number} | null} seen.cursor of the keyboard
 * @param {number | null} seen.sink the token of a pinned pair
 * @param {object | null} seen.pair flow and cut of it
 * @param {{method: string, values: Float64Array}[]} seen.importance
 * @param {(layer: number) => number} seen.size
 * @returns {import("./marks.js").Scene}
 */
export function graphScene(layout, seen) {
  const ink = seen.pair ? 1 : inkFor(layout, seen.picked);
  const most = seen.pair ? Math.max(...seen.pair.flows.map(largest), NO_FLOW) : seen.picked.most;
  const edges = seen.pair ? pairEdges(layout, seen, most) : plainEdges(layout, seen, ink);
  const marks = [
    ...layerMarks(layout, seen.selected.layer),
    ...(seen.pair ? sourceSide(layout, seen.pair) : []),
    ...edges,
    ...nodes(layout, seen),
    ...(seen.strip ? strip(layout, seen) : []),
    ...tokenLabels(layout, strongTokens(seen)),
    ...importanceMarks(layout, seen.importance),
  ];
  const names = stuckNames(layout, seen.selected.layer);
  return { width: layout.width, height: layout.height, marks, ink, most, names };
}

function plainEdges(layout, { picked, method }, ink) {
  return picked.edges.map((edge) => {
    const { width, alpha } = edgeLook(edge.value / picked.most, layout.column, ink);
    return line(...edgeEnds(layout, edge), method, width, { alpha });
  });
}

function edgeEnds(layout, { block, above, below }) {
  const to = layout.rows.includes(block.to) ? block.to : rowBelow(layout, block.from);
  return [layout.x(block.from, above), layout.y(block.from), layout.x(to, below), layout.y(to)];
}

/** Less than 1 where edges would cover more of the picture than `COVERED` and hide each other. */
function inkFor(layout, { edges, most }) {
  let ink = 0;
  for (const edge of edges) {
    const { width, alpha } = edgeLook(edge.value / most, layout.column);
    const [x1, y1, x2, y2] = edgeEnds(layout, edge);
    ink += width * alpha * (Math.abs(x2 - x1) + Math.abs(y2 - y1));
  }
  return Math.min(1, (COVERED * layout.across * (layout.bottom - layout.top)) / (ink || 1));
}

/** Scores of some layers alone: an edge ends at the next row that is shown. */
function rowBelow(layout, layer) {
  return layout.rows[Math.max(0, layout.rows.indexOf(layer) - 1)];
}

/** The flow over every edge, and over it the edges of the cut: dashed, with a bar across. */
function pairEdges(layout, { pair, method, size }, most) {
  const flowing = [];
  const cutting = [];
  pair.flows.forEach((flow, at) => {
    const below = size(at);
    flow.forEach((units, edge) => {
      const [i, k] = [Math.floor(edge / below), edge % below];
      const ends = [layout.x(at + 1, i), layout.y(at + 1), layout.x(at, k), layout.y(at)];
      const cut = pair.cut[at + 1][i] && !pair.cut[at][k] && pair.capacities[at][edge] > 0;
      if (units <= 0 && !cut) return;
      const look = edgeLook(units / most, layout.column);
      if (units > 0)
        flowing.push({
          units,
          mark: line(...ends, method, look.width, { alpha: Math.max(FLOWING, look.alpha) }),
        });
      if (cut) cutting.push(...cutMarks(ends, look.width));
    });
  });
  flowing.sort((a, b) => a.units - b.units);
  return [...flowing.map(({ mark }) => mark), ...cutting];
}

function cutMarks([x1, y1, x2, y2], width) {
  const [x, y] = [(x1 + x2) / 2, (y1 + y2) / 2];
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const [across, along] = [(CUT_BAR * (y2 - y1)) / length, (CUT_BAR * (x1 - x2)) / length];
  return [
    line(x1, y1, x2, y2, "cut", Math.max(1, width / 2), { alpha: 0.8, dash: 4 }),
    line(x - across, y - along, x + across, y + along, "cut", 2),
  ];
}

/** A halo around each node on the source's side of the cut; of the input only the sink matters. */
function sourceSide(layout, { cut }) {
  return cut.flatMap((side, layer) =>
    Array.from(side.keys())
      .filter((node) => layer && side[node])
      .map((node) => dot(layout.x(layer, node), layout.y(layer), layout.radius + HALO, "ink", { alpha: 0.2 })),
  );
}

function nodes(layout, { picked, lit, cursor, selected, sink, pair, method, size }) {
  const touched = lit && !pair ? touchedNodes(picked.edges) : new Map();
  const marks = [];
  for (const layer of layout.rows) {
    const strong = touched.get(layer) ?? new Set();
    const y = layout.y(layer);
    // Nodes that would touch each other are a line, and only those that are lit up are drawn.
    const close = layout.column < TOUCHING;
    if (close) marks.push(line(layout.left, y, layout.left + layout.across, y, "line", 2 * layout.radius));
    const drawn = close ? strong : Array(size(layer)).keys();
    for (const node of drawn)
      marks.push(dot(layout.x(layer, node), y, layout.radius, strong.has(node) ? method : "node"));
  }
  const ring = (at, colour, more) => {
    if (!layout.rows.includes(at.layer) || at.node >= size(at.layer)) return;
    marks.push(dot(layout.x(at.layer, at.node), layout.y(at.layer), Math.max(RING, layout.radius + 2.5), colour, more));
  };
  ring(selected, "ink", { hollow: 1.5 });
  if (lit) {
    ring(lit, method);
    ring(lit, "ink", { hollow: 1.5 });
  }
  if (sink !== null && pair) {
    ring({ layer: 0, node: sink }, method);
    ring({ layer: 0, node: sink }, "ink", { hollow: 1.5 });
  }
  if (cursor) ring(cursor, "accent", { hollow: 3 });
  return marks;
}

/** Layer → nodes that edges lead from or to. */
function touchedNodes(edges) {
  const touched = new Map();
  const touch = (layer, node) => {
    if (!touched.has(layer)) touched.set(layer, new Set());
    touched.get(layer).add(node);
  };
  for (const { block, above, below } of edges) {
    touch(block.from, above);
    touch(block.to, below);
  }
  return touched;
}

/** A cell under each token, the more opaque the higher its score. */
function strip(layout, { scores, method }) {
  const frame = box(layout.left, layout.strip, layout.across, layout.stripHeight, "line", { hollow: 1, corner: 3 });
  if (!scores) return [frame];
  const most = largest(scores) || 1;
  const column = layout.across / scores.length;
  const cells = Array.from(scores, (score, at) =>
    box(layout.left + at * column, layout.strip, column, layout.stripHeight, method, {
      alpha: cellAlpha(score / most),
    }),
  );
  return [...cells.filter(({ alpha }) => alpha > 0), frame];
}

/** The token that is looked at, so that its label stands out. */
function strongTokens({ lit, cursor, sink }) {
  const strong = new Set();
  for (const at of [lit, cursor]) if (at?.layer === 0) strong.add(at.node);
  if (sink !== null) strong.add(sink);
  return strong;
}
