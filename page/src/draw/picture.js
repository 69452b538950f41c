/** From what is looked at to what is drawn: the scene of one method, and the sentences under it. */

import { panelLayout } from "./layout.js";
import { keepLast } from "../compute/cache.js";
import { leftNotes, missingNote, otherNodesNote, pairNotes, saturationNotes } from "./notes.js";
import { mergedRow, normalisedRow } from "../compute/matrix.js";
import { graphScene } from "./graph.js";
import { heatScene } from "./heatmap.js";
import { strongestEdges } from "../compute/top-edges.js";
import { traced } from "../compute/highlight.js";

/** Edges of a panel. Chosen: as many as the eye takes in, and as a frame has time to draw. */
const EDGES_SHOWN = 2500;
/** Share of the strongest edge under which nothing is seen of an edge; chosen by eye. */
const FAINTEST = 0.004;
/** Pictures at rest that are kept. Chosen: what a person goes back and forth between. */
const RESTING_KEPT = 20;

/** Flow is up to one for every token, so that edges as strong as that would cover the picture. */
const SHARES = "Edges of all positions are drawn as shares of what each takes in all.";

const asShares = (method, state) => state.normal || method === "flow";

/** What an edge's number is, for the legend: the same method draws other things when a node is lit. */
function edgeUnit(method, state, lit, pair) {
  if (pair) return "flow over the edge";
  if (!lit && asShares(method, state)) return "share of its position";
  if (method === "raw") return "weight";
  if (method === "rollout") return lit ? "runs over the edge" : "score";
  return state.normal && lit.layer ? "share of its position" : "flow to the token";
}

export class Pictures {
  /** @param {import("../compute/scores.js").Scores} scores @param {object} data the document */
  constructor(data, scores) {
    this.data = data;
    this.scores = scores;
    this.resting = new Map();
    this.floor = (scores.edges?.count ?? 0) > EDGES_SHOWN ? FAINTEST : 0;
  }

  /** More is known now: forget pictures at rest that lacked something. */
  forgetParts() {
    for (const [key, { missing }] of this.resting) if (missing) this.resting.delete(key);
  }

  /** Scores of a node of the level, normalised if so wanted; null where they are not known. */
  row(method, { layer, node }, { level, state }) {
    const rows = level.positions(node).map((position) => this.scores.row(method, layer, position, state));
    const known = rows.filter(Boolean);
    if (!known.length) return null;
    const mean =
      known.length === 1 ? known[0] : known[0].map((_, at) => known.reduce((s, row) => s + row[at], 0) / known.length);
    const merged = level.pieces ? mergedRow(mean, level.pieces) : mean;
    return state.normal ? normalisedRow(merged) : merged;
  }

  /** Importance of the nodes of the level: of a word, the sum over its pieces. */
  importance(level) {
    return this.data.importance.map(({ method, values }) => ({
      method,
      values: level.pieces ? mergedRow(values, level.pieces) : Float64Array.from(values),
    }));
  }

  /**
   * The picture of one method.
   *
   * @param {object} looking what is looked at: state, level, selected, lit, cursor, shown
   * @returns {{scene: object, layout: object, notes: string[], most: number}}
   */
  of(method, width, looking) {
    return looking.state.view === "heatmap" ? this.heatmap(method, width, looking) : this.graph(method, width, looking);
  }

  layout(width, looking, cells) {
    const { level, state } = looking;
    return panelLayout({
      width,
      cells,
      rows: cells ? this.scores.layers : [0, ...this.scores.layers],
      size: (layer) => level.size(layer),
      names: level.labels(0),
      tracks: this.data.importance.length,
      zoom: state.zoom,
    });
  }

  heatmap(method, width, looking) {
    const layout = this.layout(width, looking, true);
    const rows = this.scores.layers.map((layer) => {
      if (looking.selected.node >= looking.level.size(layer)) return null;
      const row = this.row(method, { layer, node: looking.selected.node }, looking);
      return row && row.length === looking.level.size(0) ? row : null;
    });
    const scene = heatScene(layout, {
      method,
      rows,
      interest: looking.state.layer,
      lit: looking.hover,
      importance: this.importance(looking.level),
    });
    return { scene, layout, notes: this.saturationNote(method, looking), most: scene.most };
  }

  graph(method, width, looking) {
    const { level, state, lit, shown } = looking;
    const layout = this.layout(width, looking, false);
    const pair = method === "flow" ? this.pair(looking) : null;
    const picked = lit ? this.lit(method, looking) : this.atRest(method, looking);
    const scores = this.row(method, shown, looking);
    const toTokens = scores?.length === level.size(0);
    const scene = graphScene(layout, {
      method,
      picked,
      lit,
      pair,
      scores: toTokens ? scores : null,
      strip: toTokens || !scores,
      selected: looking.selected,
      cursor: looking.cursor,
      sink: state.sink === null ? null : level.nodeOf(state.sink),
      importance: this.importance(level),
      size: (layer) => level.size(layer),
    });
    const notes = [
      ...(pair ? [] : picked.notes),
      ...(method === "flow" ? pairNotes(pair, looking, this.scores.flows !== null) : []),
      ...this.saturationNote(method, looking),
    ];
    if (!scores) notes.unshift(this.scores.reason(method, shown.layer, state));
    else if (!toTokens) notes.unshift(otherNodesNote(shown.layer));
    return { scene, layout, notes, most: scene.most, unit: edgeUnit(method, state, lit, pair) };
  }

  /** The strongest edges at rest, kept until something changes. */
  atRest(method, { level, state }) {
    const key = [method, state.head, state.residual, state.normal, state.words].join(" ");
    if (!this.resting.has(key)) {
      const { blocks, missing, wanted } = this.scores.resting(method, state);
      const merged = blocks.filter(({ values }) => values.length).map((block) => level.block(block));
      const picked = strongestEdges(asShares(method, state) ? merged.map(normalisedBlock) : merged, EDGES_SHOWN, this.floor);
      const layer = `layer ${blocks.length + 1} of ${this.scores.layers.length}`;
      const missed = missing ? [missingNote(method === "rollout" ? layer : "", wanted)] : this.onlyNotes(method, state);
      const shares = asShares(method, state) && !state.normal ? [SHARES] : [];
      const notes = [...missed, ...leftNotes(picked), ...shares];
      keepLast(this.resting, key, { ...picked, missing, notes }, RESTING_KEPT);
    }
    return this.resting.get(key);
  }

  /** Which positions a picture at rest is about, where that is not all, and others cannot be solved here. */
  onlyNotes(method, state) {
    const given = this.scores.given.get(method);
    if (!given || this.scores.computes(method) || this.scores.flows?.solvesRows) return [];
    const partly = given.queries.length < Math.max(...this.data.sizes.slice(1));
    return partly ? [this.scores.reason(method, state.layer, state)] : [];
  }

  lit(method, looking) {
    const { level, state, lit } = looking;
    const blocks = traced(this.scores, method, level, lit, state.layer, state, this.floor);
    if (!blocks) return { edges: [], most: 1, notes: [] };
    const rows = this.scores.computes(method) || lit.layer === 0 || !state.normal;
    const picked = strongestEdges(rows ? blocks : blocks.map(normalisedBlock), EDGES_SHOWN, this.floor);
    return { ...picked, notes: leftNotes(picked) };
  }

  /** Flow and cut of the pinned pair, where there is one between tokens. */
  pair({ state, level }) {
    if (!state.pin || state.sink === null || level.pieces || !this.scores.flows) return null;
    return this.scores.flows.pair(state.pin.layer, state.pin.position, state.sink, state);
  }

  saturationNote(method, { state, shown }) {
    return saturationNotes(method === "flow" ? this.scores.saturation(shown.layer, state) : "", shown.layer);
  }
}

/** A block whose rows sum to one. */
function normalisedBlock(block) {
  const values = new Float32Array(block.values.length);
  for (let start = 0; start < values.length; start += block.columns) {
    values.set(normalisedRow(block.values.subarray(start, start + block.columns)), start);
  }
  return { ...block, values };
}
