/** Sentences under a picture: what is left out of it, what a pair and its cut say, when flow is saturated. */

import { countText, numberText, percentText } from "./format.js";

/** Share of the weight from which it is worth saying that edges are left out; chosen. */
const WORTH_SAYING = 0.005;

/** @param {string} layer that is being computed, if it is layers that are missing @param {boolean} wanted */
export function missingNote(layer, wanted) {
  if (!wanted) return "Drawn for the positions that have been solved: a pointer at a node solves it too.";
  return layer ? `Computing ${layer}…` : "Solving…";
}

/** Of raw attention above nodes that are not the tokens. */
export function otherNodesNote(layer) {
  return `Layer ${layer} attends to the nodes of layer ${layer - 1}, which are not the tokens: none of these is coloured.`;
}

export function leftNotes({ left, leftShare }) {
  if (left < 2 || leftShare < WORTH_SAYING) return [];
  return [`The weakest ${countText(left)} edges are left out; they carry ${percentText(leftShare)} of the weight.`];
}

/**
 * @param {object | null} pair flow and cut, where they could be solved
 * @param {object} looking what is looked at
 * @param {boolean} hasGraph whether the page has the graph that it would be solved on
 */
export function pairNotes(pair, { state, level }, hasGraph) {
  if (!state.pin || state.sink === null) return [];
  if (level.pieces) return ["The cut is between a position and a token: switch to tokens to see it."];
  if (!pair) {
    const why = hasGraph ? "The graph is too large to solve here" : "The graph is not part of this page";
    const source = `(${state.pin.layer}, ${state.pin.position})`;
    return [`${why}: attnflow.max_flow(…, source=${source}, sink=${state.sink}) gives flow and cut.`];
  }
  if (pair.value === Infinity) {
    return ["This token is reached over edges without bound alone: nothing limits the flow."];
  }
  return [`Flow ${numberText(pair.value)} = cut ${numberText(pair.cutValue)}. ${cutText(pair)}`];
}

/** @param {"" | "same" | "ceiling"} kind as `Scores.saturation` gives it */
export function saturationNotes(kind, layer) {
  const told = {
    same: "it is the same for every position, so it tells about the tokens and not about who attends",
    ceiling: "every score has reached its ceiling, whatever the layers between do",
  };
  return kind ? [`Flow is saturated at layer ${layer}: ${told[kind]}.`] : [];
}

/** Where the bottleneck is, from the top down. */
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
  return parts.length ? `Edges of the bottleneck, dashed: ${parts.join(", ")}.` : "";
}
