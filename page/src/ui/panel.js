/** One method's panel: heading, picture in a scroller, notes and legend. */

import { make } from "./dom.js";
import { LEGEND, legendMarks } from "../draw/legend.js";
import { paintScene } from "../draw/canvas.js";
import { svgOf } from "../draw/svg.js";
import { TextView } from "./text.js";
import { EXPLAINED, TITLES, importanceName } from "../draw/format.js";

/** Pixels from the edge within which a column counts as out of sight; chosen: half a column of a wide picture. */
const NEAR_EDGE = 40;

export class Panel {
  /**
   * @param {string} method
   * @param {boolean} onCanvas whether marks are too many to be elements each
   * @param {number} heading level of its heading
   * @param {(left: number) => void} onScroll
   */
  constructor(method, onCanvas, heading, onScroll) {
    this.method = method;
    this.onCanvas = onCanvas;
    this.text = new TextView(method);
    this.inner = make("div", { class: "inner" });
    this.scroller = make(
      "div",
      { class: "scroller", tabindex: -1, onscroll: () => this.scrolled(onScroll) },
      this.inner,
    );
    this.notes = make("div", { class: "notes", "aria-hidden": "true" });
    this.legend = make("div", { class: "legend", "aria-hidden": "true" });
    this.element = make(
      "section",
      { class: "panel", "data-method": method },
      make(`h${heading}`, { class: "method" }, make("i", { class: "swatch" }), TITLES[method]),
      make("p", { class: "explained" }, EXPLAINED[method]),
      this.scroller,
      this.text.element,
      this.legend,
      this.notes,
    );
    this.canvas = null;
    // Pixels that a picture has without scrolling.
    this.room = 0;
    // Pixels that it is scrolled by.
    this.left = 0;
  }

  /** Draw a picture: as elements where marks are few, else on a canvas of which only what is seen is drawn. */
  draw(picture, palette, importance) {
    this.picture = picture;
    this.palette = palette;
    const { scene } = picture;
    this.hold(scene);
    if (this.onCanvas) this.drawCanvas();
    else this.drawSvg(scene, palette);
    this.drawNotes(picture.notes);
    this.drawLegend(picture, palette, importance);
  }

  drawSvg(scene, palette) {
    const svg = svgOf(scene, palette);
    svg.setAttribute("aria-hidden", "true");
    this.inner.replaceChildren(svg);
  }

  /** Keep the room of a picture that is drawn once it is in sight. */
  hold(layout) {
    this.inner.style.setProperty("width", `${layout.width}px`);
    this.inner.style.setProperty("height", `${layout.height}px`);
  }

  drawCanvas() {
    if (!this.canvas) {
      this.canvas = make("canvas", { "aria-hidden": "true" });
      this.inner.replaceChildren(this.canvas);
    }
    const { scene } = this.picture;
    const scale = globalThis.devicePixelRatio || 1;
    // Not asked of the browser, which would lay out all anew.
    const width = Math.min(this.room, scene.width);
    const [across, down] = [Math.round(width * scale), Math.round(scene.height * scale)];
    if (this.canvas.width !== across || this.canvas.height !== down) {
      Object.assign(this.canvas, { width: across, height: down });
      this.canvas.style.setProperty("width", `${width}px`);
      this.canvas.style.setProperty("height", `${scene.height}px`);
    }
    const context = this.canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, scene.height);
    paintScene(context, scene, this.palette, Math.min(this.left, scene.width - width), width);
    if (this.left > 0) paintScene(context, { ...scene, marks: scene.names }, this.palette);
  }

  scrolled(onScroll) {
    this.left = this.scroller.scrollLeft;
    if (this.canvas) this.drawCanvas();
    onScroll(this.left);
  }

  drawNotes(notes) {
    const text = notes.join("\n");
    if (this.noted === text) return;
    this.noted = text;
    this.notes.replaceChildren(...notes.map((note) => make("p", {}, note)));
  }

  /** Samples of edges with their numbers, and the colours of importance. */
  drawLegend(picture, palette, importance) {
    const { layout, most, scene, unit } = picture;
    const key = `${most} ${unit} ${layout.column} ${layout.cells} ${scene.ink} ${palette.paper}`;
    if (this.legendKey === key) return;
    this.legendKey = key;
    const names = importance.map(({ method }, track) =>
      make("span", { class: `importance${track % 2}` }, make("i", { class: "swatch" }), importanceName(method)),
    );
    this.legend.replaceChildren(
      svgOf({ ...LEGEND, marks: legendMarks(picture, this.method) }, palette),
      ...(layout.cells ? [] : [make("span", {}, unit)]),
      make("div", {}, ...names),
    );
  }

  /** Show the text with scores instead of a picture. */
  showText(pieces, scores, selected, notes) {
    this.text.show(pieces, scores, selected);
    this.drawNotes(notes);
  }

  /** Which parts are seen. */
  as(view) {
    this.scroller.hidden = this.legend.hidden = view === "text";
    this.text.element.hidden = view !== "text";
  }

  /** A point of the page as a node of the picture. */
  nodeAt(clientX, clientY) {
    if (!this.picture || this.scroller.hidden) return null;
    const frame = this.inner.getBoundingClientRect();
    return this.picture.layout.nodeAt(clientX - frame.left, clientY - frame.top);
  }

  /** Scroll so that a column is in sight. */
  reveal(x) {
    const { scrollLeft, clientWidth } = this.scroller;
    if (x < scrollLeft + NEAR_EDGE || x > scrollLeft + clientWidth - NEAR_EDGE) this.scroller.scrollLeft = x - clientWidth / 2;
  }
}
