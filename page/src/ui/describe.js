/** Descriptions of the focus: in the tooltip, for screen readers, as a caption, as rows of a file. */

/** @import { Focus, Method, NodeRef, PageData } from "../types.js" */
/** @import { Pictures } from "../draw/picture.js" */

import {
  displayName,
  edgesName,
  edgesToShow,
  formatNode,
  formatPosition,
  formatPositions,
  formatScore,
  formatTopScores,
  importanceName,
  roundForFile,
} from "../draw/format.js";

/** @typedef {{ title: string, lines: [string, string][] }} Description a title, and names with their texts */

/** Describe a node by its highest scores, a token by its score for the query node.
 * @type {(at: NodeRef, methods: Method[], pictures: Pictures, focus: Focus) => Description} */
export function describeNode(at, methods, pictures, focus) {
  const { level, queryNode, state, selected } = focus;
  if (state.view === "heatmap") {
    return describeToken(at.node, { layer: at.layer || state.layer, node: selected.node }, methods, pictures, focus);
  }
  if (at.layer === 0) return describeToken(at.node, queryNode, methods, pictures, focus);
  /** @type {Description["lines"]} */
  const lines = methods.map((method) => {
    const row = pictures.row(method, at, focus);
    // Raw attention is to the nodes of the layer below.
    const names = level.names(method === "raw" ? at.layer - 1 : 0);
    return [method, row ? formatTopScores(row, names) || "none" : pictures.scores.missing(method)];
  });
  return { title: formatNode(level, at.layer, at.node), lines };
}

/** @type {(token: number, from: NodeRef, methods: Method[], pictures: Pictures, focus: Focus) => Description} */
function describeToken(token, from, methods, pictures, focus) {
  const { level } = focus;
  /** @type {Description["lines"]} */
  const scores = methods.map((method) => {
    const row = pictures.row(method, from, focus);
    return [method, row && token < row.length ? formatScore(row[token]) : pictures.scores.missing(method)];
  });
  /** @type {Description["lines"]} */
  const importance = pictures.importance(level).map(({ method, values }) => [method, formatScore(values[token])]);
  const query = formatNode(level, from.layer, from.node);
  return { title: `${displayName(level.label(0, token))}, from ${query}`, lines: [...scores, ...importance] };
}

/** The same as a sentence. @type {(at: NodeRef, methods: Method[], pictures: Pictures, focus: Focus) => string} */
export function announceNode(at, methods, pictures, focus) {
  const { title, lines } = describeNode(at, methods, pictures, focus);
  return `${title}. ${lines.map(([name, text]) => `${importanceName(name)}: ${text}`).join(". ")}.`;
}

/** Return which scores are shown and how they were made, in one line.
 * @type {(focus: Focus, methods: Method[], scores: Pictures["scores"]) => string} */
export function captionOf({ state, level, queryNode: { layer, node } }, methods, scores) {
  const position = formatPositions([node], (at) => level.label(layer, at), state.words ? "word" : "position");
  const named = level.data.layer_names ? `${layer} (${level.layerName(layer)})` : layer;
  const parts = [`Layer ${named}, ${position}`];
  const written = level.written(node);
  if (written !== null) parts[0] += `, which wrote ${formatPositions([written], (at) => level.data.tokens[at])}`;
  parts.push(methods.join(", "), ...edgeSettings(state, scores), ...unlikeAttention(level.data, scores));
  if (state.field) parts.push("corrected for the receptive field");
  if (state.words) parts.push("scores of word pieces summed");
  if (state.normal) parts.push("rows sum to one");
  parts.push(...answersOf(level.data));
  for (const { method, replaced_by } of level.data.importance)
    if (replaced_by) parts.push(`${importanceName(method)} with ${displayName(replaced_by)}`);
  return parts.join(" · ");
}

/** Return how the edges were made: what they weigh, heads, residual, attention sinks.
 * @type {(state: Focus["state"], scores: Pictures["scores"]) => string[]} */
function edgeSettings(state, { data, edges }) {
  const { heads, residual, without } = data.scores[0]?.settings ?? {};
  const parts = [`edges: ${data.edges ? edgesName(data.edges) : "as given"}`];
  if (data.attention) {
    const { n_heads } = data.attention;
    const mean = n_heads === 1 ? "one head" : `mean of ${n_heads ?? "the"} heads`;
    parts.push(state.head >= 0 ? `head ${state.head} at this layer, mean of heads below` : mean);
    parts.push(`residual ${state.residual}`);
  } else {
    if (typeof heads === "string") parts.push(`${heads} of heads`);
    if (residual !== undefined) parts.push(`residual ${residual}`);
  }
  if (data.sinks.length) {
    const sinks = formatPositions(data.sinks, (position) => data.tokens[position]);
    parts.push(`sinks ${state.keepSinks ? "kept" : "removed"}: ${sinks}`);
  } else if (!edges && Array.isArray(without)) parts.push(`without ${formatPositions(without, String)}`);
  else if (data.attention || data.graph_residual !== null) parts.push("no sinks");
  return parts;
}

/** Return what attention has on this page and the shown edges do not: sinks taken out, and a correction.
 * @type {(data: PageData, scores: Pictures["scores"]) => string[]} */
function unlikeAttention(data, scores) {
  const other = [data, ...data.other_edges].find(({ attention }) => attention);
  if (!other || scores.data.attention) return [];
  const sinks = other.sinks.length && !scores.data.sinks.length ? ["no sinks removed"] : [];
  return [...sinks, ...(data.causal ? ["not corrected for the receptive field"] : [])];
}

/** Return which answers importance is of, unless that is the prediction alone.
 * @type {(data: PageData) => string[]} */
function answersOf({ importance, prediction }) {
  const texts = importance.map(({ target, against }) => {
    if (!target || (!against && target === prediction?.label)) return "";
    return [target, against].flatMap((name) => (name ? displayName(name) : [])).join(" against ");
  });
  if (new Set(texts).size === 1 && texts[0]) return [`importance: ${texts[0]}`];
  return importance.flatMap(({ method }, at) => (texts[at] ? `${importanceName(method)}: ${texts[at]}` : []));
}

/** Return the caption of a figure, with the pair whose flow and cut it shows.
 * @type {(pictures: Pictures, methods: Method[], focus: Focus) => string} */
export function figureCaption(pictures, methods, focus) {
  const caption = captionOf(focus, methods, pictures.scores);
  const { view, sink } = focus.state;
  const pair = view === "graph" ? pictures.pair(focus) : null;
  if (!pair || sink === null) return caption;
  const token = formatPosition(sink, focus.level.label(0, sink));
  return `${caption} · to token ${token}: flow ${formatScore(pair.value)} = cut ${formatScore(pair.cutValue)}`;
}

/** Return the scores of the selected position at all layers as rows of a file.
 * @type {(pictures: Pictures, focus: Focus) => (string | number)[][]} */
export function csvRows(pictures, focus) {
  const { level, selected } = focus;
  const { scores } = pictures;
  const importance = pictures.importance(level);
  const edges = edgesToShow(scores.data);
  const named = edges ? [edges] : [];
  const head = [...named.map(() => "edges"), "layer", "query", "query_name", "token", "token_name", ...scores.methods];
  const rows = scores.layers
    .filter((layer) => selected.node < level.size(layer))
    .flatMap((layer) => {
      const from = { layer, node: selected.node };
      const name = level.names(layer)[from.node] ?? String(from.node);
      const values = scores.methods.map((method) => pictures.row(method, from, focus));
      return level
        .names(0)
        .map((token, at) => [
          ...[...named, layer, from.node, name, at, token],
          ...values.map((row) => (row && at < row.length ? roundForFile(row[at]) : "")),
          ...importance.map((item) => roundForFile(item.values[at])),
        ]);
    });
  return [[...head, ...importance.map(({ method }) => method)], ...rows];
}
