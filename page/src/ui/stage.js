/** The panels side by side, or one below the other where columns would be too narrow. */

import { make } from "./dom.js";
import { figureOf, textScene } from "./export.js";
import { UPRIGHT_FROM, columnWidth } from "../draw/layout.js";
import { legendLine } from "../draw/legend.js";
import { Panel } from "./panel.js";
import { textPieces } from "./text.js";
import { HELP, TITLES, importanceName } from "../draw/format.js";

/** Pixels under which one method is shown at a time; chosen: two panels would be too narrow to read. */
const PHONE = 620;
/** Pixels beside a picture: edges of its panel and half a gap to the next; chosen in the style sheet. */
const BESIDE = 48;
/** Edges up to which each is an element of its own, above them a canvas. Chosen: a frame draws them. */
const SVG_EDGES = 2000;
/** Edges of a graph above which panels out of sight are not drawn; chosen: where drawing takes a while. */
const LONG = 200000;
/** Pixels left of the columns that are reckoned with before names are known; chosen: between wide and narrow. */
const MARGIN = 44;
/** Pixels of a column under which zoom is of use; chosen: a slanted label still has room. */
const ZOOMED_UNDER = 24;

export class Stage {
  /**
   * @param {object} data
   * @param {import("../draw/picture.js").Pictures} pictures
   * @param {number} heading level of the panels' headings
   * @param {() => void} onSight called when a panel comes into sight that has not been drawn
   */
  constructor(data, pictures, heading, onSight) {
    this.data = data;
    this.pictures = pictures;
    this.methods = pictures.scores.methods;
    const edges = data.sizes.reduce((sum, size, layer) => sum + (layer ? size * data.sizes[layer - 1] : 0), 0);
    const scrolled = (left) => this.scrollAll(left);
    this.panels = this.methods.map((method) => new Panel(method, edges > SVG_EDGES, heading, scrolled));
    this.element = make(
      "div",
      { class: "stage", tabindex: 0, role: "application" },
      ...this.panels.map((panel) => panel.element),
    );
    this.long = edges > LONG;
    this.sight = new IntersectionObserver(
      (changes) => {
        for (const { target, isIntersecting } of changes) this.panelOf(target).inSight = isIntersecting;
        if (this.visible.some((panel) => panel.inSight && panel.stale)) onSight();
      },
      { rootMargin: "150px" },
    );
    for (const panel of this.panels) this.sight.observe(panel.element);
  }

  panelOf(element) {
    return this.panels.find((panel) => panel.element === element);
  }

  /** Decide what is seen where; measures only when that changes. */
  arrange({ state, level }, width) {
    this.phone = width < PHONE;
    this.shown = this.phone ? [state.alone ?? state.methods[0]] : state.methods;
    const across = width / this.shown.length - BESIDE;
    const size = Math.max(...this.data.sizes.map((_, layer) => level.size(layer)));
    this.stacked =
      state.view === "text" ? false : this.shown.length > 1 && columnWidth(across, size, MARGIN) < UPRIGHT_FROM;
    const column = columnWidth(this.stacked ? width - BESIDE : across, size, MARGIN);
    this.zoomable = ["graph", "heatmap"].includes(state.view) && (column < ZOOMED_UNDER || state.zoom > 1);
    const key = [state.view, this.shown, width, this.stacked].join(" ");
    if (this.arranged === key) return;
    this.arranged = key;
    this.element.classList.toggle("stacked", this.stacked);
    this.element.hidden = state.view === "table";
    this.element.setAttribute("aria-label", `Token attention. ${HELP[state.view]}`);
    for (const panel of this.panels) {
      panel.element.hidden = !this.shown.includes(panel.method);
      panel.as(state.view);
    }
    for (const panel of this.visible) {
      panel.room = panel.scroller.clientWidth;
      // Until the observer knows.
      panel.inSight = panel.element.getBoundingClientRect().top < globalThis.innerHeight;
    }
  }

  get visible() {
    return this.panels.filter((panel) => this.shown.includes(panel.method));
  }

  draw(looking, palette) {
    const { view } = looking.state;
    if (view === "table") return;
    for (const panel of this.visible) {
      panel.stale = this.long && view !== "text" && !panel.inSight;
      if (panel.stale) panel.hold(this.pictures.layout(panel.room, looking, view === "heatmap"));
      else this.drawPanel(panel, looking, palette);
    }
  }

  drawPanel(panel, looking, palette) {
    if (looking.state.view === "text") this.drawText(panel, looking);
    else panel.draw(this.pictures.of(panel.method, panel.room, looking), palette, this.data.importance);
  }

  drawText(panel, looking) {
    if (this.level !== looking.level) {
      this.level = looking.level;
      this.pieces = textPieces(this.data, looking.level);
    }
    const { scores, notes } = this.textOf(panel.method, looking);
    panel.showText(this.pieces, scores, looking.selected.node, notes);
  }

  /** What the text view shows of a method: scores, or null where there are none, and notes. */
  textOf(method, looking) {
    const row = this.pictures.row(method, looking.selected, looking);
    const scores = row?.length === looking.level.size(0) ? row : null;
    const missing = scores ? [] : [this.pictures.scores.reason(method, looking.selected.layer, looking.state)];
    return { scores, notes: [...missing, ...this.pictures.saturationNote(method, looking)] };
  }

  /** What is said under the panels, each with the name of its method. */
  spokenNotes() {
    return this.visible.flatMap(({ method, noted }) => (noted ? `${TITLES[method]}: ${noted}` : []));
  }

  /** All pictures show the same columns. */
  scrollAll(left) {
    for (const panel of this.visible) if (Math.abs(panel.left - left) > 1) panel.scroller.scrollLeft = left;
  }

  /** Bring a node into sight. */
  reveal({ layer, node }) {
    const panel = this.visible[0];
    if (panel?.picture && !panel.scroller.hidden) panel.reveal(panel.picture.layout.x(layer, node));
  }

  /** What is seen as one scene. */
  figure(looking, caption) {
    const text = looking.state.view === "text";
    const parts = this.visible.map(({ method, room }) => {
      if (text) {
        const { scores, notes } = this.textOf(method, looking);
        return { method, scene: textScene(method, this.pieces, scores), legend: [], notes };
      }
      const picture = this.pictures.of(method, room, looking);
      return { method, scene: picture.scene, legend: legendLine(picture, method), notes: picture.notes };
    });
    const importance = text ? [] : this.data.importance.map(({ method }) => importanceName(method));
    return figureOf(parts, this.stacked || text, caption, importance);
  }

  /** Light up a few nodes of a long input unseen, so that the browser has compiled what a hover runs. */
  warmUp(lookingAt, slices) {
    if (!this.long) return;
    const { pictures, visible } = this;
    slices.want("warm up", function* () {
      for (const layer of pictures.scores.layers) {
        for (const { method, room } of visible) {
          yield;
          pictures.of(method, room, lookingAt({ layer, node: layer }));
        }
      }
    });
  }

  destroy() {
    this.sight.disconnect();
  }
}
