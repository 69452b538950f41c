/** The painter for canvas: on the screen where marks are many, and for the PNG that is saved. */

import { alphaOf } from "./marks.js";
import { FONT } from "./theme.js";

/**
 * Draw what lies between `left` and `left + width` of a scene.
 *
 * @param {CanvasRenderingContext2D} context in pixels of the page
 * @param {import("./marks.js").Scene} scene
 * @param {Record<string, string>} palette
 */
export function paintScene(context, scene, palette, left = 0, width = scene.width) {
  context.save();
  context.translate(-left, 0);
  paintMarks(context, scene.marks, palette, left - 20, left + width + 20);
  context.restore();
}

/** A canvas with the whole scene on paper, `scale` pixels for each of the page. */
export function canvasOf(scene, palette, scale) {
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(scene.width * scale);
  canvas.height = Math.ceil(scene.height * scale);
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.fillStyle = palette.paper;
  context.fillRect(0, 0, scene.width, scene.height);
  paintScene(context, scene, palette);
  return canvas;
}

function paintMarks(context, marks, palette, from, to) {
  for (const mark of marks) {
    if (mark.kind === "group") {
      context.save();
      context.translate(mark.x, mark.y);
      paintMarks(context, mark.marks, palette, from - mark.x, to - mark.x);
      context.restore();
      continue;
    }
    if (!inside(mark, from, to)) continue;
    context.globalAlpha = alphaOf(mark, palette);
    PAINTED[mark.kind](context, mark, palette[mark.colour]);
  }
  context.globalAlpha = 1;
}

function inside(mark, from, to) {
  if (mark.kind === "line") return Math.max(mark.x1, mark.x2) >= from && Math.min(mark.x1, mark.x2) <= to;
  // Texts begin or end at x, and are as long as labels get.
  if (mark.kind === "text") return mark.x >= from - 200 && mark.x <= to + 200;
  return mark.x + (mark.width ?? mark.radius) >= from && mark.x - (mark.radius ?? 0) <= to;
}

const PAINTED = {
  line(context, mark, colour) {
    context.strokeStyle = colour;
    context.lineWidth = mark.width;
    context.setLineDash(mark.dash ? [mark.dash, mark.dash] : []);
    context.beginPath();
    context.moveTo(mark.x1, mark.y1);
    context.lineTo(mark.x2, mark.y2);
    context.stroke();
  },
  dot(context, mark, colour) {
    if (mark.radius < 1.5) return paintSpeck(context, mark, colour);
    context.beginPath();
    context.arc(mark.x, mark.y, mark.radius, 0, 2 * Math.PI);
    paintFilled(context, mark, colour);
  },
  box(context, mark, colour) {
    context.beginPath();
    if (mark.corner) context.roundRect(mark.x, mark.y, mark.width, mark.height, mark.corner);
    else context.rect(mark.x, mark.y, mark.width, mark.height);
    paintFilled(context, mark, colour);
  },
  text(context, mark, colour) {
    context.save();
    context.translate(mark.x, mark.y);
    if (mark.angle) context.rotate((mark.angle * Math.PI) / 180);
    context.font = `${mark.bold ? 600 : 400} ${mark.size ?? 12}px ${FONT}`;
    context.textAlign = { start: "left", middle: "center", end: "right" }[mark.anchor ?? "start"];
    context.fillStyle = colour;
    context.fillText(mark.text, 0, 0);
    context.restore();
  },
};

function paintFilled(context, mark, colour) {
  if (mark.hollow) {
    context.setLineDash([]);
    context.strokeStyle = colour;
    context.lineWidth = mark.hollow;
    context.stroke();
  } else {
    context.fillStyle = colour;
    context.fill();
  }
}

/** A dot too small to be round; thousands of these are the nodes of a long input. */
function paintSpeck(context, mark, colour) {
  context.fillStyle = colour;
  context.fillRect(mark.x - mark.radius, mark.y - mark.radius, 2 * mark.radius, 2 * mark.radius);
}
