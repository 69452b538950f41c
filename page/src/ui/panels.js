/** All panels: in a row, or stacked where columns would be too narrow. */

/** @import { Ends, Focus, Method, NodeRef, PageData, Palette, Scale, Scene, TextPiece, Vector } from "../types.js" */
/** @import { EdgeChoices } from "./choices.js" */

import { countEdges } from "../compute/edges.js";
import { figureScene, textScene } from "../draw/figure.js";
import { helpFor, importanceName, methodTitle } from "../draw/format.js";
import { columnWidth, UPRIGHT_FROM } from "../draw/layout.js";
import { colorBar, figureLegend } from "../draw/legend.js";
import { writtenNode } from "../draw/picture.js";
import { make } from "./dom.js";
import { Panel } from "./panel.js";
import { textPieces } from "./text.js";

/** The width in pixels below which one method is shown at a time; chosen: two panels would be unreadable. */
const NARROW = 620;
/** The padding of a panel and half a gap, in pixels; as in the style sheet. */
const PADDING = 48;
/** Edges up to which each is an SVG element; chosen: a frame draws them. */
const SVG_EDGES = 2000;
/** Edges above which hidden panels are not drawn; chosen: where drawing takes a while. */
const LONG = 200000;
/** The space left of the columns before names are known, in pixels; chosen: between wide and narrow. */
const MARGIN = 44;
/** The width of a column in pixels below which zoom is offered; chosen: a slanted label still fits. */
const ZOOM_BELOW = 24;

export class Panels {
  /**
   * @param {PageData} data
   * @param {EdgeChoices} choices
   * @param {number} headingLevel
   * @param {() => void} onReveal called when an outdated panel becomes visible
   */
  constructor(data, choices, headingLevel, onReveal) {
    this.data = data;
    this.choices = choices;
    const edges = countEdges(data.sizes);
    this.long = edges > LONG;
    /** @type {(left: number) => void} all pictures show the same columns */
    const onScroll = (left) => {
      for (const panel of this.visible) if (Math.abs(panel.left - left) > 1) panel.scroller.scrollLeft = left;
    };
    const { methods } = choices.first;
    this.all = methods.map((method) => new Panel(method, edges > SVG_EDGES, headingLevel, onScroll));
    this.element = make(
      "div",
      { class: "panels", tabindex: 0, role: "application" },
      ...this.all.map((panel) => panel.element),
    );
    this.observer = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) {
          const panel = this.all.find(({ element }) => element === target);
          if (panel) panel.inWindow = isIntersecting;
        }
        if (this.visible.some((panel) => panel.inWindow && panel.outdated)) onReveal();
      },
      { rootMargin: "150px" },
    );
    for (const panel of this.all) this.observer.observe(panel.element);
    /** @type {Method[]} */
    this.shown = methods;
    this.narrow = this.stacked = this.zoomable = false;
    this.arrangement = "";
    /** @type {Focus["level"] | null} whose pieces are cached */
    this.level = null;
    /** @type {TextPiece[]} */
    this.pieces = [];
  }

  /** Decide which panels are shown where; measures only when that changes.
   * @type {(focus: Focus, width: number) => void} */
  arrange({ state, level }, width) {
    this.narrow = width < NARROW;
    // Rollout says most on its own: raw attention is of one layer, and flow is often saturated.
    const first = state.methods.includes("rollout") ? "rollout" : state.methods[0];
    this.shown = this.narrow ? [state.alone ?? first] : state.methods;
    const panelWidth = width / this.shown.length - PADDING;
    const size = Math.max(...this.data.sizes.map((_, layer) => level.size(layer)));
    const tooNarrow = state.view !== "grid" && columnWidth(panelWidth, size, MARGIN) < UPRIGHT_FROM;
    this.stacked = state.view !== "text" && this.shown.length > 1 && tooNarrow;
    const column = columnWidth(this.stacked ? width - PADDING : panelWidth, size, MARGIN);
    this.zoomable = ["graph", "heatmap"].includes(state.view) && (column < ZOOM_BELOW || state.zoom > 1);
    const key = [state.view, this.shown, width, this.stacked].join(" ");
    if (this.arrangement === key) return;
    this.arrangement = key;
    this.element.classList.toggle("stacked", this.stacked);
    this.element.hidden = state.view === "table";
    this.element.setAttribute("aria-label", `Token attention. ${helpFor(state.view, this.data)}`);
    for (const panel of this.all) {
      panel.element.hidden = !this.shown.includes(panel.method);
      panel.setView(state.view);
    }
    for (const panel of this.visible) {
      panel.width = panel.scroller.clientWidth;
      // Until the observer knows.
      panel.inWindow = panel.element.getBoundingClientRect().top < globalThis.innerHeight;
    }
  }

  get visible() {
    return this.all.filter((panel) => this.shown.includes(panel.method));
  }

  /** @type {(focus: Focus, palette: Palette) => void} */
  draw(focus, palette) {
    const { view, edges } = focus.state;
    if (view === "table") return;
    const pictures = this.choices.pictures(edges);
    for (const panel of this.visible) {
      panel.setEdges(edges);
      panel.outdated = this.long && view !== "text" && !panel.inWindow;
      if (panel.outdated) panel.reserve(pictures.size(panel.width, focus));
      else if (view !== "text") {
        const importance = view === "grid" ? [] : this.data.importance;
        const picture = pictures.create(panel.method, panel.width, focus);
        panel.draw(picture, palette, importance, view !== "grid" && this.data.generated > 0);
      } else {
        const content = this.textContent(panel.method, focus);
        panel.showText(this.textPieces(focus), content, focus.selected.node, writtenNode(focus), palette);
      }
    }
  }

  /** Return the pieces of the text, the same array while the level is the same.
   * @type {(focus: Focus) => TextPiece[]} */
  textPieces({ level }) {
    if (this.level !== level) this.pieces = textPieces(this.data, level);
    this.level = level;
    return this.pieces;
  }

  /** Return where the edges of a cut are in the window. @returns {Ends[]} */
  cutLines() {
    return this.visible.flatMap(({ picture, inner }) => {
      const { left, top } = inner.getBoundingClientRect();
      const lines = picture?.cutLines ?? [];
      return lines.map(([x1, y1, x2, y2]) => /** @type {Ends} */ ([x1 + left, y1 + top, x2 + left, y2 + top]));
    });
  }

  /** Return scores, if known, their color scale and notes of the text view.
   * @type {(method: Method, focus: Focus) => { scores: Vector | null, scale: Scale, notes: string[] }} */
  textContent(method, focus) {
    const { selected, state } = focus;
    const pictures = this.choices.pictures(state.edges);
    const scores = pictures.tokenRow(method, selected, focus);
    const missing = scores ? [] : [pictures.scores.reason(method, selected.layer, state)];
    const scale = pictures.scale(scores, selected.node, focus);
    return { scores, scale, notes: [...missing, ...pictures.flowNotes(method, focus)] };
  }

  /** Return the notes of all panels with the name of the method. @type {(focus: Focus) => string[]} */
  methodNotes({ state: { edges } }) {
    return this.visible.flatMap(({ method, noteText }) =>
      noteText ? `${methodTitle(method, edges)}: ${noteText}` : [],
    );
  }

  /** Scroll a node into view. @param {NodeRef} at */
  reveal(at) {
    this.visible[0]?.reveal(at);
  }

  /** Return all visible panels as one scene. @type {(focus: Focus, caption: string) => Scene} */
  figure(focus, caption) {
    const { view, edges } = focus.state;
    const isText = view === "text";
    const panels = this.visible.map(({ method, width }) => {
      const title = methodTitle(method, edges);
      if (isText) {
        const { scores, scale, notes } = this.textContent(method, focus);
        const scene = textScene(method, this.textPieces(focus), scores, scale.max);
        return { method, title, scene, legend: colorBar(scale, method), notes };
      }
      const picture = this.choices.pictures(edges).create(method, width, focus);
      return { method, title, scene: picture.scene, legend: figureLegend(picture, method), notes: picture.notes };
    });
    const importance =
      isText || view === "grid" ? [] : this.data.importance.map(({ method }) => importanceName(method));
    return figureScene(panels, this.stacked || isText, caption, importance);
  }

  /** Create pictures of a long input without showing them, so that the code of a hover is compiled; none of flow,
   * which would have to be solved.
   * @type {(focusAt: (at: NodeRef) => Focus) => Generator<void, void>} */
  *warmUp(focusAt) {
    for (const layer of this.choices.first.layers) {
      for (const { method, width } of this.visible) {
        yield;
        if (method === "flow") continue;
        const focus = focusAt({ layer, node: layer });
        this.choices.pictures(focus.state.edges).create(method, width, focus);
      }
    }
  }

  destroy() {
    this.observer.disconnect();
  }
}
