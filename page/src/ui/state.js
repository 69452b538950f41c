/**
 * What is being looked at, as an object and as the text that a link carries.
 *
 * A link may be old, of another page, or made to harm: each part is checked, and what does not fit
 * is left out.
 *
 * @typedef {object} State
 * @property {"graph" | "heatmap" | "text" | "table"} view
 * @property {string[]} methods those that are shown
 * @property {string | null} alone the one that is shown where there is room for one, if it was chosen there
 * @property {number} layer of interest, and `query`, the position of interest
 * @property {number} query
 * @property {number} head −1 for the mean of the heads
 * @property {number} residual
 * @property {boolean} normal whether rows sum to one
 * @property {boolean} words
 * @property {{layer: number, position: number} | null} pin
 * @property {number | null} sink the token of a pinned pair
 * @property {number} zoom
 */

import { hasWords } from "../compute/level.js";

export const VIEWS = ["graph", "heatmap", "text", "table"];
/** Chosen: at the last one a column of a long input is as wide as its label. */
export const ZOOMS = [1, 2, 4, 8];

/** What a page shows first. */
export function firstState(data, scores) {
  const layer = scores.layers.includes(data.layer) ? data.layer : scores.layers.at(-1);
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

/** The state as text: only what differs from the first state. */
export function stateText(state, first) {
  const parts = new URLSearchParams();
  const put = (name, text) => parts.set(name, text);
  if (state.view !== first.view) put("view", state.view);
  if (String(state.methods) !== String(first.methods)) put("methods", state.methods.join("."));
  if (state.alone) put("alone", state.alone);
  for (const name of ["layer", "query", "head", "residual", "zoom"])
    if (state[name] !== first[name]) put(name, state[name]);
  for (const name of ["normal", "words"]) if (state[name]) put(name, "1");
  if (state.pin) put("pin", `${state.pin.layer}.${state.pin.position}`);
  if (state.pin && state.sink !== null) put("sink", state.sink);
  return parts.toString();
}

/** The state that a text stands for, on this page. */
export function stateFrom(text, data, scores) {
  const first = firstState(data, scores);
  const parts = new URLSearchParams(String(text ?? "").replace(/^#/, ""));
  const layer = one(whole(parts.get("layer")), scores.layers, first.layer);
  const methods = scores.methods.filter((method) => (parts.get("methods") ?? "").split(".").includes(method));
  const state = {
    ...first,
    view: one(parts.get("view"), VIEWS, first.view),
    methods: methods.length ? methods : first.methods,
    alone: one(parts.get("alone"), scores.methods, null),
    layer,
    query: below(whole(parts.get("query")), data.sizes[layer]) ?? Math.min(first.query, data.sizes[layer] - 1),
    head: below(whole(parts.get("head")), scores.edges?.heads ?? 0) ?? -1,
    residual: residualFrom(parts.get("residual"), data) ?? first.residual,
    normal: parts.get("normal") === "1",
    words: parts.get("words") === "1" && hasWords(data),
    zoom: one(whole(parts.get("zoom")), ZOOMS, 1),
  };
  return { ...state, ...pinFrom(parts, data, scores) };
}

/** A residual of 0 up to 1, where the document has attention to mix it with; else null. */
export function residualFrom(text, data) {
  if (!data.attention || !/^(0|1)?(\.\d{1,6})?$/.test(text ?? "") || !text) return null;
  const residual = Number(text);
  return residual >= 0 && residual < 1 ? residual : null;
}

function pinFrom(parts, data, scores) {
  const [layer, position] = (parts.get("pin") ?? "").split(".").map(whole);
  if (layer !== 0 && !scores.layers.includes(layer)) return {};
  if (below(position ?? null, data.sizes[layer]) === null) return {};
  const pin = { layer, position };
  if (layer === 0) return { pin };
  return { pin, layer, query: position, sink: below(whole(parts.get("sink")), data.sizes[0]) };
}

const whole = (text) => (/^\d{1,6}$/.test(text ?? "") ? Number(text) : null);
const below = (number, size) => (number !== null && number < size ? number : null);
const one = (value, allowed, otherwise) => (allowed.includes(value) ? value : otherwise);
