/**
 * The state as text for links, and back.
 *
 * A link may be old, of another page, or malicious: each part is checked, and invalid parts are ignored.
 */

/** @import { PageData, State, ViewName } from "../types.js" */
/** @import { EdgeChoices } from "./choices.js" */

import { hasWords } from "../compute/level.js";

/** Tokens from which a page opens in the text view; chosen: a graph has no space for their names. */
const LONG = 65;

/** Return the views of a document; only patches of an image have a grid. @type {(data: PageData) => ViewName[]} */
export function viewsOf({ grid }) {
  return [...(grid ? [/** @type {const} */ ("grid")] : []), "graph", "heatmap", "text", "table"];
}

/** Return the view that a page opens in. @type {(data: PageData) => ViewName} */
function firstView({ grid, tokens }) {
  if (grid) return "grid";
  const named = tokens.some((token, position) => token !== String(position));
  return named && tokens.length >= LONG ? "text" : "graph";
}

/** Chosen: at the last one a column of a long input is as wide as its label. */
export const ZOOMS = [1, 2, 4, 8];

/** Return the initial state of a page. @type {(data: PageData, choices: EdgeChoices) => State} */
export function initialState(data, choices) {
  const scores = choices.first;
  const layer = pick(data.layer, scores.layers, scores.layers[scores.layers.length - 1]);
  return {
    view: firstView(data),
    edges: choices.names[0],
    methods: [...scores.methods],
    alone: null,
    layer,
    query: Math.max(0, Math.min(data.query, data.sizes[layer] - 1)),
    ...(choices.attention ?? scores).defaults,
    normal: false,
    field: data.receptive_field && Boolean(choices.attention?.field),
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
  for (const name of /** @type {const} */ (["view", "edges"]))
    if (state[name] !== initial[name]) parts.set(name, state[name]);
  if (String(state.methods) !== String(initial.methods)) parts.set("methods", state.methods.join("."));
  if (state.alone) parts.set("alone", state.alone);
  for (const name of /** @type {const} */ (["layer", "query", "head", "residual", "zoom"]))
    if (state[name] !== initial[name]) parts.set(name, String(state[name]));
  for (const name of /** @type {const} */ (["normal", "field", "words"]))
    if (state[name] !== initial[name]) parts.set(name, state[name] ? "1" : "0");
  if (state.keepSinks !== initial.keepSinks) parts.set("sinks", state.keepSinks ? "keep" : "remove");
  if (state.pin) parts.set("pin", `${state.pin.layer}.${state.pin.position}`);
  if (state.pin && state.sink !== null) parts.set("sink", String(state.sink));
  return parts.toString();
}

/** Return the state of a text. @type {(text: string, data: PageData, choices: EdgeChoices) => State} */
export function stateFromText(text, data, choices) {
  const initial = initialState(data, choices);
  const { first: scores, attention } = choices;
  const parts = new URLSearchParams(text);
  const layer = pick(integer(parts.get("layer")), scores.layers, initial.layer);
  const methods = scores.methods.filter((method) => (parts.get("methods") ?? "").split(".").includes(method));
  return {
    ...initial,
    view: pick(parts.get("view"), viewsOf(data), initial.view),
    edges: pick(parts.get("edges"), choices.names, initial.edges),
    methods: methods.length ? methods : initial.methods,
    alone: pick(parts.get("alone"), scores.methods, null),
    layer,
    query: integer(parts.get("query"), data.sizes[layer]) ?? Math.min(initial.query, data.sizes[layer] - 1),
    head: integer(parts.get("head"), attention?.edges?.heads ?? 0) ?? -1,
    residual: (attention && residualFrom(parts.get("residual"))) ?? initial.residual,
    keepSinks: { keep: true, remove: false }[parts.get("sinks") ?? ""] ?? initial.keepSinks,
    normal: parts.get("normal") === "1",
    field: ({ 0: false, 1: true }[parts.get("field") ?? ""] ?? initial.field) && Boolean(attention?.field),
    words: parts.get("words") === "1" && hasWords(data),
    zoom: pick(integer(parts.get("zoom")), ZOOMS, 1),
    ...pinFrom(parts, data, scores),
  };
}

/** Return a residual in [0, 1), or null. @type {(text: string | null) => number | null} */
export function residualFrom(text) {
  if (!text || !/^(0|1)?(\.\d{1,6})?$/.test(text)) return null;
  const residual = Number(text);
  return residual < 1 ? residual : null;
}

/** @type {(parts: URLSearchParams, data: PageData, scores: EdgeChoices["first"]) => Partial<State>} */
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
