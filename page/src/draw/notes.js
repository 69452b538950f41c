/** Sentences under a picture: omitted edges, flow and cut of a pair, saturated and flat flow. */

/** @import { Level } from "../compute/level.js" */
/** @import { Focus, SolvedPair, TopEdges } from "../types.js" */

import { formatCount, formatPercent, formatPosition, formatScore } from "./format.js";

/** Share of the weight from which omitted edges are mentioned; chosen. */
const MIN_OMITTED = 0.005;

/** Nodes that a note names; chosen: about a line. */
const MAX_NAMES = 8;

/** @type {(layer: number) => string} */
export function otherNodesNote(layer) {
  return `Layer ${layer} attends to the nodes of layer ${layer - 1}, which are not the tokens, so no token is colored.`;
}

/** @type {(top: TopEdges) => string[]} */
export function omittedNotes({ omitted, omittedShare }) {
  if (omitted < 2 || omittedShare < MIN_OMITTED) return [];
  return [
    `The ${formatCount(omitted)} weakest edges are not drawn; they carry ${formatPercent(omittedShare)} of the weight.`,
  ];
}

/** Return which nodes have gray edges. @type {(top: TopEdges, level: Level) => string[]} */
export function fanNotes({ edges }, level) {
  const faint = edges.filter((edge) => edge.faint).sort((a, b) => a.below - b.below || a.block.to - b.block.to);
  const names = [...new Set(faint.map(({ block, below }) => formatPosition(below, level.label(block.to, below))))];
  if (!names.length) return [];
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : "";
  const kind = `${level.pieces ? "word" : "position"}${names.length === 1 ? "" : "s"}`;
  return [`Gray: edges to ${kind} ${names.slice(0, MAX_NAMES).join(", ")}${more}, which would cover others.`];
}

/**
 * @param {SolvedPair | null} pair flow and cut, if they could be solved
 * @param {Focus} focus
 * @param {boolean} hasGraph whether the page contains the graph
 * @returns {string[]}
 */
export function pairNotes(pair, { state, level }, hasGraph) {
  if (!state.pin || state.sink === null) return [];
  if (level.pieces) return ["Flow and cut are between a position and a token: switch off Words to see them."];
  if (!pair) {
    const why = hasGraph ? "The graph is too large to solve in the browser" : "This page does not contain the graph";
    const source = `(${state.pin.layer}, ${state.pin.position})`;
    return [`${why}: attnflow.max_flow(…, source=${source}, sink=${state.sink}) computes flow and cut.`];
  }
  if (pair.value === Infinity) return ["The flow is unbounded: a path of edges without bound leads to this token."];
  return [`Flow ${formatScore(pair.value)} = cut ${formatScore(pair.cutValue)}. ${cutText(pair)}`];
}

/** @type {(kind: "" | "same" | "ceiling", layer: number) => string[]} */
export function saturationNotes(kind, layer) {
  const reasons = {
    same: "it is the same for every position, so it depends on the token only",
    ceiling: "every token is at its ceiling, so the layers in between have no effect",
  };
  return kind ? [`Flow is saturated at layer ${layer}: ${reasons[kind]}.`] : [];
}

/** @type {(layer: number) => string} */
export function flatNote(layer) {
  return (
    `Flow is flat at layer ${layer}: all tokens but the position's own have nearly the same score, because what leaves ` +
    "this position limits the flow to each of them alike. Rollout shows more."
  );
}

/** Return where the edges of the cut are, from the top down. @type {(pair: SolvedPair) => string} */
function cutText({ cut, capacities }) {
  const parts = [];
  for (let at = capacities.length - 1; at >= 0; at--) {
    const below = cut[at].length;
    let count = 0;
    capacities[at].forEach((weight, edge) => {
      if (weight > 0 && cut[at + 1][Math.floor(edge / below)] && !cut[at][edge % below]) count++;
    });
    if (count) parts.push(`${count} between layers ${at + 1} and ${at}`);
  }
  return parts.length ? `Cut edges (dashed): ${parts.join(", ")}.` : "";
}
