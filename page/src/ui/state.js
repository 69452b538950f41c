/**
 * The state as text for links, and back.
 *
 * A link may be old, of another page, or malicious: each part is checked, and invalid parts are ignored.
 */

/** @import { PageData, State, ViewName } from "../types.js" */
/** @import { Scores } from "../compute/scores.js" */

import { hasWords } from "../compute/level.js";

/** @type {ViewName[]} */
export const VIEWS = ["graph", "heatmap", "text", "table"];
/** Chosen: at the last one a column of a long input is as wide as its label. */
export const ZOOMS = [1, 2, 4, 8];

/** Return the initial state of a page. @type {(data: PageData, scores: Scores) => State} */
export function initialState(data, scores) {
  const layer = pick(data.layer, scores.layers, scores.layers[scores.layers.length - 1]);
  return {
    view: "graph",
    methods: [...scores.methods],
    alone: null,
    layer,
    query: Math.max(0, Math.min(data.query, data.sizes[layer] - 1)),
    ...scores.defaults,
    normal: false,
    words: false,
    pin: null,
    sink: null,
    zoom: 1,
  };
}

/** Return the state as text: only what differs from the initial state.
 * @type {(state: State, initial: State) => string} */
export function stateToText(state, initial) {
  const parts = new URLSearchParams();
  if (state.view !== initial.view) parts.set("view", state.view);
  if (String(state.methods) !== String(initial.methods)) parts.set("methods", state.methods.join("."));
  if (state.alone) parts.set("alone", state.alone);
  for (const name of /** @type {const} */ (["layer", "query", "head", "residual", "zoom"]))
    if (state[name] !== initial[name]) parts.set(name, String(state[name]));
  for (const name of /** @type {const} */ (["normal", "words"])) if (state[name]) parts.set(name, "1");
  if (state.pin) parts.set("pin", `${state.pin.layer}.${state.pin.position}`);
  if (state.pin && state.sink !== null) parts.set("sink", String(state.sink));
  return parts.toString();
}

/** Return the state of a text. @type {(text: string, data: PageData, scores: Scores) => State} */
export function stateFromText(text, data, scores) {
  const initial = initialState(data, scores);
  const parts = new URLSearchParams(text);
  const layer = pick(integer(parts.get("layer")), scores.layers, initial.layer);
  const methods = scores.methods.filter((method) => (parts.get("methods") ?? "").split(".").includes(method));
  return {
    ...initial,
    view: pick(parts.get("view"), VIEWS, initial.view),
    methods: methods.length ? methods : initial.methods,
    alone: pick(parts.get("alone"), scores.methods, null),
    layer,
    query: integer(parts.get("query"), data.sizes[layer]) ?? Math.min(initial.query, data.sizes[layer] - 1),
    head: integer(parts.get("head"), scores.edges?.heads ?? 0) ?? -1,
    residual: residualFrom(parts.get("residual"), data) ?? initial.residual,
    normal: parts.get("normal") === "1",
    words: parts.get("words") === "1" && hasWords(data),
    zoom: pick(integer(parts.get("zoom")), ZOOMS, 1),
    ...pinFrom(parts, data, scores),
  };
}

/** Return a residual in [0, 1) if the document has attention, else null.
 * @type {(text: string | null, data: PageData) => number | null} */
export function residualFrom(text, data) {
  if (!data.attention || !text || !/^(0|1)?(\.\d{1,6})?$/.test(text)) return null;
  const residual = Number(text);
  return residual < 1 ? residual : null;
}

/** @type {(parts: URLSearchParams, data: PageData, scores: Scores) => Partial<State>} */
function pinFrom(parts, data, scores) {
  const [first, second = null] = (parts.get("pin") ?? "").split(".");
  const layer = pick(integer(first), [0, ...scores.layers], null);
  const position = layer === null ? null : integer(second, data.sizes[layer]);
  if (layer === null || position === null) return {};
  const pin = { layer, position };
  return layer === 0 ? { pin } : { pin, layer, query: position, sink: integer(parts.get("sink"), data.sizes[0]) };
}

/** Parse an integer in [0, size). @type {(text: string | null, size?: number) => number | null} */
function integer(text, size = Infinity) {
  return text !== null && /^\d{1,6}$/.test(text) && Number(text) < size ? Number(text) : null;
}

/**
 * Return the value if it is allowed.
 *
 * @template T, D
 * @param {unknown} value
 * @param {readonly T[]} allowed
 * @param {D} otherwise
 * @returns {T | D}
 */
function pick(value, allowed, otherwise) {
  return allowed.find((item) => item === value) ?? otherwise;
}
