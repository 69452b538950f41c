/** The head of the page: title, text, and what the model answered. */

import { make } from "./dom.js";
import { percentText, visibleName } from "../draw/format.js";

/** Answers that are shown; chosen: more is noise. */
const ANSWERS = 5;

/** @param {object} data @param {number} level of the title's heading */
export function headerOf(data, level) {
  const title = make(`h${level}`, { class: "title" }, data.title);
  const header = make("header", {}, make("div", { class: "about" }, title));
  if (data.text) header.firstChild.append(make("p", { class: "read", title: data.text }, data.text));
  if (data.prediction) header.append(predictionOf(data.prediction));
  return header;
}

function predictionOf({ label, probabilities, position }) {
  const best = Object.entries(probabilities)
    .sort(([, a], [, b]) => b - a)
    .slice(0, ANSWERS);
  const place = position === null || position === undefined ? "" : ` at position ${position}`;
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
