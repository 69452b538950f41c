/** Draws scenes as SVG: on screen where marks are few, and for the exported file. */

/** @import { BoxMark, DotMark, Mark, Palette, Scene } from "../types.js" */

import { alphaOf } from "./marks.js";
import { FONT } from "./theme.js";

/** @typedef {Record<string, string | number | undefined>} Attributes */

/** Return a scene as an <svg> element. Text goes in as text nodes, so that no token is parsed as markup.
 * @type {(scene: Scene, palette: Palette) => SVGElement} */
export function createSvg({ width, height, marks }, palette) {
  const svg = createElement("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": FONT });
  svg.append(...marks.map((mark) => createMark(mark, palette)));
  return svg;
}

/** Return the text of an SVG file with an opaque background. @type {(scene: Scene, palette: Palette) => string} */
export function svgFile(scene, palette) {
  const svg = createSvg(scene, palette);
  svg.prepend(createElement("rect", { width: scene.width, height: scene.height, fill: palette.paper }));
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(svg)}\n`;
}

/** @type {(name: string, attributes: Attributes) => SVGElement} */
function createElement(name, attributes) {
  const element = /** @type {SVGElement} */ (document.createElementNS("http://www.w3.org/2000/svg", name));
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(key, String(typeof value === "number" ? round(value) : value));
  }
  return element;
}

/** Round to a hundredth of a pixel, which keeps files small. @type {(value: number) => number} */
const round = (value) => Math.round(value * 100) / 100;

/** @type {(mark: Mark, palette: Palette) => SVGElement} */
function createMark(mark, palette) {
  if (mark.kind === "group") {
    const group = createElement("g", { transform: `translate(${round(mark.x)} ${round(mark.y)})` });
    group.append(...mark.marks.map((child) => createMark(child, palette)));
    return group;
  }
  const color = palette[mark.color];
  const alpha = alphaOf(mark, palette);
  const opacity = alpha < 1 ? alpha : undefined;
  if (mark.kind === "line") {
    return createElement("line", {
      x1: mark.x1,
      y1: mark.y1,
      x2: mark.x2,
      y2: mark.y2,
      stroke: color,
      "stroke-width": mark.width,
      "stroke-opacity": opacity,
      "stroke-linecap": "round",
      "stroke-dasharray": mark.dash && `${mark.dash} ${mark.dash}`,
    });
  }
  if (mark.kind === "text") {
    const text = createElement("text", {
      x: mark.x,
      y: mark.y,
      fill: color,
      "font-size": mark.size ?? 12,
      "text-anchor": mark.anchor,
      "font-weight": mark.bold ? 600 : undefined,
      transform: mark.angle ? `rotate(${mark.angle} ${round(mark.x)} ${round(mark.y)})` : undefined,
    });
    text.append(mark.text);
    return text;
  }
  const style = fillOrStroke(mark, color, opacity);
  if (mark.kind === "dot") return createElement("circle", { cx: mark.x, cy: mark.y, r: mark.radius, ...style });
  const { x, y, width, height, corner } = mark;
  return createElement("rect", { x, y, width, height, rx: corner, ...style });
}

/** @type {(mark: DotMark | BoxMark, color: string, opacity?: number) => Attributes} */
function fillOrStroke(mark, color, opacity) {
  if (mark.hollow) return { fill: "none", stroke: color, "stroke-width": mark.hollow, "stroke-opacity": opacity };
  return { fill: color, "fill-opacity": opacity };
}
