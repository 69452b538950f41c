/** Scores next to the pointer. */

/** @import { Ends } from "../types.js" */

import { importanceName, METHOD_TITLES } from "../draw/format.js";
import { make } from "./dom.js";

/** Distances in pixels: to the sides of the pointer, above and below it, and from what is avoided; chosen by eye. */
const BESIDE = 16;
const ABOVE = 14;
const BELOW = 20;
const AWAY = 6;

export class Tooltip {
  constructor() {
    this.element = make("div", { class: "tooltip", "aria-hidden": "true", hidden: true });
  }

  /**
   * Show a title and lines of (name, text) near a point of the page, which has this width.
   *
   * It covers none of the lines `avoided`, as the edges of a cut.
   *
   * @param {{ title: string, lines: [string, string][] }} content
   * @param {number} x
   * @param {number} y
   * @param {number} width
   * @param {Ends[]} avoided
   */
  show({ title, lines }, x, y, width, avoided) {
    const rows = lines.map(([name, text]) =>
      make(
        "div",
        { "data-method": name },
        make("i", { class: name in METHOD_TITLES ? "swatch" : "swatch none" }),
        `${importanceName(name)} `,
        make("b", {}, text),
      ),
    );
    const { element } = this;
    element.replaceChildren(make("strong", {}, title), ...rows);
    element.hidden = false;
    const size = { width: element.offsetWidth, height: element.offsetHeight };
    const [left, top] = tooltipPlace(x, y, size, width, avoided);
    element.style.setProperty("left", `${left}px`);
    element.style.setProperty("top", `${top}px`);
  }

  hide() {
    this.element.hidden = true;
  }
}

/**
 * Return the left and top of a tooltip: near the pointer, else above or below all lines that are avoided.
 *
 * @type {(x: number, y: number, size: { width: number, height: number }, pageWidth: number, avoided: Ends[]) =>
 *   [number, number]}
 */
export function tooltipPlace(x, y, { width, height }, pageWidth, avoided) {
  /** @type {(left: number) => number} */
  const inside = (left) => Math.max(4, Math.min(left, pageWidth - width - 4));
  const [right, left] = [inside(x + BESIDE), inside(x - BESIDE - width)];
  // Above the pointer if possible: the edges of a node lead down.
  const tops = y > height + ABOVE + 10 ? [y - height - ABOVE, y + BELOW] : [y + BELOW];
  /** @type {[number, number][]} */
  const near = tops.flatMap((top) => [/** @type {[number, number]} */ ([right, top]), [left, top]]);
  const free = near.find(([l, t]) => !avoided.some((ends) => crosses(ends, l, t, l + width, t + height)));
  if (free || !avoided.length) return free ?? near[0];
  const above = Math.min(...avoided.map(([, y1, , y2]) => Math.min(y1, y2))) - height - AWAY;
  const below = Math.max(...avoided.map(([, y1, , y2]) => Math.max(y1, y2))) + AWAY;
  return [right, above >= 0 ? above : below];
}

/** Return whether a line passes through a rectangle: what is left of it after clipping at each side.
 * @type {(ends: Ends, left: number, top: number, right: number, bottom: number) => boolean} */
function crosses([x1, y1, x2, y2], left, top, right, bottom) {
  let [from, to] = [0, 1];
  for (const [step, distance] of [
    [x1 - x2, x1 - left],
    [x2 - x1, right - x1],
    [y1 - y2, y1 - top],
    [y2 - y1, bottom - y1],
  ]) {
    if (step === 0 && distance < 0) return false;
    if (step < 0) from = Math.max(from, distance / step);
    if (step > 0) to = Math.min(to, distance / step);
  }
  return from <= to;
}
