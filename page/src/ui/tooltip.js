/** Scores next to the pointer. */

import { importanceName, METHOD_TITLES } from "../draw/format.js";
import { make } from "./dom.js";

export class Tooltip {
  constructor() {
    this.element = make("div", { class: "tooltip", "aria-hidden": "true", hidden: true });
  }

  /**
   * Show a title and lines of (name, text) near a point of the page, which has this width.
   *
   * @type {(content: { title: string, lines: [string, string][] }, x: number, y: number, width: number) => void}
   */
  show({ title, lines }, x, y, width) {
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
    const { offsetWidth, offsetHeight } = element;
    element.style.setProperty("left", `${Math.max(4, Math.min(x + 16, width - offsetWidth - 4))}px`);
    // Above the pointer if possible: the edges of a node lead down.
    element.style.setProperty("top", `${y > offsetHeight + 24 ? y - offsetHeight - 14 : y + 20}px`);
  }

  hide() {
    this.element.hidden = true;
  }
}
