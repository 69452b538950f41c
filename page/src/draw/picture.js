/** From the focus to a picture: the scene of one method and the notes under it. */

/** @import { Block, Edge, Focus, Importance, Layout, Method, NodeRef } from "../types.js" */
/** @import { PageData, Picture, SolvedPair, State, TopEdges, Vector } from "../types.js" */

import { setBounded } from "../compute/cache.js";
import { nodeEdges } from "../compute/highlight.js";
import { mergeRow, normalizedRow, normalizeRows, sumOf } from "../compute/matrix.js";
import { topEdges } from "../compute/top-edges.js";
import { graphScene } from "./graph.js";
import { heatmapScene } from "./heatmap.js";
import { panelLayout } from "./layout.js";
import { omittedNotes, otherNodesNote, pairNotes, saturationNotes } from "./notes.js";

/** Edges of a panel; chosen: as many as can be distinguished, and as a frame has time to draw. */
const MAX_EDGES = 2500;
/** Share of the strongest edge below which an edge is invisible; chosen by eye. */
const FAINTEST = 0.004;
/** Cached overviews; chosen: what a person goes back and forth between. */
const CACHED_OVERVIEWS = 20;

/** Flow is up to one for every token: edges as strong as that would cover the picture. */
const SHARES_NOTE = "Edges are drawn as shares of the sum of each position.";

/** @typedef {TopEdges & { missing: number, notes: string[] }} OverviewEdges */

/** @type {(method: Method, state: State) => boolean} */
const drawsShares = (method, state) => state.normal || method === "flow";

/** Return what the numbers of the edges are, for the legend.
 * @type {(method: Method, state: State, highlighted: NodeRef | null, pair: SolvedPair | null) => string} */
function edgeUnit(method, state, highlighted, pair) {
  if (pair) return "flow on the edge";
  if (!highlighted && drawsShares(method, state)) return "share of the row sum";
  if (method === "raw") return "weight";
  if (method === "rollout") return highlighted ? "contribution" : "score";
  return state.normal && highlighted?.layer ? "share of the row sum" : "flow to the token";
}

export class Pictures {
  /** @param {PageData} data @param {import("../compute/scores.js").Scores} scores */
  constructor(data, scores) {
    this.data = data;
    this.scores = scores;
    /** @type {Map<string, OverviewEdges>} */
    this.overviews = new Map();
    this.floor = (scores.edges?.count ?? 0) > MAX_EDGES ? FAINTEST : 0;
  }

  /** Forget overviews that lack something: more is known now. */
  dropIncomplete() {
    for (const [key, { missing }] of this.overviews) if (missing) this.overviews.delete(key);
  }

  /** Return the scores of a node, normalized if requested; null if they are unknown.
   * @type {(method: Method, at: NodeRef, focus: Focus) => Vector | null} */
  row(method, { layer, node }, { level, state }) {
    const rows = level
      .positions(node)
      .map((position) => this.scores.row(method, layer, position, state))
      .filter((row) => row !== null);
    if (!rows.length) return null;
    const mean = rows.length === 1 ? rows[0] : rows[0].map((_, at) => sumOf(rows.map((row) => row[at])) / rows.length);
    const merged = level.pieces ? mergeRow(mean, level.pieces) : mean;
    return state.normal ? normalizedRow(merged) : merged;
  }

  /** The same, null where the scores are not for the tokens.
   * @type {(method: Method, at: NodeRef, focus: Focus) => Vector | null} */
  tokenRow(method, at, focus) {
    const row = this.row(method, at, focus);
    return row?.length === focus.level.size(0) ? row : null;
  }

  /** Return the importance of the nodes; of a word, the sum over its pieces.
   * @type {(level: Focus["level"]) => Importance[]} */
  importance({ pieces }) {
    return this.data.importance.map(({ method, values }) => ({
      method,
      values: pieces ? mergeRow(values, pieces) : Float64Array.from(values),
    }));
  }

  /** Return the picture of one method. @type {(method: Method, width: number, focus: Focus) => Picture} */
  create(method, width, focus) {
    return focus.state.view === "heatmap" ? this.heatmap(method, width, focus) : this.graph(method, width, focus);
  }

  /** @type {(width: number, focus: Focus) => Layout} */
  layout(width, { level, state }) {
    const cells = state.view === "heatmap";
    return panelLayout({
      width,
      cells,
      rows: cells ? this.scores.layers : [0, ...this.scores.layers],
      size: (layer) => level.size(layer),
      names: level.names(0),
      tracks: this.data.importance.length,
      zoom: state.zoom,
    });
  }

  /** @type {(method: Method, width: number, focus: Focus) => Picture} */
  heatmap(method, width, focus) {
    const { level, state, hover } = focus;
    const layout = this.layout(width, focus);
    const { node } = focus.selected;
    const rows = this.scores.layers.map((layer) =>
      node < level.size(layer) ? this.tokenRow(method, { layer, node }, focus) : null,
    );
    const importance = this.importance(level);
    const { scene, max } = heatmapScene(layout, { method, rows, selected: state.layer, hover, importance });
    return { scene, layout, notes: this.saturationNotes(method, focus), max, ink: 1, unit: "" };
  }

  /** @type {(method: Method, width: number, focus: Focus) => Picture} */
  graph(method, width, focus) {
    const { level, state, highlighted, queryNode, selected, cursor } = focus;
    const layout = this.layout(width, focus);
    const pair = method === "flow" ? this.pair(focus) : null;
    const top = highlighted ? this.nodeEdges(method, focus, highlighted) : this.overview(method, focus);
    const scores = this.row(method, queryNode, focus);
    const toTokens = scores?.length === level.size(0);
    const { scene, max, ink } = graphScene(layout, {
      method,
      top,
      highlighted,
      pair,
      selected,
      cursor,
      scores: toTokens ? scores : null,
      strip: toTokens || !scores,
      sink: state.sink === null ? null : level.nodeOf(state.sink),
      importance: this.importance(level),
      size: (layer) => level.size(layer),
    });
    const notes = [
      ...(pair ? [] : top.notes),
      ...(method === "flow" ? pairNotes(pair, focus, this.scores.solver !== null) : []),
      ...this.saturationNotes(method, focus),
    ];
    if (!scores) notes.unshift(this.scores.reason(method, queryNode.layer, state));
    else if (!toTokens) notes.unshift(otherNodesNote(queryNode.layer));
    return { scene, layout, notes, max, ink, unit: edgeUnit(method, state, highlighted, pair) };
  }

  /** Return the strongest edges of all positions, cached until something changes.
   * @type {(method: Method, focus: Focus) => OverviewEdges} */
  overview(method, { level, state }) {
    const key = [method, state.head, state.residual, state.normal, state.words].join(" ");
    const cached = this.overviews.get(key);
    if (cached) return cached;
    const { blocks, missing, pending } = this.scores.overview(method, state);
    const merged = blocks.filter(({ values }) => values.length).map((block) => level.block(block));
    const shares = drawsShares(method, state);
    const top = topEdges(shares ? merged.map(normalizedBlock) : merged, MAX_EDGES, this.floor);
    const status = missing ? [this.missingNote(method, blocks.length, pending)] : this.partialNotes(method, state);
    const notes = [...status, ...omittedNotes(top), ...(shares && !state.normal ? [SHARES_NOTE] : [])];
    return setBounded(this.overviews, key, { ...top, missing, notes }, CACHED_OVERVIEWS);
  }

  /** @type {(method: Method, done: number, pending: boolean) => string} */
  missingNote(method, done, pending) {
    if (!pending) return "Only solved positions are drawn. Hover over a node to solve its position.";
    return method === "rollout" ? `Computing layer ${done + 1} of ${this.scores.layers.length}…` : "Solving…";
  }

  /** Return which positions an overview shows, if these are not all and others cannot be solved here.
   * @type {(method: Method, state: State) => string[]} */
  partialNotes(method, state) {
    const stored = this.scores.stored.get(method);
    if (!stored || this.scores.computes(method) || this.scores.solver?.canSolveRows) return [];
    const partial = stored.queries.length < Math.max(...this.data.sizes.slice(1));
    return partial ? [this.scores.reason(method, state.layer, state)] : [];
  }

  /** @type {(method: Method, focus: Focus, at: NodeRef) => { edges: Edge[], max: number, notes: string[] }} */
  nodeEdges(method, { level, state }, at) {
    const blocks = nodeEdges(this.scores, method, level, at, state.layer, state, this.floor);
    if (!blocks) return { edges: [], max: 1, notes: [] };
    const shares = !this.scores.computes(method) && at.layer > 0 && state.normal;
    const top = topEdges(shares ? blocks.map(normalizedBlock) : blocks, MAX_EDGES, this.floor);
    return { ...top, notes: omittedNotes(top) };
  }

  /** Return flow and cut of the pinned pair, if there is one between tokens.
   * @type {(focus: Focus) => SolvedPair | null} */
  pair({ state, level }) {
    if (!state.pin || state.sink === null || level.pieces || !this.scores.solver) return null;
    return this.scores.solver.pair(state.pin.layer, state.pin.position, state.sink, state);
  }

  /** @type {(method: Method, focus: Focus) => string[]} */
  saturationNotes(method, { state, queryNode }) {
    return method === "flow" ? saturationNotes(this.scores.saturation(queryNode.layer, state), queryNode.layer) : [];
  }
}

/** Return a block whose rows sum to one. @type {(block: Block) => Block} */
function normalizedBlock(block) {
  const values = block.values.slice();
  normalizeRows(values, block.columns);
  return { ...block, values };
}
