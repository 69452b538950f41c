/** The page put together: one object that holds the state, and draws when it changes. */

import { make, putText } from "./dom.js";
import { headerOf } from "./header.js";
import { listenToKeys, stepped } from "./keyboard.js";
import { Level } from "../compute/level.js";
import { pairNotes } from "../draw/notes.js";
import { Pictures } from "../draw/picture.js";
import { listenToPointer } from "./pointer.js";
import { Scores } from "../compute/scores.js";
import { captionOf, spokenOf, tooltipOf } from "./describe.js";
import { Slices } from "../compute/scheduler.js";
import { Stage } from "./stage.js";
import { ZOOMS, firstState, stateFrom, stateText } from "./state.js";
import { TableView } from "./table.js";
import { linkField, takeAways } from "./export-buttons.js";
import { putColours, watchTheme } from "../draw/theme.js";
import { afterFrame, measureHover } from "./timing.js";
import { Toolbar } from "./toolbar.js";
import { Tooltip } from "./tooltip.js";
import { HELP, nodeText } from "../draw/format.js";

/** Milliseconds that the table for screen readers waits while things move; chosen: as one pauses. */
const TABLE_WAITS = 150;

export class Page {
  constructor(root, data, options) {
    this.data = data;
    this.options = options;
    this.slices = new Slices(() => this.learn());
    this.scores = new Scores(data, this.slices);
    this.pictures = new Pictures(data, this.scores);
    this.first = firstState(data, this.scores);
    this.state = stateFrom(options.state, data, this.scores);
    this.level = new Level(data, this.state.words);
    this.hover = this.cursor = null;
    this.build(root);
    this.theme = watchTheme(() => this.draw());
    this.drawNow();
    this.resized = new ResizeObserver(() => this.root.clientWidth !== this.width && this.drawNow());
    this.resized.observe(this.root);
    requestAnimationFrame(() => afterFrame(() => this.begin()));
  }

  /** The first picture is there: time for all that is not needed at once. */
  begin() {
    if (!this.root.isConnected) return;
    performance.mark("attnflow-first-picture");
    this.slices.start();
    this.stage.warmUp((at) => ({ ...this.looking(), lit: at, shown: at }), this.slices);
  }

  build(root) {
    this.heading = this.options.heading ?? 2;
    this.stage = new Stage(this.data, this.pictures, this.heading + 1, () => this.draw());
    this.toolbar = new Toolbar(this, takeAways(this));
    this.caption = make("p", { class: "caption" });
    this.live = make("p", { class: "unseen", role: "status", "aria-live": "polite" });
    // Screen readers skip what stands inside an application: notes are there for them again outside.
    this.notes = make("section", { class: "unseen", "aria-label": "Notes" });
    this.link = linkField();
    this.table = new TableView();
    this.tooltip = new Tooltip();
    this.help = make("p", { class: "help" });
    const top = [headerOf(this.data, this.heading), this.toolbar.element, this.link, this.caption];
    const rest = [this.notes, this.table.element, this.help, this.live, this.tooltip.element];
    this.root = make("div", { class: "attnflow" }, ...top, this.stage.element, ...rest);
    root.append(this.root);
    listenToKeys(this.stage.element, this);
    listenToPointer(this.stage, this);
    this.stage.element.addEventListener("blur", () => this.moveCursor(null));
  }

  /** All that pictures and sentences depend on. */
  looking() {
    const { state, level, hover, cursor } = this;
    const selected = { layer: state.layer, node: level.nodeOf(state.query) };
    const pin = state.pin && { layer: state.pin.layer, node: level.nodeOf(state.pin.position) };
    const lit = state.view === "graph" ? (pin ?? hover ?? cursor) : null;
    return { state, level, hover, cursor, selected, lit, shown: lit?.layer > 0 ? lit : selected };
  }

  change(part, spoken = "") {
    const before = this.state;
    this.state = { ...before, ...part };
    if (!this.state.pin) this.state.sink = null;
    if (this.state.words !== before.words) {
      this.level = new Level(this.data, this.state.words);
      this.hover = this.cursor = null;
    }
    if (this.state.head !== before.head || this.state.residual !== before.residual) {
      this.slices.clear();
      // Their work is dropped: they ask for it again when they are next seen.
      this.pictures.forgetParts();
    }
    this.draw();
    if (spoken) putText(this.live, spoken);
    this.options.onState?.(this.stateText());
  }

  stateText() {
    return stateText(this.state, this.first);
  }

  /** Show what a link carries. */
  show(text) {
    if (text === this.stateText()) return;
    this.hover = this.cursor = null;
    this.change(stateFrom(text, this.data, this.scores));
  }

  // ---- the toolbar

  choose(method, on) {
    if (this.stage.phone) return this.change({ alone: method });
    const methods = this.scores.methods.filter((each) => (each === method ? on : this.state.methods.includes(each)));
    return this.change(methods.length ? { methods, alone: null } : {});
  }

  moveLayer(layer) {
    this.moveTo(layer, Math.min(this.state.query, this.data.sizes[layer] - 1));
  }

  moveQuery(node) {
    this.moveTo(this.state.layer, this.level.positions(node)[0]);
  }

  /** Another position of interest; a pinned node goes along. */
  moveTo(layer, query) {
    const pin = this.state.pin?.layer ? { layer, position: query } : this.state.pin;
    this.change({ layer, query, pin });
  }

  zoomBy(by) {
    const zoom = ZOOMS[ZOOMS.indexOf(this.state.zoom) + by];
    if (zoom) this.change({ zoom });
  }

  // ---- pointer and keys

  pointAt(at, event) {
    const moved = at?.layer !== this.hover?.layer || at?.node !== this.hover?.node;
    this.hover = at;
    if (moved) this.draw(event.timeStamp);
    if (!at) return this.tooltip.hide();
    const frame = this.root.getBoundingClientRect();
    const content = tooltipOf(at, this.stage.shown, this.pictures, this.looking());
    return this.tooltip.show(content, event.clientX - frame.left, event.clientY - frame.top, frame.width);
  }

  pressAt(at) {
    if (this.state.view === "heatmap") return at.layer ? this.moveLayer(at.layer) : undefined;
    if (this.state.view === "text") return this.moveQuery(at.node);
    return this.pinAt({ layer: at.layer, position: this.level.positions(at.node)[0] });
  }

  /** Pin a node; with a node pinned, a token makes a pair; what is pinned already is let go. */
  pinAt({ layer, position }) {
    const { pin, sink } = this.state;
    const name = nodeText(layer, this.level.label(layer, this.level.nodeOf(position)), this.level.nodeOf(position));
    if (layer === 0 && pin?.layer) {
      if (sink === position) return this.change({ sink: null }, "Pair let go");
      this.change({ sink: position });
      return putText(this.live, [`Pair with ${name}.`, ...this.pairNotes()].join(" "));
    }
    if (pin?.layer === layer && pin.position === position) return this.change({ pin: null }, "Let go");
    const selected = layer ? { layer, query: position } : {};
    return this.change({ pin: { layer, position }, sink: null, ...selected }, `Pinned ${name}`);
  }

  /** What is to be said about the pinned pair, where its flow is looked at. */
  pairNotes() {
    if (!this.scores.methods.includes("flow")) return [];
    return pairNotes(this.pictures.pair(this.looking()), this.looking(), this.scores.flows !== null);
  }

  step(layers, nodes) {
    const { selected, lit } = this.looking();
    const graph = this.state.view === "graph";
    const rows = graph ? [0, ...this.scores.layers] : this.scores.layers;
    const start = graph ? (this.cursor ?? lit ?? selected) : selected;
    const next = stepped(start, layers, nodes, rows, (layer) => this.level.size(layer));
    this.hover = null;
    if (graph) this.moveCursor(next);
    if (next.layer && !(graph && this.state.pin))
      this.change({ layer: next.layer, query: this.level.positions(next.node)[0] });
    putText(this.live, spokenOf(next, this.stage.shown, this.pictures, this.looking()));
    this.stage.reveal(next);
  }

  moveCursor(next) {
    this.cursor = next;
    this.draw();
  }

  pinCursor() {
    const at = this.cursor ?? this.looking().selected;
    if (this.state.view === "graph") this.pinAt({ layer: at.layer, position: this.level.positions(at.node)[0] });
  }

  letGo() {
    this.tooltip.hide();
    if (this.state.sink !== null) this.change({ sink: null }, "Pair let go");
    else if (this.state.pin) this.change({ pin: null }, "Let go");
    else this.moveCursor(null);
  }

  // ---- drawing

  learn() {
    this.pictures.forgetParts();
    this.draw();
  }

  /** Draw in the next frame; `asked` is when a pointer asked for it. */
  draw(asked) {
    this.asked ??= asked;
    if (asked) this.slices.pause();
    this.frame ??= requestAnimationFrame(() => {
      this.drawNow();
      if (this.asked !== undefined) afterFrame(measureHover(this.asked));
      this.asked = undefined;
    });
  }

  drawNow() {
    cancelAnimationFrame(this.frame);
    this.frame = undefined;
    const { palette } = this.theme;
    const looking = this.looking();
    this.width = this.root.clientWidth;
    putColours(this.root, palette);
    this.root.dataset.view = this.state.view;
    // It may have to be scrolled.
    this.table.element.tabIndex = this.state.view === "table" ? 0 : -1;
    this.stage.arrange(looking, this.stage.element.clientWidth || this.width);
    if (this.tooled !== this.state || this.toolWidth !== this.width) this.toolbar.show(this.state, this.stage);
    [this.tooled, this.toolWidth] = [this.state, this.width];
    putText(this.caption, captionOf(looking, this.scores));
    putText(this.help, HELP[this.state.view]);
    this.stage.draw(looking, palette);
    clearTimeout(this.tableTimer);
    this.table.element.setAttribute("aria-busy", "true");
    if (this.state.view === "table") this.drawTable();
    else this.tableTimer = setTimeout(() => this.drawTable(), TABLE_WAITS);
  }

  drawTable() {
    const looking = { ...this.looking(), shown: this.looking().selected };
    this.notes.hidden = this.state.view === "table";
    this.notes.replaceChildren(...this.stage.spokenNotes().map((note) => make("p", {}, note)));
    const key = JSON.stringify([this.state, this.scores.flows?.solved]);
    if (this.tabled !== key) this.table.show(captionOf(looking, this.scores), this.pictures, looking);
    this.tabled = key;
    if (!this.slices.waiting.size) this.table.element.removeAttribute("aria-busy");
  }

  destroy() {
    this.slices.clear();
    this.resized.disconnect();
    this.stage.destroy();
    this.theme.stop();
    clearTimeout(this.tableTimer);
    cancelAnimationFrame(this.frame);
  }
}
