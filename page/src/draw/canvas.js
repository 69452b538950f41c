/** Draws scenes on a canvas: on screen where marks are many, and for the exported PNG. */

/** @import { BoxMark, DotMark, Mark, Palette, Scene, Shape } from "../types.js" */

import { alphaOf } from "./marks.js";
import { FONT } from "./theme.js";

const TEXT_ALIGN = /** @type {const} */ ({ start: "left", middle: "center", end: "right" });

/**
 * Draw the part of a scene between `left` and `left + width`.
 *
 * @type {(context: CanvasRenderingContext2D, scene: Scene, palette: Palette, left?: number, width?: number) => void}
 */
export function drawScene(context, scene, palette, left = 0, width = scene.width) {
  context.save();
  context.translate(-left, 0);
  drawMarks(context, scene.marks, palette, left - 20, left + width + 20);
  context.restore();
}

/** Return a canvas with the complete scene, magnified by `scale`; null without memory for it.
 * @type {(scene: Scene, palette: Palette, scale: number) => HTMLCanvasElement | null} */
export function createCanvas(scene, palette, scale) {
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(scene.width * scale);
  canvas.height = Math.ceil(scene.height * scale);
  const context = canvas.getContext("2d");
  if (!context) return null;
  context.scale(scale, scale);
  context.fillStyle = palette.paper;
  context.fillRect(0, 0, scene.width, scene.height);
  drawScene(context, scene, palette);
  return canvas;
}

/** @type {(context: CanvasRenderingContext2D, marks: Mark[], palette: Palette, from: number, to: number) => void} */
function drawMarks(context, marks, palette, from, to) {
  for (const mark of marks) {
    if (mark.kind === "group") {
      context.save();
      context.translate(mark.x, mark.y);
      drawMarks(context, mark.marks, palette, from - mark.x, to - mark.x);
      context.restore();
    } else if (isInside(mark, from, to)) {
      context.globalAlpha = alphaOf(mark, palette);
      drawShape(context, mark, palette[mark.color]);
    }
  }
  context.globalAlpha = 1;
}

/** @type {(mark: Shape, from: number, to: number) => boolean} */
function isInside(mark, from, to) {
  if (mark.kind === "line") return Math.max(mark.x1, mark.x2) >= from && Math.min(mark.x1, mark.x2) <= to;
  if (mark.kind === "dot") return mark.x + mark.radius >= from && mark.x - mark.radius <= to;
  if (mark.kind === "box") return mark.x + mark.width >= from && mark.x <= to;
  // Texts begin or end at x; labels are shorter than this.
  return mark.x >= from - 200 && mark.x <= to + 200;
}

/** @type {(context: CanvasRenderingContext2D, mark: Shape, color: string) => void} */
function drawShape(context, mark, color) {
  const { kind } = mark;
  if (kind === "line") {
    context.strokeStyle = color;
    context.lineWidth = mark.width;
    context.setLineDash(mark.dash ? [mark.dash, mark.dash] : []);
    context.beginPath();
    context.moveTo(mark.x1, mark.y1);
    context.lineTo(mark.x2, mark.y2);
    context.stroke();
  } else if (kind === "text") {
    context.save();
    context.translate(mark.x, mark.y);
    if (mark.angle) context.rotate((mark.angle * Math.PI) / 180);
    context.font = `${mark.bold ? 600 : 400} ${mark.size ?? 12}px ${FONT}`;
    context.textAlign = TEXT_ALIGN[mark.anchor ?? "start"];
    context.fillStyle = color;
    context.fillText(mark.text, 0, 0);
    context.restore();
  } else if (kind === "dot" && mark.radius < 1.5) {
    // Too small to be round; the nodes of a long input are thousands of these.
    context.fillStyle = color;
    context.fillRect(mark.x - mark.radius, mark.y - mark.radius, 2 * mark.radius, 2 * mark.radius);
  } else {
    context.beginPath();
    if (kind === "dot") context.arc(mark.x, mark.y, mark.radius, 0, 2 * Math.PI);
    else if (mark.corner) context.roundRect(mark.x, mark.y, mark.width, mark.height, mark.corner);
    else context.rect(mark.x, mark.y, mark.width, mark.height);
    fillOrStroke(context, mark, color);
  }
}

/** @type {(context: CanvasRenderingContext2D, mark: DotMark | BoxMark, color: string) => void} */
function fillOrStroke(context, mark, color) {
  if (mark.hollow) {
    context.setLineDash([]);
    context.strokeStyle = color;
    context.lineWidth = mark.hollow;
    context.stroke();
  } else {
    context.fillStyle = color;
    context.fill();
  }
}
