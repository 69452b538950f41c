/** What the page says about what is looked at: beside the pointer, to a screen reader, under a figure. */

import { fileNumber, importanceName, nodeText, numberText, positionText, strongestText, visibleName } from "../draw/format.js";

/** Numbers of a node for the tooltip: what it draws on most, or of a token what it is given. */
export function tooltipOf(at, methods, pictures, looking) {
  const { level, shown, state } = looking;
  const name = level.label(at.layer, at.node);
  if (state.view === "heatmap") {
    const cell = at.layer === 0 ? { ...at, layer: state.layer } : at;
    return givenTo(cell.node, { layer: cell.layer, node: looking.selected.node }, methods, pictures, looking);
  }
  if (at.layer === 0) return givenTo(at.node, shown, methods, pictures, looking);
  const lines = methods.map((method) => {
    const row = pictures.row(method, at, looking);
    return [method, row ? strongestText(row, belowNames(method, at, looking)) || "nothing" : "not computed"];
  });
  return { title: nodeText(at.layer, name, at.node), lines };
}

/** Raw attention above layer 1 is about nodes of the layer below. */
function belowNames(method, { layer }, { level }) {
  return level.labels(method === "raw" ? layer - 1 : 0);
}

function givenTo(token, from, methods, pictures, looking) {
  const { level } = looking;
  const lines = methods.map((method) => {
    const row = pictures.row(method, from, looking);
    return [method, row && token < row.length ? numberText(row[token]) : "not computed"];
  });
  const importance = pictures.importance(level).map(({ method, values }) => [method, numberText(values[token])]);
  const asking = nodeText(from.layer, level.label(from.layer, from.node), from.node);
  const title = `${visibleName(level.label(0, token))}, to ${asking}`;
  return { title, lines: [...lines, ...importance] };
}

/** The same as a sentence to be read out. */
export function spokenOf(at, methods, pictures, looking) {
  const { title, lines } = tooltipOf(at, methods, pictures, looking);
  return `${title}. ${lines.map(([method, text]) => `${importanceName(method)}: ${text}`).join(". ")}.`;
}

/** What scores these are, in one line. */
export function captionOf({ state, level, shown }, scores) {
  const parts = [
    `Layer ${shown.layer}, ${state.words ? "word" : "position"} ${positionText(shown.node, level.label(shown.layer, shown.node))}`,
  ];
  if (scores.edges && state.head >= 0) parts.push(`head ${state.head} at this layer, heads averaged below`);
  if (scores.data.attention) parts.push(`residual ${state.residual}`);
  if (state.words) parts.push("scores of a word's pieces added up");
  if (state.normal) parts.push("rows sum to one");
  return parts.join(" · ");
}

/** The caption of a figure: also the pair whose flow and cut it shows. */
export function figureCaption(pictures, looking) {
  const caption = captionOf(looking, pictures.scores);
  const { state, level } = looking;
  const pair = state.view === "graph" ? pictures.pair(looking) : null;
  if (!pair) return caption;
  const token = positionText(state.sink, level.label(0, state.sink));
  return `${caption} · to token ${token}: flow ${numberText(pair.value)} = cut ${numberText(pair.cutValue)}`;
}

/** Scores of the position of interest at all layers, as rows of a file. */
export function csvRows(pictures, looking) {
  const { level, selected } = looking;
  const { scores } = pictures;
  const importance = pictures.importance(level);
  const head = [
    "layer",
    "query",
    "query_name",
    "token",
    "token_name",
    ...scores.methods,
    ...importance.map(({ method }) => method),
  ];
  const rows = scores.layers
    .filter((layer) => selected.node < level.size(layer))
    .flatMap((layer) => {
      const from = { layer, node: selected.node };
      const values = scores.methods.map((method) => pictures.row(method, from, looking));
      return level
        .names(0)
        .map((name, token) => [
          layer,
          from.node,
          level.names(layer)[from.node] ?? String(from.node),
          token,
          name,
          ...values.map((row) => (row && token < row.length ? fileNumber(row[token]) : "")),
          ...importance.map((each) => fileNumber(each.values[token])),
        ]);
    });
  return [head, ...rows];
}
