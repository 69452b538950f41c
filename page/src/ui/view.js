/** The view of a document: holds the state and draws when it changes. */

/** @import { Ends, Focus, Method, NodeRef, PageData, State } from "../types.js" */

import { Level } from "../compute/level.js";
import { Scheduler } from "../compute/scheduler.js";
import { formatNode, helpFor } from "../draw/format.js";
import { pairNotes } from "../draw/notes.js";
import { applyPalette, watchTheme } from "../draw/theme.js";
import { EdgeChoices } from "./choices.js";
import { announceNode, captionOf, describeNode } from "./describe.js";
import { afterFrame, make, setText } from "./dom.js";
import { exportActions, makeLinkField } from "./export.js";
import { makeHeader } from "./header.js";
import { addKeyListeners, addPointerListeners, stepNode } from "./input.js";
import { Panels } from "./panels.js";
import { SinksLine } from "./sinks.js";
import { initialState, stateFromText, stateToText, ZOOMS } from "./state.js";
import { makeTable } from "./table.js";
import { Toolbar } from "./toolbar.js";
import { Tooltip } from "./tooltip.js";

/** Milliseconds without change until the table for screen readers is updated; chosen. */
const TABLE_DELAY = 150;

/**
 * @typedef {object} ViewOptions
 * @property {string} [state] text of a link
 * @property {(state: string) => void} [onState] called with the new state when it changes
 * @property {(state: string) => string} [linkOf] returns the part of an address from its # on that
 *   carries a state; without it there is no link to copy
 * @property {number} [heading] level of the title's heading; 2 where the page around has a title
 */

export class View {
  /** @param {ShadowRoot} root @param {PageData} data @param {ViewOptions} options */
  constructor(root, data, options) {
    this.data = data;
    this.options = options;
    this.scheduler = new Scheduler(() => {
      this.pictures.dropIncomplete();
      this.draw();
    });
    this.choices = new EdgeChoices(data, this.scheduler);
    this.initial = initialState(data, this.choices);
    this.state = stateFromText(options.state ?? "", data, this.choices);
    this.level = new Level(data, this.state.words);
    /** @type {NodeRef | null} */
    this.hover = null;
    /** @type {[number, number] | null} where the pointer is on the view, if there is a tooltip */
    this.pointer = null;
    /** @type {NodeRef | null} the node that the keyboard is at */
    this.cursor = null;
    this.frame = this.tableTimer = this.width = 0;
    /** When the pointer event happened that the next frame shows; 0 if there is none. */
    this.pointerTime = 0;
    this.toolbarKey = this.tableKey = "";
    const heading = options.heading ?? 2;
    this.panels = new Panels(data, this.choices, heading + 1, () => this.draw());
    this.toolbar = new Toolbar(this, exportActions(this));
    this.sinks = new SinksLine(this);
    this.caption = make("p", { class: "caption" });
    this.live = make("p", { class: "visually-hidden", role: "status", "aria-live": "polite" });
    // Screen readers skip the content of an application, so notes are repeated outside.
    this.notes = make("section", { class: "visually-hidden", "aria-label": "Notes" });
    this.link = makeLinkField();
    this.table = make("section", { class: "table", "aria-label": "Table of the scores" });
    this.tooltip = new Tooltip();
    this.help = make("p", { class: "help" });
    this.root = make(
      "div",
      { class: "attnflow" },
      makeHeader(data, heading),
      this.toolbar.element,
      this.link,
      this.sinks.element,
      this.caption,
      this.panels.element,
      this.notes,
      this.table,
      this.help,
      this.live,
      this.tooltip.element,
    );
    root.append(this.root);
    addKeyListeners(this.panels.element, this);
    addPointerListeners(this.panels, this);
    this.panels.element.addEventListener("blur", () => this.moveCursor(null));
    this.theme = watchTheme(() => this.draw());
    this.drawNow();
    this.observer = new ResizeObserver(() => {
      if (this.root.clientWidth !== this.width) this.drawNow();
    });
    this.observer.observe(this.root);
    requestAnimationFrame(() => afterFrame(() => this.start()));
  }

  /** Pictures with the chosen edge weights. */
  get pictures() {
    return this.choices.pictures(this.state.edges);
  }

  get scores() {
    return this.pictures.scores;
  }

  /** Start background work once the first picture is drawn. */
  start() {
    if (!this.root.isConnected) return;
    performance.mark("attnflow-first-picture");
    this.scheduler.start();
    const focusAt = (/** @type {NodeRef} */ at) => ({ ...this.focus(), highlighted: at, queryNode: at });
    if (this.panels.long) this.scheduler.request("warm up", () => this.panels.warmUp(focusAt));
  }

  /** @returns {Focus} */
  focus() {
    const { level, hover, cursor } = this;
    const state = this.scores.applicable(this.state);
    const { pin } = state;
    const selected = { layer: state.layer, node: level.nodeOf(state.query) };
    const pinned = pin && { layer: pin.layer, node: level.nodeOf(pin.position) };
    const highlighted = state.view === "graph" ? (pinned ?? hover ?? cursor) : null;
    const queryNode = highlighted && highlighted.layer > 0 ? highlighted : selected;
    return { state, level, hover, cursor, selected, highlighted, queryNode };
  }

  /** Change parts of the state; screen readers read the announcement.
   * @type {(part: Partial<State>, announcement?: string) => void} */
  change(part, announcement = "") {
    const before = this.state;
    this.state = { ...before, ...part };
    if (!this.state.pin) this.state.sink = null;
    if (this.state.words !== before.words) {
      this.level = new Level(this.data, this.state.words);
      this.hover = this.cursor = null;
    }
    if (
      /** @type {const} */ (["edges", "head", "residual", "keepSinks"]).some(
        (name) => this.state[name] !== before[name],
      )
    ) {
      this.scheduler.clear();
      // Their tasks are dropped: they request them again when they are next shown.
      this.choices.pictures(before.edges).dropIncomplete();
    }
    this.draw();
    if (announcement) setText(this.live, announcement);
    this.options.onState?.(this.stateText());
  }

  stateText() {
    return stateToText(this.state, this.initial);
  }

  /** Show the state of a link. @param {string} text */
  show(text) {
    if (text === this.stateText()) return;
    this.hover = this.cursor = null;
    this.change(stateFromText(text, this.data, this.choices));
  }

  /* Toolbar */

  /** @type {(method: Method, on: boolean) => void} */
  toggleMethod(method, on) {
    if (this.panels.narrow) {
      this.change({ alone: method });
      return;
    }
    const methods = this.scores.methods.filter((name) => (name === method ? on : this.state.methods.includes(name)));
    this.change(methods.length ? { methods, alone: null } : {});
  }

  /** @param {number} layer */
  selectLayer(layer) {
    this.select(layer, Math.min(this.state.query, this.data.sizes[layer] - 1));
  }

  /** @param {number} node */
  selectNode(node) {
    this.select(this.state.layer, this.level.positions(node)[0]);
  }

  /** Select a layer and a position; a pinned node moves along. @type {(layer: number, query: number) => void} */
  select(layer, query) {
    const pin = this.state.pin?.layer ? { layer, position: query } : this.state.pin;
    this.change({ layer, query, pin });
  }

  /** @param {number} steps */
  zoomBy(steps) {
    const zoom = ZOOMS[ZOOMS.indexOf(this.state.zoom) + steps];
    if (zoom) this.change({ zoom });
  }

  /* Pointer and keyboard */

  /** @type {(at: NodeRef | null, event: PointerEvent) => void} */
  hoverNode(at, event) {
    const moved = at?.layer !== this.hover?.layer || at?.node !== this.hover?.node;
    const { left, top } = this.root.getBoundingClientRect();
    this.hover = at;
    this.pointer = at && [event.clientX - left, event.clientY - top];
    if (moved) this.draw(event.timeStamp);
    else this.showTooltip();
  }

  /** Show the scores of the node under the pointer, which change while flow is solved. */
  showTooltip() {
    if (!this.hover || !this.pointer) {
      this.tooltip.hide();
      return;
    }
    const { left, top, width } = this.root.getBoundingClientRect();
    const content = describeNode(this.hover, this.panels.shown, this.pictures, this.focus());
    const cut = this.state.sink === null ? [] : this.panels.cutLines();
    const avoided = cut.map(([x1, y1, x2, y2]) => /** @type {Ends} */ ([x1 - left, y1 - top, x2 - left, y2 - top]));
    this.tooltip.show(content, ...this.pointer, width, avoided);
  }

  /** @param {NodeRef} at */
  clickNode(at) {
    const { view, pin } = this.state;
    const writer = at.layer === 0 ? this.level.writer(at.node) : null;
    if (writer !== null && !(view === "graph" && pin)) this.selectWriter(writer);
    else if (view === "text" || view === "grid") this.selectNode(at.node);
    else if (view === "graph") this.pinNode(at);
    else if (at.layer) this.selectLayer(at.layer);
  }

  /** Select the position that wrote a generated token. @param {number} position */
  selectWriter(position) {
    this.select(this.state.layer, position);
    setText(this.live, `Written by ${formatNode(this.level, this.state.layer, this.level.nodeOf(position))}`);
  }

  /** Pin a node, or with a pinned node the pair with a token; what is pinned already is unpinned.
   * @param {NodeRef} at */
  pinNode({ layer, node }) {
    const { pin, sink } = this.state;
    const position = this.level.positions(node)[0];
    const name = formatNode(this.level, layer, node);
    if (layer === 0 && pin?.layer) {
      if (sink === position) this.change({ sink: null }, "Pair unpinned");
      else {
        this.change({ sink: position });
        setText(this.live, [`Pair with ${name}.`, ...this.pairNotes()].join(" "));
      }
    } else if (pin?.layer === layer && pin.position === position) this.change({ pin: null }, "Unpinned");
    else {
      const selected = layer ? { layer, query: position } : {};
      this.change({ pin: { layer, position }, sink: null, ...selected }, `Pinned ${name}`);
    }
  }

  /** Return the notes about the pinned pair, if flow is shown. */
  pairNotes() {
    if (!this.scores.methods.includes("flow")) return [];
    const focus = this.focus();
    return pairNotes(this.pictures.pair(focus), focus, this.scores.solver !== null);
  }

  /** Move the cursor of a graph, else the selection. @type {(layers: number, nodes: number) => void} */
  step(layers, nodes) {
    const { selected, highlighted } = this.focus();
    const isGraph = this.state.view === "graph";
    const rows = isGraph ? [0, ...this.scores.layers] : this.scores.layers;
    const start = isGraph ? (this.cursor ?? highlighted ?? selected) : selected;
    const next = stepNode(start, layers, nodes, rows, (layer) => this.level.size(layer));
    this.hover = null;
    if (isGraph) this.moveCursor(next);
    if (next.layer && !(isGraph && this.state.pin))
      this.change({ layer: next.layer, query: this.level.positions(next.node)[0] });
    setText(this.live, announceNode(next, this.panels.shown, this.pictures, this.focus()));
    this.panels.reveal(next);
  }

  /** @param {NodeRef | null} at */
  moveCursor(at) {
    this.cursor = at;
    this.draw();
  }

  pinCursor() {
    if (this.state.view === "graph") this.pinNode(this.cursor ?? this.focus().selected);
  }

  unpin() {
    this.pointer = null;
    if (this.state.sink !== null) this.change({ sink: null }, "Pair unpinned");
    else if (this.state.pin) this.change({ pin: null }, "Unpinned");
    else this.moveCursor(null);
  }

  /* Drawing */

  /** Draw in the next frame; `pointerTime` is when a pointer event asked for it. @param {number} [pointerTime] */
  draw(pointerTime = 0) {
    this.pointerTime ||= pointerTime;
    if (pointerTime) this.scheduler.pause();
    this.frame ||= requestAnimationFrame(() => {
      this.drawNow();
      const start = this.pointerTime;
      this.pointerTime = 0;
      if (!start) return;
      afterFrame(() => {
        performance.clearMeasures("attnflow-hover");
        performance.measure("attnflow-hover", { start, end: performance.now() });
      });
    });
  }

  drawNow() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const { palette } = this.theme;
    const { view } = this.state;
    const focus = this.focus();
    this.width = this.root.clientWidth;
    applyPalette(this.root, palette);
    this.root.dataset.view = view;
    // It may need scrolling.
    this.table.tabIndex = view === "table" ? 0 : -1;
    this.panels.arrange(focus, this.panels.element.clientWidth || this.width);
    const toolbarKey = JSON.stringify([this.state, this.width]);
    if (this.toolbarKey !== toolbarKey) this.toolbar.show(this.state, this.panels);
    this.toolbarKey = toolbarKey;
    this.sinks.show(this.state, this.scores);
    setText(this.caption, captionOf(focus, this.panels.shown, this.scores));
    setText(this.help, helpFor(view, this.data));
    this.panels.draw(focus, palette);
    this.showTooltip();
    clearTimeout(this.tableTimer);
    this.table.setAttribute("aria-busy", "true");
    if (view === "table") this.drawTable();
    else this.tableTimer = setTimeout(() => this.drawTable(), TABLE_DELAY);
  }

  drawTable() {
    const focus = this.focus();
    const caption = captionOf({ ...focus, queryNode: focus.selected }, this.scores.methods, this.scores);
    this.notes.hidden = this.state.view === "table";
    this.notes.replaceChildren(...this.panels.methodNotes(focus).map((note) => make("p", {}, note)));
    const key = JSON.stringify([this.state, this.scores.solver?.solved]);
    if (this.tableKey !== key) this.table.replaceChildren(makeTable(caption, this.pictures, focus));
    this.tableKey = key;
    if (!this.scheduler.tasks.size) this.table.removeAttribute("aria-busy");
  }

  destroy() {
    this.scheduler.clear();
    this.observer.disconnect();
    this.panels.destroy();
    this.theme.stop();
    clearTimeout(this.tableTimer);
    cancelAnimationFrame(this.frame);
  }
}
