/** The head of the page: title, text, and what the model answered. */

import { make } from "./dom.js";
import { percentText, positionText, visibleName } from "./wording.js";

/** Answers that are shown; chosen: more is noise. */
const ANSWERS = 5;

export function headerOf(data) {
  const header = make("header", {}, make("div", { class: "about" }, make("h1", {}, data.title)));
  if (data.text) header.firstChild.append(make("p", { class: "read", title: data.text }, data.text));
  if (data.prediction) header.append(predictionOf(data.prediction, data.tokens));
  return header;
}

function predictionOf({ label, probabilities, position }, tokens) {
  const best = Object.entries(probabilities)
    .sort(([, a], [, b]) => b - a)
    .slice(0, ANSWERS);
  const place =
    position === null || position === undefined ? "" : ` at ${positionText(position, tokens[position] ?? "")}`;
  const list = make(
    "ul",
    {},
    ...best.map(([name, p]) => {
      const bar = make("span", { class: "bar" });
      bar.style.setProperty("--part", `${100 * p}%`);
      return make(
        "li",
        { class: name === label ? "chosen" : false },
        make("span", { class: "name" }, visibleName(name)),
        bar,
        make("span", { class: "part" }, percentText(p)),
      );
    }),
  );
  return make(
    "section",
    { class: "prediction", "aria-label": "Prediction" },
    make("p", {}, `Prediction${place}: `, make("strong", {}, visibleName(label))),
    list,
  );
}
