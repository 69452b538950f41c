/** The painter for SVG: on the screen where marks are few, and for the file that is saved. */

import { alphaOf } from "./marks.js";
import { FONT } from "./theme.js";

const SVG = "http://www.w3.org/2000/svg";

/**
 * A scene as an <svg> element. Text goes in as text nodes, so that no token is ever read as markup.
 *
 * @param {import("./marks.js").Scene} scene
 * @param {Record<string, string>} palette
 * @returns {SVGSVGElement}
 */
export function svgOf(scene, palette) {
  const svg = svgElement("svg", {
    width: scene.width,
    height: scene.height,
    viewBox: `0 0 ${scene.width} ${scene.height}`,
  });
  svg.setAttribute("font-family", FONT);
  svg.append(...scene.marks.map((mark) => svgMark(mark, palette)));
  return svg;
}

/** The text of a file, with the colour of the paper under it all. */
export function svgText(scene, palette) {
  const svg = svgOf(scene, palette);
  svg.prepend(svgElement("rect", { width: scene.width, height: scene.height, fill: palette.paper }));
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(svg)}\n`;
}

function svgElement(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(key, typeof value === "number" ? round(value) : value);
  }
  return element;
}

/** A hundredth of a pixel is enough, and files stay small. */
const round = (value) => Math.round(value * 100) / 100;

const MARKS = {
  line: (mark, colour, opacity) =>
    svgElement("line", {
      x1: mark.x1,
      y1: mark.y1,
      x2: mark.x2,
      y2: mark.y2,
      stroke: colour,
      "stroke-width": mark.width,
      "stroke-opacity": opacity,
      "stroke-linecap": "round",
      "stroke-dasharray": mark.dash && `${mark.dash} ${mark.dash}`,
    }),
  dot: (mark, colour, opacity) =>
    svgElement("circle", { cx: mark.x, cy: mark.y, r: mark.radius, ...filled(mark, colour, opacity) }),
  box: (mark, colour, opacity) =>
    svgElement("rect", {
      x: mark.x,
      y: mark.y,
      width: mark.width,
      height: mark.height,
      rx: mark.corner,
      ...filled(mark, colour, opacity),
    }),
  text: (mark, colour) => {
    const text = svgElement("text", {
      x: mark.x,
      y: mark.y,
      fill: colour,
      "font-size": mark.size ?? 12,
      "text-anchor": mark.anchor,
      "font-weight": mark.bold ? 600 : undefined,
      transform: mark.angle ? `rotate(${mark.angle} ${round(mark.x)} ${round(mark.y)})` : undefined,
    });
    text.append(document.createTextNode(mark.text));
    return text;
  },
};

function markOf(mark, palette) {
  const alpha = alphaOf(mark, palette);
  return MARKS[mark.kind](mark, palette[mark.colour], alpha < 1 ? alpha : undefined);
}

function svgMark(mark, palette) {
  if (mark.kind !== "group") return markOf(mark, palette);
  const group = svgElement("g", { transform: `translate(${round(mark.x)} ${round(mark.y)})` });
  group.append(...mark.marks.map((each) => svgMark(each, palette)));
  return group;
}

function filled(mark, colour, opacity) {
  if (mark.hollow) return { fill: "none", stroke: colour, "stroke-width": mark.hollow, "stroke-opacity": opacity };
  return { fill: colour, "fill-opacity": opacity };
}
