/** The numbers as a table: a view of its own, and in every other view there for screen readers. */

import { make } from "./dom.js";
import { TITLES, exactText, importanceName, visibleName } from "../draw/format.js";

export class TableView {
  constructor() {
    this.element = make("section", { class: "table", "aria-label": "Table of the scores" });
  }

  /**
   * All that is known about the position of interest, one row a token.
   *
   * @param {string} caption
   * @param {import("../draw/picture.js").Pictures} pictures
   * @param {object} looking what is looked at
   */
  show(caption, pictures, looking) {
    const columns = tableColumns(pictures, looking);
    const titles = ["#", looking.state.words ? "Word" : "Token", ...columns.map(({ title }) => title)];
    const head = make("tr", {}, ...titles.map((title) => make("th", { scope: "col" }, title)));
    const rows = looking.level.names(0).map((name, at) => {
      const cells = columns.map(({ values }) => (values ? exactText(values[at]) : "not computed"));
      const [number, ...scores] = [String(at), ...cells].map((text) => make("td", { class: "number" }, text));
      return make("tr", {}, number, make("th", { scope: "row" }, visibleName(name)), ...scores);
    });
    const body = [make("caption", {}, caption), make("thead", {}, head), make("tbody", {}, ...rows)];
    this.element.replaceChildren(make("table", {}, ...body));
  }
}

/** Scores of each method, then importance; no values where a method has none for the tokens. */
function tableColumns(pictures, looking) {
  const tokens = looking.level.size(0);
  const scores = pictures.scores.methods.map((method) => {
    const values = pictures.row(method, looking.selected, looking);
    return { title: TITLES[method], values: values?.length === tokens ? values : null };
  });
  const importance = pictures.importance(looking.level);
  return [...scores, ...importance.map(({ method, values }) => ({ title: importanceName(method), values }))];
}
