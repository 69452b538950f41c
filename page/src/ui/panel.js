/** One method's panel: heading, scrollable picture, legend and notes. */

/** @import { Method, NodeRef, PageData, Palette, Picture, TextPiece, Vector, ViewName } from "../types.js" */

import { importanceColor } from "../draw/axes.js";
import { drawScene } from "../draw/canvas.js";
import { importanceName, methodDescription, methodTitle } from "../draw/format.js";
import { LEGEND, legendMarks } from "../draw/legend.js";
import { createSvg } from "../draw/svg.js";
import { make, makeHeading, setText } from "./dom.js";
import { TextView } from "./text.js";

/** Distance from the border in pixels within which a column counts as hidden; chosen: half a wide column. */
const NEAR_BORDER = 40;

export class Panel {
  /**
   * @param {Method} method
   * @param {boolean} usesCanvas whether marks are too many to be elements
   * @param {number} headingLevel
   * @param {(left: number) => void} onScroll
   */
  constructor(method, usesCanvas, headingLevel, onScroll) {
    this.method = method;
    this.text = new TextView(method);
    this.canvas = usesCanvas ? make("canvas", { "aria-hidden": "true" }) : null;
    this.inner = make("div", { class: "inner" }, ...(this.canvas ? [this.canvas] : []));
    const onscroll = () => {
      this.left = this.scroller.scrollLeft;
      this.drawCanvas();
      onScroll(this.left);
    };
    this.scroller = make("div", { class: "scroller", tabindex: -1, onscroll }, this.inner);
    this.notes = make("div", { class: "notes", "aria-hidden": "true" });
    this.legend = make("div", { class: "legend", "aria-hidden": "true" });
    this.title = make("span");
    this.description = make("p", { class: "description" });
    const heading = makeHeading(headingLevel, make("i", { class: "swatch" }), this.title);
    heading.className = "method";
    this.element = make(
      "section",
      { class: "panel", "data-method": method },
      heading,
      this.description,
      this.scroller,
      this.text.element,
      this.legend,
      this.notes,
    );
    /** @type {Picture | null} */
    this.picture = null;
    /** @type {Palette | null} */
    this.palette = null;
    this.noteText = "";
    this.legendKey = "";
    /** The width in pixels that a picture has without scrolling. */
    this.width = 0;
    /** The pixels that it is scrolled by. */
    this.left = 0;
    /** Whether it is in the window, and whether its picture is outdated. */
    this.inWindow = true;
    this.outdated = false;
  }

  /** Name what the edges weigh. @param {string} edges */
  setEdges(edges) {
    setText(this.title, methodTitle(this.method, edges));
    setText(this.description, methodDescription(this.method, edges));
  }

  /** Draw a picture as SVG elements, or the visible part of it on a canvas.
   * @type {(picture: Picture, palette: Palette, importance: PageData["importance"]) => void} */
  draw(picture, palette, importance) {
    this.picture = picture;
    this.palette = palette;
    this.reserve(picture.scene);
    if (this.canvas) this.drawCanvas();
    else {
      const svg = createSvg(picture.scene, palette);
      svg.setAttribute("aria-hidden", "true");
      this.inner.replaceChildren(svg);
    }
    this.drawNotes(picture.notes);
    this.drawLegend(picture, palette, importance);
  }

  /** Reserve the space of a picture. @type {(size: { width: number, height: number }) => void} */
  reserve({ width, height }) {
    this.inner.style.setProperty("width", `${width}px`);
    this.inner.style.setProperty("height", `${height}px`);
  }

  drawCanvas() {
    const { canvas, picture, palette, left } = this;
    const context = canvas?.getContext("2d");
    if (!canvas || !context || !picture || !palette) return;
    const { scene } = picture;
    const scale = globalThis.devicePixelRatio || 1;
    // Computed: reading it from the canvas would make the browser compute the layout again.
    const width = Math.min(this.width, scene.width);
    const [pixelWidth, pixelHeight] = [Math.round(width * scale), Math.round(scene.height * scale)];
    if (canvas.width !== pixelWidth || canvas.height !== pixelHeight) {
      Object.assign(canvas, { width: pixelWidth, height: pixelHeight });
      canvas.style.setProperty("width", `${width}px`);
      canvas.style.setProperty("height", `${scene.height}px`);
    }
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, scene.height);
    drawScene(context, scene, palette, Math.min(left, scene.width - width), width);
    if (left > 0 && scene.names) drawScene(context, { ...scene, marks: scene.names }, palette);
  }

  /** @param {string[]} notes */
  drawNotes(notes) {
    const text = notes.join("\n");
    if (this.noteText === text) return;
    this.noteText = text;
    this.notes.replaceChildren(...notes.map((note) => make("p", {}, note)));
  }

  /** Draw samples of edges with their numbers, and the colors of importance.
   * @type {(picture: Picture, palette: Palette, importance: PageData["importance"]) => void} */
  drawLegend(picture, palette, importance) {
    const { layout, max, ink, unit } = picture;
    const key = `${max} ${unit} ${layout.column} ${layout.cells} ${ink} ${palette.paper}`;
    if (this.legendKey === key) return;
    this.legendKey = key;
    const names = importance.map(({ method }, track) =>
      make("span", { class: importanceColor(track) }, make("i", { class: "swatch" }), importanceName(method)),
    );
    this.legend.replaceChildren(
      createSvg({ ...LEGEND, marks: legendMarks(picture, this.method) }, palette),
      ...(layout.cells ? [] : [make("span", {}, unit)]),
      make("div", {}, ...names),
    );
  }

  /** Show the text with scores instead of a picture.
   * @type {(pieces: TextPiece[], scores: Vector | null, selected: number, notes: string[]) => void} */
  showText(pieces, scores, selected, notes) {
    this.text.show(pieces, scores, selected);
    this.drawNotes(notes);
  }

  /** Show the parts of a view. @param {ViewName} view */
  setView(view) {
    this.scroller.hidden = this.legend.hidden = view === "text";
    this.text.element.hidden = view !== "text";
  }

  /** Return the node at a point of the window. @type {(clientX: number, clientY: number) => NodeRef | null} */
  nodeAt(clientX, clientY) {
    if (!this.picture || this.scroller.hidden) return null;
    const frame = this.inner.getBoundingClientRect();
    return this.picture.layout.nodeAt(clientX - frame.left, clientY - frame.top);
  }

  /** Scroll a node into view. @param {NodeRef} at */
  reveal({ layer, node }) {
    if (!this.picture || this.scroller.hidden) return;
    const x = this.picture.layout.x(layer, node);
    const { scrollLeft, clientWidth } = this.scroller;
    if (x < scrollLeft + NEAR_BORDER || x > scrollLeft + clientWidth - NEAR_BORDER)
      this.scroller.scrollLeft = x - clientWidth / 2;
  }
}
