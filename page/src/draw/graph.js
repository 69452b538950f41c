/** The layered graph as a scene: edges, nodes, tokens colored by score. */

/** @import { Edge, Ends, Importance, Layout, LineMark, Mark } from "../types.js" */
/** @import { Color, Method, NodeRef, Scale, Scene, SolvedPair, Vector } from "../types.js" */

import { maxFinite } from "../compute/matrix.js";
import { importanceMarks, layerMarks, stickyNames, tokenLabels, tokensOf } from "./axes.js";
import { box, cellAlpha, dot, edgeStyle, line } from "./marks.js";

/** Width of a column below which nodes touch each other. */
const TOUCHING = 4;
/** Share of a picture that edges may cover, counted without overlap; chosen by eye. */
const COVERED = 1.2;
/** Edges to nodes whose edges would cover others; chosen by eye. */
const FAINT = { width: 0.6, alpha: 0.3 };
/** The smallest maximum flow, so that widths are not divided by zero; chosen: no score is as small. */
const NO_FLOW = 1e-300;
/** Half the length of the bar across a cut edge, radii of a halo and a ring in pixels; chosen by eye. */
const CUT_BAR = 5;
const CUT_WIDTH = 1.4;
const HALO = 5;
const RING = 6.5;
/** The minimum opacity of an edge with flow; chosen: it is visible below the cut. */
const FLOW_ALPHA = 0.25;

/**
 * @typedef {object} GraphContent
 * @property {Method} method whose color the edges have
 * @property {{ edges: Edge[], max: number, exceeds: boolean }} top the edges to draw
 * @property {Vector | null} scores of the tokens
 * @property {number} scale the end of the color scale of the scores
 * @property {boolean} strip whether tokens are, or will be, colored by score
 * @property {NodeRef} selected the node whose scores these are
 * @property {NodeRef | null} highlighted the node whose edges these are
 * @property {NodeRef | null} cursor
 * @property {number | null} sink the token of a pinned pair
 * @property {number | null} written the token that the selected position wrote
 * @property {SolvedPair | null} pair
 * @property {Importance[]} importance
 * @property {(layer: number) => number} size
 */

/** Return the scene, the scale of its edges, how opaque they are, and the edges of the cut.
 * @type {(layout: Layout, content: GraphContent) => Scale & { scene: Scene, ink: number, cutLines: Ends[] }} */
export function graphScene(layout, content) {
  const { pair, top, selected, highlighted, cursor, sink, written } = content;
  const ink = pair ? 1 : inkFor(layout, top);
  const max = pair ? Math.max(...pair.flows.map(maxFinite), NO_FLOW) : top.max;
  const cutLines = pair ? cutEdges(layout, content, pair) : [];
  const tokens = [sink, written].map((node) => (node === null ? null : { layer: 0, node }));
  const strong = tokensOf([highlighted, cursor, ...tokens]);
  const marks = [
    ...layerMarks(layout, selected.layer),
    ...(pair ? sourceSide(layout, pair) : []),
    ...(pair ? flowEdges(layout, content, pair, max) : plainEdges(layout, content, ink)),
    ...cutLines.flatMap((ends) => cutMarks(...ends)),
    ...nodeMarks(layout, content),
    ...(content.strip ? scoreStrip(layout, content) : []),
    ...tokenLabels(layout, strong, content.scores),
    ...importanceMarks(layout, content.importance),
  ];
  const names = stickyNames(layout, selected.layer);
  const exceeds = !pair && top.exceeds;
  return { scene: { width: layout.width, height: layout.height, marks, names }, max, exceeds, ink, cutLines };
}

/** @type {(layout: Layout, content: GraphContent, ink: number) => Mark[]} */
function plainEdges(layout, { top, method }, ink) {
  return top.edges.map((edge) => {
    const { width, alpha } = edgeStyle(edge.value / top.max, layout.column, ink);
    if (edge.faint) return line(...edgeEnds(layout, edge), "node", FAINT.width, { alpha: FAINT.alpha * ink });
    return line(...edgeEnds(layout, edge), method, width, { alpha });
  });
}

/** @type {(layout: Layout, edge: Edge) => [number, number, number, number]} */
function edgeEnds({ rows, x, y }, { block, above, below }) {
  // Of scores of some layers only, an edge ends at the next row that is shown.
  const to = rows.includes(block.to) ? block.to : rows[Math.max(0, rows.indexOf(block.from) - 1)];
  return [x(block.from, above), y(block.from), x(to, below), y(to)];
}

/** Return less than 1 if edges would cover more of the picture than `COVERED`.
 * @type {(layout: Layout, top: GraphContent["top"]) => number} */
function inkFor(layout, { edges, max }) {
  let ink = 0;
  for (const edge of edges) {
    const { width, alpha } = edge.faint ? FAINT : edgeStyle(edge.value / max, layout.column);
    const [x1, y1, x2, y2] = edgeEnds(layout, edge);
    ink += width * alpha * (Math.abs(x2 - x1) + Math.abs(y2 - y1));
  }
  return Math.min(1, (COVERED * layout.across * (layout.bottom - layout.top)) / (ink || 1));
}

/** Return the flow on every edge.
 * @type {(layout: Layout, content: GraphContent, pair: SolvedPair, max: number) => Mark[]} */
function flowEdges(layout, { method, size }, pair, max) {
  /** @type {{ units: number, mark: LineMark }[]} */
  const flowing = [];
  pair.flows.forEach((flow, at) => {
    flow.forEach((units, edge) => {
      if (units <= 0) return;
      const { width, alpha } = edgeStyle(units / max, layout.column);
      const ends = layerEdge(layout, at, size(at), edge);
      flowing.push({ units, mark: line(...ends, method, width, { alpha: Math.max(FLOW_ALPHA, alpha) }) });
    });
  });
  return flowing.sort((a, b) => a.units - b.units).map(({ mark }) => mark);
}

/** Return the edges of the cut. @type {(layout: Layout, content: GraphContent, pair: SolvedPair) => Ends[]} */
function cutEdges(layout, { size }, { cut, capacities }) {
  return capacities.flatMap((capacity, at) => {
    const below = size(at);
    /** @type {Ends[]} */
    const found = [];
    capacity.forEach((weight, edge) => {
      if (weight > 0 && cut[at + 1][Math.floor(edge / below)] && !cut[at][edge % below])
        found.push(layerEdge(layout, at, below, edge));
    });
    return found;
  });
}

/** Return the ends of an edge of the matrix between layer `at` and the one above.
 * @type {(layout: Layout, at: number, below: number, edge: number) => Ends} */
function layerEdge({ x, y }, at, below, edge) {
  return [x(at + 1, Math.floor(edge / below)), y(at + 1), x(at, edge % below), y(at)];
}

/** Return a cut edge: dashed, with a bar across.
 * @type {(x1: number, y1: number, x2: number, y2: number) => Mark[]} */
function cutMarks(x1, y1, x2, y2) {
  const [x, y] = [(x1 + x2) / 2, (y1 + y2) / 2];
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const [across, along] = [(CUT_BAR * (y2 - y1)) / length, (CUT_BAR * (x1 - x2)) / length];
  return [
    line(x1, y1, x2, y2, "cut", CUT_WIDTH, { alpha: 0.8, dash: 4 }),
    line(x - across, y - along, x + across, y + along, "cut", 2),
  ];
}

/** Return a halo around each node on the source's side of the cut, except tokens.
 * @type {(layout: Layout, pair: SolvedPair) => Mark[]} */
function sourceSide(layout, { cut }) {
  return cut.flatMap((side, layer) =>
    [...side.keys()]
      .filter((node) => layer && side[node])
      .map((node) => dot(layout.x(layer, node), layout.y(layer), layout.radius + HALO, "ink", { alpha: 0.2 })),
  );
}

/** @type {(layout: Layout, content: GraphContent) => Mark[]} */
function nodeMarks(layout, { top, highlighted, cursor, selected, sink, pair, method, size }) {
  const touched = highlighted && !pair ? endNodes(top.edges) : new Map();
  /** @type {Mark[]} */
  const marks = [];
  for (const layer of layout.rows) {
    /** @type {Set<number>} */
    const strong = touched.get(layer) ?? new Set();
    const y = layout.y(layer);
    // Nodes that would touch each other are one line, and only highlighted ones are drawn.
    const close = layout.column < TOUCHING;
    if (close) marks.push(line(layout.left, y, layout.left + layout.across, y, "line", 2 * layout.radius));
    for (const node of close ? strong : Array(size(layer)).keys())
      marks.push(dot(layout.x(layer, node), y, layout.radius, strong.has(node) ? method : "node"));
  }
  /** @type {(at: NodeRef, color: Color, hollow?: number) => void} */
  const ring = (at, color, hollow) => {
    if (!layout.rows.includes(at.layer) || at.node >= size(at.layer)) return;
    const radius = Math.max(RING, layout.radius + 2.5);
    marks.push(dot(layout.x(at.layer, at.node), layout.y(at.layer), radius, color, { hollow }));
  };
  ring(selected, "ink", 1.5);
  for (const at of [highlighted, sink !== null && pair ? { layer: 0, node: sink } : null]) {
    if (!at) continue;
    ring(at, method);
    ring(at, "ink", 1.5);
  }
  if (cursor) ring(cursor, "accent", 3);
  return marks;
}

/** Return layer → nodes where edges begin or end. @param {Edge[]} edges */
function endNodes(edges) {
  /** @type {Map<number, Set<number>>} */
  const nodes = new Map();
  /** @type {(layer: number, node: number) => void} */
  const add = (layer, node) => {
    const known = nodes.get(layer);
    if (known) known.add(node);
    else nodes.set(layer, new Set([node]));
  };
  for (const { block, above, below } of edges) {
    add(block.from, above);
    add(block.to, below);
  }
  return nodes;
}

/** Return a cell for each token, more opaque for a higher score.
 * @type {(layout: Layout, content: GraphContent) => Mark[]} */
function scoreStrip({ left, strip, across, stripHeight }, { scores, scale, method }) {
  const frame = box(left, strip, across, stripHeight, "line", { hollow: 1, corner: 3 });
  if (!scores) return [frame];
  const column = across / scores.length;
  const cells = Array.from(scores, (score, at) => {
    const alpha = cellAlpha(score / scale);
    return alpha > 0 ? [box(left + at * column, strip, column, stripHeight, method, { alpha })] : [];
  });
  return [...cells.flat(), frame];
}
