/** The controls: native ones, each with its label. */

import { make, putText } from "./dom.js";
import { hasWords } from "../compute/level.js";
import { VIEWS, ZOOMS, residualFrom } from "./state.js";
import { positionText } from "../draw/format.js";

const VIEW_NAMES = { graph: "Graph", heatmap: "Heat map", text: "Text", table: "Table" };
const SHORT = { raw: "Raw", rollout: "Rollout", flow: "Flow" };
/** Residuals that are offered; any other can be typed. Chosen: quarters, with the paper's half. */
const RESIDUALS = [0, 0.25, 0.5, 0.75];
/** Milliseconds that a button says how it went; chosen: long enough to be read. */
const SAID_FOR = 1600;
let toolbars = 0;

export class Toolbar {
  /**
   * @param {object} page with data, scores, change(part of a state)
   * @param {Record<string, () => void>} exports what the buttons at the end do, by their names
   */
  constructor(page, exports) {
    this.page = page;
    // Names of radio buttons and lists are of one page each.
    this.number = ++toolbars;
    this.parts = {};
    const { data, scores } = page;
    this.element = make(
      "div",
      { class: "toolbar", role: "group", "aria-label": "What is shown" },
      this.views(),
      this.methods(),
      this.layer(),
      this.query(),
      ...(scores.edges?.heads > 1 ? [this.head()] : []),
      ...(data.attention ? [this.residual()] : []),
      this.check("normal", "Rows sum to one", "Divide the scores of each position by their sum"),
      ...(hasWords(data) ? [this.check("words", "Words", "Show words instead of tokens")] : []),
      this.zoom(),
      this.exports(exports),
    );
  }

  views() {
    this.parts.view = VIEWS.map((view) =>
      make("input", {
        type: "radio",
        name: `view-${this.number}`,
        value: view,
        onchange: () => this.page.change({ view }),
      }),
    );
    return this.segments(
      "View",
      this.parts.view,
      VIEWS.map((view) => VIEW_NAMES[view]),
    );
  }

  methods() {
    const { methods } = this.page.scores;
    this.parts.methods = methods.map((method) =>
      make("input", {
        type: "checkbox",
        name: `method-${this.number}`,
        value: method,
        onchange: (event) => this.page.choose(method, event.target.checked),
      }),
    );
    const group = this.segments(
      "Methods",
      this.parts.methods,
      methods.map((method) => SHORT[method]),
    );
    [...group.querySelectorAll("label")].forEach((label, at) => {
      label.dataset.method = methods[at];
      label.querySelector("span").prepend(make("i", { class: "swatch" }));
    });
    return group;
  }

  segments(title, inputs, names) {
    const labels = inputs.map((input, at) => make("label", {}, input, make("span", {}, names[at])));
    return make("fieldset", { class: "segments" }, make("legend", {}, title), ...labels);
  }

  layer() {
    const { layers } = this.page.scores;
    this.parts.layerText = make("span", {});
    this.parts.layer = make("input", {
      type: "range",
      min: 0,
      max: layers.length - 1,
      step: 1,
      oninput: (event) => this.page.moveLayer(layers[Number(event.target.value)]),
    });
    return make(
      "label",
      { class: "control layer" },
      make("span", {}, "Layer ", this.parts.layerText),
      this.parts.layer,
    );
  }

  query() {
    const select = make("select", { onchange: (event) => this.page.moveQuery(Number(event.target.value)) });
    this.parts.query = select;
    return make("label", { class: "control" }, make("span", {}, "Position"), select);
  }

  head() {
    const { heads } = this.page.scores.edges;
    const options = [make("option", { value: -1 }, "mean of all")];
    for (let head = 0; head < heads; head++) options.push(make("option", { value: head }, `head ${head}`));
    this.parts.head = make(
      "select",
      { onchange: (event) => this.page.change({ head: Number(event.target.value) }) },
      ...options,
    );
    return make(
      "label",
      { class: "control", title: "A head alone at the layer that attends; heads are averaged below it" },
      make("span", {}, "Heads"),
      this.parts.head,
    );
  }

  residual() {
    const list = make(
      "datalist",
      { id: `residuals-${this.number}` },
      ...RESIDUALS.map((value) => make("option", { value })),
    );
    this.parts.residual = make("input", {
      type: "number",
      min: 0,
      max: 0.99,
      step: 0.05,
      list: list.id,
      onchange: (event) => {
        const residual = residualFrom(String(event.target.value), this.page.data);
        if (residual === null) event.target.value = this.page.state.residual;
        else this.page.change({ residual });
      },
    });
    return make(
      "label",
      { class: "control", title: "Share of the residual connection in each layer, from 0 to below 1; raw attention has none" },
      make("span", {}, "Residual"),
      this.parts.residual,
      list,
    );
  }

  check(name, title, explained) {
    this.parts[name] = make("input", {
      type: "checkbox",
      onchange: (event) => this.page.change({ [name]: event.target.checked }),
    });
    return make("label", { class: "check", title: explained }, this.parts[name], make("span", {}, title));
  }

  zoom() {
    const step = (by) => () => this.page.zoomBy(by);
    this.parts.out = make("button", { type: "button", "aria-label": "Zoom out", onclick: step(-1) }, "−");
    this.parts.in = make("button", { type: "button", "aria-label": "Zoom in", onclick: step(1) }, "+");
    this.parts.zoom = make(
      "div",
      { class: "buttons", role: "group", "aria-label": "Zoom" },
      this.parts.out,
      this.parts.in,
    );
    return this.parts.zoom;
  }

  exports(exports) {
    this.parts.exports = Object.entries(exports).map(([name, run]) =>
      make("button", { type: "button", onclick: run }, name),
    );
    return make("div", { class: "buttons end", role: "group", "aria-label": "Save and share" }, ...this.parts.exports);
  }

  /** Show the state that the page is in. */
  show(state, { shown, zoomable, phone }) {
    const { parts, page } = this;
    for (const input of parts.view) input.checked = input.value === state.view;
    // A phone has room for one.
    for (const input of parts.methods) input.type = phone ? "radio" : "checkbox";
    for (const input of parts.methods) input.checked = shown.includes(input.value);
    const { layers } = page.scores;
    parts.layer.value = layers.indexOf(state.layer);
    parts.layer.disabled = layers.length < 2;
    parts.layer.setAttribute("aria-valuetext", `layer ${state.layer} of ${layers.at(-1)}`);
    putText(parts.layerText, `${state.layer} of ${layers.at(-1)}`);
    this.showQueries(state);
    if (parts.head) parts.head.value = state.head;
    if (parts.residual) parts.residual.value = state.residual;
    parts.normal.checked = state.normal;
    if (parts.words) parts.words.checked = state.words;
    parts.zoom.hidden = !zoomable;
    parts.out.disabled = state.zoom === ZOOMS[0];
    parts.in.disabled = state.zoom === ZOOMS.at(-1);
    for (const button of parts.exports)
      if (["SVG", "PNG"].includes(button.textContent)) button.disabled = state.view === "table";
  }

  /** Let a button say how it went, for a moment. */
  say(name, text) {
    const button = this.parts.exports.find((each) => each.textContent === name);
    if (!button || text === name) return;
    button.textContent = text;
    setTimeout(() => (button.textContent = name), SAID_FOR);
  }

  /** Positions of the layer by name; made anew only when they change. */
  showQueries(state) {
    const { level } = this.page;
    const names = level.labels(state.layer);
    if (this.names !== names) {
      this.names = names;
      const size = level.size(state.layer);
      this.parts.query.replaceChildren(
        ...Array.from({ length: size }, (_, node) =>
          make("option", { value: node }, positionText(node, level.label(state.layer, node))),
        ),
      );
    }
    this.parts.query.value = level.nodeOf(state.query);
  }
}
