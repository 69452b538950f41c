/** The header of the page: title, text and prediction. */

/** @import { PageData, Prediction } from "../types.js" */

import { displayName, formatPercent } from "../draw/format.js";
import { make, makeHeading } from "./dom.js";

/** Classes that are shown; chosen. */
const MAX_CLASSES = 5;

/** @type {(data: PageData, headingLevel: number) => HTMLElement} */
export function makeHeader({ title, text: joined, texts, prediction }, headingLevel) {
  const heading = makeHeading(headingLevel, title);
  heading.className = "title";
  const text = texts?.join(" → ") ?? joined;
  const input = text ? [make("p", { class: "input-text", title: text }, text)] : [];
  return make(
    "header",
    {},
    make("div", { class: "about" }, heading, ...input),
    ...(prediction ? [makePrediction(prediction)] : []),
  );
}

/** @type {(prediction: Prediction) => HTMLElement} */
function makePrediction({ label, probabilities, position }) {
  const classes = Object.entries(probabilities)
    .sort(([, a], [, b]) => b - a)
    .slice(0, MAX_CLASSES);
  const items = classes.map(([name, probability]) => {
    const bar = make("span", { class: "bar" });
    bar.style.setProperty("--share", `${100 * probability}%`);
    return make(
      "li",
      { class: name === label && "predicted" },
      make("span", { class: "name" }, displayName(name)),
      bar,
      make("span", { class: "percent" }, formatPercent(probability)),
    );
  });
  const place = position === null || position === undefined ? "" : ` at position ${position}`;
  return make(
    "section",
    { class: "prediction", "aria-label": "Prediction" },
    make("p", {}, `Prediction${place}: `, make("strong", {}, displayName(label))),
    make("ul", {}, ...items),
  );
}
