/** The controls: native elements, each with a label. */

/** @import { Method, State } from "../types.js" */
/** @import { Attributes } from "./dom.js" */
/** @import { Panels } from "./panels.js" */
/** @import { View } from "./view.js" */

import { hasWords } from "../compute/level.js";
import { edgesName, formatPosition } from "../draw/format.js";
import { make, setText } from "./dom.js";
import { residualFrom, viewsOf, ZOOMS } from "./state.js";

const VIEW_NAMES = { grid: "Grid", graph: "Graph", heatmap: "Heat map", text: "Text", table: "Table" };
const METHOD_NAMES = { raw: "Raw", rollout: "Rollout", flow: "Flow" };
/** Suggested residuals; any other can be typed. Chosen: quarters, with the paper's half. */
const RESIDUALS = [0, 0.25, 0.5, 0.75];
const FIELD_TITLE =
  "Divide scores by those of uniform attention: in a decoder, more positions see early tokens, which favors these";
/** Milliseconds that a button shows a message; chosen: long enough to read it. */
const FLASH_TIME = 1600;

/** Makes names of radio buttons and lists unique among the pages of one document. */
let toolbars = 0;

export class Toolbar {
  /** @param {View} view @param {Record<string, () => void>} actions of the buttons, by name */
  constructor(view, actions) {
    this.view = view;
    this.id = ++toolbars;
    const { data, choices } = view;
    const { attention } = choices;
    const views = viewsOf(data);
    this.views = views.map((name) =>
      make("input", {
        type: "radio",
        name: `view-${this.id}`,
        value: name,
        onchange: () => view.change({ view: name }),
      }),
    );
    this.methods = choices.first.methods.map((method) => this.makeMethod(method));
    this.layerText = make("span");
    this.layer = this.makeLayer();
    this.position = make("select", { onchange: () => view.selectNode(Number(this.position.value)) });
    this.edges = this.makeEdges();
    this.heads = this.makeHeads();
    this.residual = this.makeResidual();
    /** Controls of attention, and why they are not there for other edge weights. */
    this.adjustments = [
      ...((attention?.edges?.heads ?? 0) > 1 ? [this.makeHeadsControl()] : []),
      ...(attention ? [this.makeResidualControl()] : []),
    ];
    const names = this.adjustments.length > 1 ? "Heads and residual" : "The residual";
    this.field = this.makeCheckbox("field");
    if (attention?.field) this.adjustments.push(makeCheck("Receptive field", this.field, FIELD_TITLE));
    this.reason = make("p", { class: "reason", hidden: true }, `${names} can be chosen for attention only.`);
    this.normal = this.makeCheckbox("normal");
    this.words = this.makeCheckbox("words");
    this.zoomOut = makeButton("−", () => view.zoomBy(-1), "Zoom out");
    this.zoomIn = makeButton("+", () => view.zoomBy(1), "Zoom in");
    this.zoom = make("div", { class: "buttons", role: "group", "aria-label": "Zoom" }, this.zoomOut, this.zoomIn);
    this.buttons = Object.entries(actions).map(([name, run]) => makeButton(name, run));
    /** @type {string[]} labels of the positions */
    this.labels = [];
    this.element = make(
      "div",
      { class: "toolbar", role: "group", "aria-label": "Display options" },
      makeSegments(
        "View",
        this.views,
        views.map((name) => VIEW_NAMES[name]),
      ),
      this.makeMethods(),
      ...(choices.names.length > 1
        ? [makeControl(["Edges"], [this.edges], { title: "What the edges of the graph weigh" })]
        : []),
      makeControl(["Layer ", this.layerText], [this.layer], { class: "control layer" }),
      makeControl(["Position"], [this.position]),
      ...this.adjustments,
      this.reason,
      makeCheck("Rows sum to one", this.normal, "Divide the scores of each position by their sum"),
      ...(hasWords(data) ? [makeCheck("Words", this.words, "Show words instead of tokens")] : []),
      this.zoom,
      make("div", { class: "buttons end", role: "group", "aria-label": "Save and share" }, ...this.buttons),
    );
  }

  /** @type {(method: Method) => HTMLInputElement} */
  makeMethod(method) {
    const name = `method-${this.id}`;
    const onchange = () => this.view.toggleMethod(method, input.checked);
    const input = make("input", { type: "checkbox", name, value: method, onchange });
    return input;
  }

  makeMethods() {
    const { methods } = this.view.scores;
    const names = methods.map((method) => METHOD_NAMES[method]);
    const group = makeSegments("Methods", this.methods, names);
    group.querySelectorAll("label").forEach((label, at) => {
      label.dataset.method = methods[at];
      label.lastElementChild?.prepend(make("i", { class: "swatch" }));
    });
    return group;
  }

  makeLayer() {
    const { layers } = this.view.scores;
    const oninput = () => this.view.selectLayer(layers[Number(slider.value)]);
    const slider = make("input", { type: "range", min: 0, max: layers.length - 1, step: 1, oninput });
    return slider;
  }

  makeEdges() {
    const options = this.view.choices.names.map((name) => make("option", { value: name }, edgesName(name)));
    const onchange = () => this.view.change({ edges: select.value }, `Edges: ${edgesName(select.value)}`);
    const select = make("select", { onchange }, ...options);
    return select;
  }

  makeHeads() {
    const heads = Array(this.view.choices.attention?.edges?.heads ?? 0).keys();
    const options = Array.from(heads, (head) => make("option", { value: head }, `head ${head}`));
    const onchange = () => this.view.change({ head: Number(select.value) });
    const select = make("select", { onchange }, make("option", { value: -1 }, "mean of all"), ...options);
    return select;
  }

  makeHeadsControl() {
    return makeControl(["Heads"], [this.heads], { title: "One head at the selected layer, mean of heads below it" });
  }

  makeResidual() {
    const { view } = this;
    const onchange = () => {
      const residual = residualFrom(input.value);
      if (residual === null) input.value = String(view.state.residual);
      else view.change({ residual });
    };
    const list = `residuals-${this.id}`;
    const input = make("input", { type: "number", min: 0, max: 0.99, step: 0.05, list, onchange });
    return input;
  }

  makeResidualControl() {
    const options = RESIDUALS.map((value) => make("option", { value }));
    const list = make("datalist", { id: `residuals-${this.id}` }, ...options);
    const title = "Weight of the residual connection in each layer, from 0 to below 1; raw attention has none";
    return makeControl(["Residual"], [this.residual, list], { title });
  }

  /** @type {(name: "normal" | "field" | "words") => HTMLInputElement} */
  makeCheckbox(name) {
    const onchange = () => this.view.change({ [name]: input.checked });
    const input = make("input", { type: "checkbox", onchange });
    return input;
  }

  /** Show a state. @type {(state: State, panels: Panels) => void} */
  show(state, { shown, zoomable, narrow }) {
    const { layers } = this.view.scores;
    for (const input of this.views) input.checked = input.value === state.view;
    for (const input of this.methods) {
      // A narrow page has space for one.
      input.type = narrow ? "radio" : "checkbox";
      input.checked = shown.some((method) => method === input.value);
    }
    this.layer.value = String(layers.indexOf(state.layer));
    this.layer.disabled = layers.length < 2;
    const { layer_names } = this.view.data;
    const named = layer_names ? `, ${layer_names[state.layer]}` : "";
    this.layer.setAttribute("aria-valuetext", `layer ${state.layer} of ${layers.at(-1)}${named}`);
    setText(this.layerText, `${state.layer} of ${layers.at(-1)}${named}`);
    this.showPositions(state);
    this.edges.value = state.edges;
    const adjustable = this.view.scores === this.view.choices.attention;
    for (const control of this.adjustments) control.hidden = !adjustable;
    this.reason.hidden = adjustable || !this.adjustments.length;
    this.heads.value = String(state.head);
    this.residual.value = String(state.residual);
    this.normal.checked = state.normal;
    this.field.checked = state.field;
    this.words.checked = state.words;
    this.zoom.hidden = !zoomable;
    this.zoomOut.disabled = state.zoom === ZOOMS[0];
    this.zoomIn.disabled = state.zoom === ZOOMS.at(-1);
    for (const button of this.buttons)
      if (["SVG", "PNG"].includes(button.textContent ?? "")) button.disabled = state.view === "table";
  }

  /** Show a message on a button for a moment. @type {(name: string, message: string) => void} */
  flashLabel(name, message) {
    const button = this.buttons.find(({ textContent }) => textContent === name);
    if (!button) return;
    button.textContent = message;
    setTimeout(() => setText(button, name), FLASH_TIME);
  }

  /** Show the positions of the layer; the options are replaced only when they change. @param {State} state */
  showPositions(state) {
    const { level } = this.view;
    const labels = level.names(state.layer);
    if (this.labels !== labels) {
      this.labels = labels;
      const options = Array.from({ length: level.size(state.layer) }, (_, node) =>
        make("option", { value: node }, formatPosition(node, level.label(state.layer, node))),
      );
      this.position.replaceChildren(...options);
    }
    this.position.value = String(level.nodeOf(state.query));
  }
}

/** @type {(title: string, inputs: HTMLInputElement[], names: string[]) => HTMLFieldSetElement} */
function makeSegments(title, inputs, names) {
  const labels = inputs.map((input, at) => make("label", {}, input, make("span", {}, names[at])));
  return make("fieldset", { class: "segments" }, make("legend", {}, title), ...labels);
}

/** @type {(name: (string | Node)[], elements: Node[], attributes?: Attributes) => HTMLLabelElement} */
function makeControl(name, elements, attributes = {}) {
  return make("label", { class: "control", ...attributes }, make("span", {}, ...name), ...elements);
}

/** @type {(name: string, input: HTMLInputElement, title: string) => HTMLLabelElement} */
function makeCheck(name, input, title) {
  return make("label", { class: "check", title }, input, make("span", {}, name));
}

/** @type {(name: string, onclick: () => void, label?: string) => HTMLButtonElement} */
function makeButton(name, onclick, label) {
  return make("button", { type: "button", "aria-label": label, onclick }, name);
}
