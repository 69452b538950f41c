/** From the focus to a picture: the scene of one method and the notes under it. */

/** @import { Block, Edge, Focus, Importance, Layout, Method, NodeLayout, NodeRef } from "../types.js" */
/** @import { PageData, Picture, Scale, SolvedPair, State, TopEdges, Vector } from "../types.js" */

import { setBounded, settingsKey } from "../compute/cache.js";
import { nodeEdges } from "../compute/highlight.js";
import { mergeRow, normalizedRow, normalizeRows, sumOf } from "../compute/matrix.js";
import { robustMax } from "../compute/scale.js";
import { topEdges } from "../compute/top-edges.js";
import { graphScene } from "./graph.js";
import { gridLayout, gridScene } from "./grid.js";
import { heatmapScene } from "./heatmap.js";
import { panelLayout } from "./layout.js";
import { fanNotes, flatNote, omittedNotes, otherNodesNote, pairNotes, saturationNotes } from "./notes.js";

/** Edges of a panel; chosen: as many as can be distinguished, and as a frame has time to draw. */
const MAX_EDGES = 2500;
/** Share of the strongest edge below which an edge is invisible; chosen by eye. */
const FAINTEST = 0.004;
/** Cached overviews; chosen: what a person goes back and forth between. */
const CACHED_OVERVIEWS = 20;

/** Flow is up to one for every token: edges as strong as that would cover the picture. */
const SHARES_NOTE = "Edges are drawn as shares of the sum of each position.";
const FIELD_NOTES = {
  above: "Edges above the position are drawn without the correction for the receptive field.",
  pair: "Flow and cut of a pair are without the correction for the receptive field.",
};

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
  if (state.normal && highlighted?.layer) return "share of the row sum";
  return state.field ? "corrected flow to the token" : "flow to the token";
}

/** Return which edges are not corrected for the receptive field.
 * @type {(method: Method, state: State, highlighted: NodeRef | null, pair: SolvedPair | null) => string[]} */
function fieldNotes(method, state, highlighted, pair) {
  if (!state.field) return [];
  if (pair) return [FIELD_NOTES.pair];
  return method === "rollout" && highlighted ? [FIELD_NOTES.above] : [];
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
      .map((position) =>
        state.field
          ? this.scores.correctedRow(method, layer, position, state)
          : this.scores.row(method, layer, position, state),
      )
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

  /** Return the nodes that do not count for a color scale: the node's own token and attention sinks.
   * @type {(node: number, focus: Focus) => Set<number>} */
  skipped(node, { level }) {
    const own = this.data.names ? [] : [node];
    return new Set([...own, ...this.data.sinks.map((position) => level.nodeOf(position))]);
  }

  /** Return the color scale of scores of a node. @type {(scores: Vector | null, node: number, focus: Focus) => Scale} */
  scale(scores, node, focus) {
    return robustMax(scores ? [scores] : [], this.skipped(node, focus));
  }

  /** Return which edges do not count for the scale: a node's to itself, and those to sinks.
   * @type {(focus: Focus) => import("../compute/scale.js").Skipped} */
  skippedEdges({ level }) {
    return { own: !this.data.names, sinks: new Set(this.data.sinks.map((position) => level.nodeOf(position))) };
  }

  /** Return the picture of one method. @type {(method: Method, width: number, focus: Focus) => Picture} */
  create(method, width, focus) {
    const { view } = focus.state;
    if (view === "grid") return this.grid(method, width, focus);
    return view === "heatmap" ? this.heatmap(method, width, focus) : this.graph(method, width, focus);
  }

  /** Return the space that a picture takes. @type {(width: number, focus: Focus) => NodeLayout} */
  size(width, focus) {
    return focus.state.view === "grid" ? this.gridLayout(width) : this.layout(width, focus);
  }

  /** @param {number} width */
  gridLayout(width) {
    return gridLayout(width, /** @type {NonNullable<PageData["grid"]>} */ (this.data.grid), this.data.tokens);
  }

  /** @type {(method: Method, width: number, focus: Focus) => Picture} */
  grid(method, width, focus) {
    const { selected, hover, state } = focus;
    const layout = this.gridLayout(width);
    const scores = this.tokenRow(method, selected, focus);
    const { max, exceeds } = this.scale(scores, selected.node, focus);
    const content = { method, scores, max, selected: selected.node, hover: hover?.node ?? null };
    const missing = scores ? [] : [this.scores.reason(method, selected.layer, state)];
    const notes = [...missing, ...this.flowNotes(method, focus)];
    return { scene: gridScene(layout, content), layout, notes, max, exceeds, ink: 1, unit: "", cutLines: [] };
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
      generated: level.generated,
      layerNames: this.data.layer_names,
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
    const missing = this.scores.missing(method);
    const skipped = this.skipped(node, focus);
    const written = writtenNode(focus);
    const content = { method, rows, selected: state.layer, skipped, missing, hover, written, importance };
    const { scene, max, exceeds } = heatmapScene(layout, content);
    return { scene, layout, notes: this.flowNotes(method, focus), max, exceeds, ink: 1, unit: "", cutLines: [] };
  }

  /** @type {(method: Method, width: number, focus: Focus) => Picture} */
  graph(method, width, focus) {
    const { level, state, highlighted, queryNode, selected, cursor } = focus;
    const layout = this.layout(width, focus);
    const pair = method === "flow" ? this.pair(focus) : null;
    const top = highlighted ? this.nodeEdges(method, focus, highlighted) : this.overview(method, focus);
    const scores = this.row(method, queryNode, focus);
    const toTokens = scores?.length === level.size(0);
    const { scene, max, exceeds, ink, cutLines } = graphScene(layout, {
      method,
      top,
      scale: this.scale(scores, queryNode.node, focus).max,
      highlighted,
      pair,
      selected,
      cursor,
      scores: toTokens ? scores : null,
      strip: toTokens || !scores,
      sink: state.sink === null ? null : level.nodeOf(state.sink),
      written: writtenNode(focus),
      importance: this.importance(level),
      size: (layer) => level.size(layer),
    });
    const notes = [
      ...(pair ? [] : top.notes),
      ...(method === "flow" ? pairNotes(pair, focus, this.scores.solver !== null) : []),
      ...this.flowNotes(method, focus),
      ...fieldNotes(method, state, highlighted, pair),
    ];
    if (!scores) notes.unshift(this.scores.reason(method, queryNode.layer, state));
    else if (!toTokens) notes.unshift(otherNodesNote(queryNode.layer));
    return { scene, layout, notes, max, exceeds, ink, cutLines, unit: edgeUnit(method, state, highlighted, pair) };
  }

  /** Return the strongest edges of all positions, cached until something changes.
   * @type {(method: Method, focus: Focus) => OverviewEdges} */
  overview(method, focus) {
    const { level, state } = focus;
    const key = [method, settingsKey(state), state.normal, state.field, state.words].join(" ");
    const cached = this.overviews.get(key);
    if (cached) return cached;
    const { blocks, missing, pending } = this.scores.overview(method, state, state.field);
    const merged = blocks.filter(({ values }) => values.length).map((block) => level.block(block));
    const shares = drawsShares(method, state);
    const drawn = shares ? merged.map(normalizedBlock) : merged;
    const top = topEdges(drawn, MAX_EDGES, this.floor, this.skippedEdges(focus), true);
    const status = missing ? [this.missingNote(method, blocks.length, pending)] : this.partialNotes(method, state);
    const notes = [
      ...status,
      ...fanNotes(top, level),
      ...omittedNotes(top),
      ...(shares && !state.normal && !state.field ? [SHARES_NOTE] : []),
    ];
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
    if (!stored || this.scores.computes(method) || this.scores.solver?.canSolve) return [];
    const partial = stored.queries.length < Math.max(...this.data.sizes.slice(1));
    return partial ? [this.scores.reason(method, state.layer, state)] : [];
  }

  /** @type {(method: Method, focus: Focus, at: NodeRef) =>
   *   { edges: Edge[], max: number, exceeds: boolean, notes: string[] }} */
  nodeEdges(method, focus, at) {
    const { level, state } = focus;
    const blocks = nodeEdges(this.scores, method, level, at, state.layer, state, this.floor, state.field);
    if (!blocks) return { edges: [], max: 1, exceeds: false, notes: [] };
    const shares = !this.scores.computes(method) && at.layer > 0 && state.normal;
    const normal = shares ? blocks.map(normalizedBlock) : blocks;
    const top = topEdges(normal, MAX_EDGES, this.floor, this.skippedEdges(focus));
    return { ...top, notes: omittedNotes(top) };
  }

  /** Return flow and cut of the pinned pair, if there is one between tokens.
   * @type {(focus: Focus) => SolvedPair | null} */
  pair({ state, level }) {
    if (!state.pin || state.sink === null || level.pieces || !this.scores.solver) return null;
    return this.scores.solver.pair(state.pin.layer, state.pin.position, state.sink, state);
  }

  /** Return notes about saturated or flat flow. @type {(method: Method, focus: Focus) => string[]} */
  flowNotes(method, { state, level, queryNode: { layer, node } }) {
    if (method !== "flow") return [];
    const kinds = level.positions(node).map((position) => this.scores.saturation(layer, position, state));
    const saturated = kinds.includes("") ? [] : saturationNotes(kinds[0], layer);
    const isFlat = level.positions(node).every((position) => this.scores.isFlat(layer, position, state));
    return saturated.length || !isFlat ? saturated : [flatNote(layer)];
  }
}

/** Return the token that the query node wrote, or null. @type {(focus: Focus) => number | null} */
export function writtenNode({ level, queryNode }) {
  const written = level.written(queryNode.node);
  return written === null ? null : level.nodeOf(written);
}

/** Return a block whose rows sum to one. @type {(block: Block) => Block} */
function normalizedBlock(block) {
  const values = block.values.slice();
  normalizeRows(values, block.columns);
  return { ...block, values };
}
