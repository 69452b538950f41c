/** One method's panel: heading, scrollable picture, legend and notes. */

/** @import { Mark, Method, NodeRef, PageData, Palette, Picture, Scale, TextPiece, Vector } from "../types.js" */
/** @import { ViewName } from "../types.js" */

import { importanceColor } from "../draw/axes.js";
import { drawScene } from "../draw/canvas.js";
import { importanceName, methodDescription, methodTitle } from "../draw/format.js";
import { colorBar, LEGEND, legendMarks } from "../draw/legend.js";
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
   * @type {(picture: Picture, palette: Palette, importance: PageData["importance"], generated: boolean) => void} */
  draw(picture, palette, importance, generated) {
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
    this.drawLegend(picture, palette, importance, generated);
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

  /** Draw samples of edges with their numbers, and the colors of importance and of generated tokens.
   * @type {(picture: Picture, palette: Palette, importance: PageData["importance"], generated: boolean) => void} */
  drawLegend(picture, palette, importance, generated) {
    const { layout, max, exceeds, ink, unit } = picture;
    const key = `${max} ${exceeds} ${unit} ${layout.column} ${layout.cells} ${layout.texts} ${ink} ${palette.paper}`;
    const names = importance.map(({ method }, track) =>
      make("span", { class: importanceColor(track) }, make("i", { class: "swatch" }), importanceName(method)),
    );
    this.setLegend(key, legendMarks(picture, this.method), palette, [
      ...(layout.cells ? [] : [make("span", {}, unit)]),
      make("div", {}, ...names, ...(generated ? [makeGenerated()] : [])),
    ]);
  }

  /** Replace the legend where its key is new. @type {(key: string, marks: Mark[], palette: Palette, more: Node[]) => void} */
  setLegend(key, marks, palette, more) {
    if (this.legendKey === key) return;
    this.legendKey = key;
    this.legend.replaceChildren(createSvg({ ...LEGEND, marks }, palette), ...more);
  }

  /**
   * Show the text with scores instead of a picture; `written` is the token that the selected one wrote.
   *
   * @param {TextPiece[]} pieces
   * @param {{ scores: Vector | null, scale: Scale, notes: string[] }} content
   * @param {number} selected
   * @param {number | null} written
   * @param {Palette} palette
   */
  showText(pieces, { scores, scale, notes }, selected, written, palette) {
    this.text.show(pieces, scores, scale.max, selected, written);
    this.drawNotes(notes);
    const generated = pieces.some((piece) => piece.generated) ? [makeGenerated()] : [];
    const key = `text ${scale.max} ${scale.exceeds} ${palette.paper}`;
    this.setLegend(key, colorBar(scale, this.method), palette, generated);
  }

  /** Show the parts of a view. @param {ViewName} view */
  setView(view) {
    this.scroller.hidden = view === "text";
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

/** Return the line of the legend that tells how generated tokens are marked. */
function makeGenerated() {
  return make("span", { class: "generated-mark" }, make("i", { class: "underline" }), "generated");
}
