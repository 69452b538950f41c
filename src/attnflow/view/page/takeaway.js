/** The buttons for what can be taken away. */

import { make, putText } from "./dom.js";
import { copyText, saveCsv, savePng, saveSvg } from "./export.js";
import { csvRows, figureCaption } from "./sentences.js";

/**
 * What each button does, by its name; a page that carries no state in a link has none to copy.
 *
 * @param {import("./page.js").Page} page
 * @returns {Record<string, () => void>}
 */
export function takeAways(page) {
  const name = () => `attnflow-${page.state.view}-layer-${page.state.layer}`;
  const figure = () => page.stage.figure(page.looking(), figureCaption(page.pictures, page.looking()));
  return {
    SVG: () => saveSvg(figure(), page.theme.palette, name()),
    PNG: () => savePng(figure(), page.theme.palette, name()),
    CSV: () => saveCsv(csvRows(page.pictures, page.looking()), name()),
    ...(page.options.onState ? { "Copy link": () => copyLink(page) } : {}),
  };
}

/** Where a link stands that may not be copied: to be copied by hand. */
export function linkField() {
  return make("input", { class: "link", readonly: true, hidden: true, "aria-label": "Link to this view" });
}

/** The address as it is: `onState` has put the state into it. */
async function copyLink(page) {
  const copied = await copyText(location.href);
  putText(page.live, copied ? "Link copied" : "Copy the link from the field");
  if (copied) page.toolbar.say("Copy link", "Copied");
  page.link.hidden = copied;
  page.link.value = location.href;
  if (!copied) page.link.select();
}
