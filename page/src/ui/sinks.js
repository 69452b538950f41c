/** One line about attention sinks, with the switch that puts them back into the graph. */

/** @import { State } from "../types.js" */
/** @import { View } from "./view.js" */

import { make, setText } from "./dom.js";

export class SinksLine {
  /** @param {View} view */
  constructor(view) {
    const onchange = () => view.change({ keepSinks: this.input.checked });
    this.input = make("input", { type: "checkbox", onchange });
    this.text = make("span");
    const title = "Show the graph of the model as it is, with all its attention";
    this.element = make(
      "p",
      { class: "sinks", hidden: true },
      this.text,
      make("label", { class: "check", title }, this.input, make("span", {}, "Keep sinks")),
    );
  }

  /** @type {(state: State, scores: View["scores"]) => void} */
  show(state, { data }) {
    const { sinks, sinks_note } = data;
    this.element.hidden = !sinks.length;
    this.input.checked = state.keepSinks;
    const [what, them] = sinks.length > 1 ? ["sinks", "they are"] : ["sink", "it is"];
    const done = state.keepSinks ? "kept" : "taken out, and the rest of each row sums to one";
    setText(this.text, `Attention ${what}: ${sinks_note}; ${them} ${done}.`);
  }
}
