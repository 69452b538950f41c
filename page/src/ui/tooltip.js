/** Numbers beside the pointer. */

import { make } from "./dom.js";
import { TITLES, importanceName } from "../draw/format.js";

export class Tooltip {
  constructor() {
    this.element = make("div", { class: "tooltip", "aria-hidden": "true", hidden: true });
  }

  /**
   * @param {{title: string, lines: [string, string][]}} content lines: a name and its text
   * @param {number} x,y pixels in the page's root, whose width is `within`
   */
  show({ title, lines }, x, y, within) {
    const rows = lines.map(([name, text]) =>
      make(
        "div",
        { "data-method": name },
        make("i", { class: name in TITLES ? "swatch" : "swatch none" }),
        `${importanceName(name)} `,
        make("b", {}, text),
      ),
    );
    this.element.replaceChildren(make("strong", {}, title), ...rows);
    this.element.hidden = false;
    const { offsetWidth, offsetHeight } = this.element;
    this.element.style.setProperty("left", `${Math.max(4, Math.min(x + 16, within - offsetWidth - 4))}px`);
    // Above the pointer, as what a node draws from lies below it.
    this.element.style.setProperty("top", `${y > offsetHeight + 24 ? y - offsetHeight - 14 : y + 20}px`);
  }

  hide() {
    this.element.hidden = true;
  }
}
