/** Names, numbers and texts as the page shows them. */

/** @import { Method, PageData, Vector, ViewName } from "../types.js" */
/** @import { Level } from "../compute/level.js" */

/** @type {Record<Method, string>} */
export const METHOD_TITLES = { raw: "Raw attention", rollout: "Attention rollout", flow: "Attention flow" };

/** With other edge weights. @type {Record<Method, string>} */
const EDGES_TITLES = { raw: "Raw weights", rollout: "Rollout", flow: "Flow" };

/** @type {Record<Method, string>} */
const DESCRIPTIONS = {
  raw: "Attention weights to the layer directly below.",
  rollout: "Sum over all paths of the product of edge weights.",
  flow: "Maximum flow to a token; edge weights are capacities.",
};

/** @type {(edges: string) => boolean} */
const isAttention = (edges) => edges === "attention" || edges === "";

/** Return the title of a method, given the name of the edge weights. @type {(method: Method, edges: string) => string} */
export function methodTitle(method, edges) {
  return (isAttention(edges) ? METHOD_TITLES : EDGES_TITLES)[method];
}

/** @type {(method: Method, edges: string) => string} */
export function methodDescription(method, edges) {
  return method === "raw" && !isAttention(edges) ? "Edge weights to the layer directly below." : DESCRIPTIONS[method];
}

/** Return the name of the edge weights if it has to be shown: not where there is only attention.
 * @type {(data: PageData) => string} */
export function edgesToShow({ edges, other_edges }) {
  return other_edges.length || !isAttention(edges ?? "") ? (edges ?? "") : "";
}

/** Return the display name of edge weights, given their name in Python. @type {(edges: string) => string} */
export function edgesName(edges) {
  return displayName(edges.replaceAll("_", " "));
}

/** @type {Record<ViewName, string>} */
const HELP = {
  grid: "Hover over a patch for its score; click it to select its position. Arrow keys select layer and position.",
  graph:
    "Hover over a node or tap it to see its edges. Click to pin it, then click an input token for the maximum flow " +
    "between the two and its minimum cut. Arrow keys, Enter and Escape do the same.",
  heatmap: "Hover over a cell for its score; click it to select its layer. Arrow keys select layer and position.",
  text: "Hover over a token for its score; click it to select its position. Arrow keys select layer and position.",
  table: "Select layer and position above. The CSV file has the scores of all layers.",
};

/** Return how to use a view. @type {(view: ViewName, data: PageData) => string} */
export function helpFor(view, { generated }) {
  const written = generated && view !== "table" ? " Click a generated token to see what wrote it." : "";
  return HELP[view] + written;
}

/** Return the display name of an importance method, given its name in Python. @type {(method: string) => string} */
export function importanceName(method) {
  return method === "blank_out" ? "blank-out" : method.replaceAll("_", " ");
}

const LONE_SURROGATES = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|[\ufffe\uffff]/g;

/** Return a token as it can be drawn: no control characters or lone surrogates, visible white space.
 * @type {(name: string) => string} */
export function displayName(name) {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: tokens may contain them
  const printable = name.replace(/[\u0000-\u001f\u007f]/g, (c) => (c === "\n" ? "⏎" : c === "\t" ? "⇥" : "�"));
  const valid = printable.replace(LONE_SURROGATES, "�");
  return valid.trim() === "" ? "␣".repeat(Math.min(3, valid.length)) || "∅" : valid;
}

/** Format a score: three decimals, more digits where it is small. @type {(value: number) => string} */
export function formatScore(value) {
  if (value === Infinity) return "∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 0.0095) return value.toFixed(3);
  return size >= 1e-6 ? String(Number(value.toPrecision(2))) : value.toExponential(1);
}

/** Format a score for the table: enough digits to compare it with Python's. @type {(value: number) => string} */
export function formatExact(value) {
  if (value === Infinity) return "∞";
  return Math.abs(value) >= 0.01 || value === 0 ? value.toFixed(4) : String(Number(value.toPrecision(3)));
}

/** Round a score for a file: five decimals, or five digits if it is small. 16-bit weights have no more.
 * @type {(value: number) => number} */
export function roundForFile(value) {
  return Number(Math.abs(value) < 0.1 ? value.toPrecision(5) : value.toFixed(5));
}

/** @type {(share: number) => string} */
export function formatPercent(share) {
  const percent = 100 * share;
  return percent > 0 && percent < 1 ? "under 1\u00a0%" : `${Math.round(percent)}\u00a0%`;
}

/** @type {(count: number) => string} */
export function formatCount(count) {
  return String(count).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** Format the highest scores of a row, as "key 0.213, the 0.15".
 * @type {(row: Vector, names: string[], count?: number) => string} */
export function formatTopScores(row, names, count = 3) {
  const order = [...row.keys()].sort((a, b) => row[b] - row[a]).slice(0, count);
  return order
    .filter((at) => row[at] > 0)
    .map((at) => `${displayName(names[at])} ${formatScore(row[at])}`)
    .join(", ");
}

/** Format a position with its name; only the position if that is its name.
 * @type {(position: number, name: string) => string} */
export function formatPosition(position, name) {
  const visible = displayName(name);
  return visible === String(position) ? visible : `${position} ${visible}`;
}

/** Format positions with their names, as "positions 0 [CLS], 2 key"; with `kind` "word", as words.
 * @type {(positions: number[], nameOf: (position: number) => string, kind?: string) => string} */
export function formatPositions(positions, nameOf, kind = "position") {
  const listed = positions.map((position) => formatPosition(position, nameOf(position))).join(", ");
  return `${kind}${positions.length === 1 ? "" : "s"} ${listed}`;
}

/** Format a node with its layer; one whose name is its number is called a position.
 * @type {(level: Level, layer: number, node: number) => string} */
export function formatNode(level, layer, node) {
  const visible = displayName(level.label(layer, node));
  if (layer === 0) return `token ${visible}`;
  return `${level.layerName(layer)}, ${visible === String(node) ? `position ${visible}` : visible}`;
}
