/** The scores as a table: a view of its own, and in all other views for screen readers. */

/** @import { Focus, Vector } from "../types.js" */
/** @import { Pictures } from "../draw/picture.js" */

import { displayName, formatExact, importanceName, methodTitle } from "../draw/format.js";
import { make } from "./dom.js";

/** Return a table of all scores of the selected position, one row for each token.
 * @type {(caption: string, pictures: Pictures, focus: Focus) => HTMLTableElement} */
export function makeTable(caption, pictures, focus) {
  const columns = tableColumns(pictures, focus);
  const titles = ["#", focus.state.words ? "Word" : "Token", ...columns.map(({ title }) => title)];
  const head = make("tr", {}, ...titles.map((title) => make("th", { scope: "col" }, title)));
  const rows = focus.level.names(0).map((name, at) => {
    const cells = columns.map(({ values, missing }) => (values ? formatExact(values[at]) : missing));
    const [number, ...scores] = [String(at), ...cells].map((text) => make("td", { class: "number" }, text));
    return make("tr", {}, number, make("th", { scope: "row" }, displayName(name)), ...scores);
  });
  const body = [make("caption", {}, caption), make("thead", {}, head), make("tbody", {}, ...rows)];
  return make("table", {}, ...body);
}

/** Return the scores of each method, then importance.
 * @type {(pictures: Pictures, focus: Focus) => { title: string, values: Vector | null, missing: string }[]} */
function tableColumns(pictures, focus) {
  const scores = pictures.scores.methods.map((method) => ({
    title: methodTitle(method, focus.state.edges),
    values: pictures.tokenRow(method, focus.selected, focus),
    missing: pictures.scores.missing(method),
  }));
  const importance = pictures.importance(focus.level);
  const columns = importance.map(({ method, values }) => ({ title: importanceName(method), values, missing: "" }));
  return [...scores, ...columns];
}
