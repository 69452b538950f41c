/** The buttons for what can be taken away. */

import { make, putText } from "./dom.js";
import { copyText, saveCsv, savePng, saveSvg } from "./export.js";
import { csvRows, figureCaption } from "./describe.js";
import { LIGHT } from "../draw/theme.js";

const TOO_LARGE = "The picture is too large for this browser to make a PNG of; save it as SVG.";

/**
 * What each button does, by its name; a page that carries no state in a link has none to copy.
 *
 * @param {import("./view.js").Page} page
 * @returns {Record<string, () => void>}
 */
export function takeAways(page) {
  const name = () => `attnflow-${page.state.view}-layer-${page.state.layer}`;
  const figure = () => page.stage.figure(page.looking(), figureCaption(page.pictures, page.looking()));
  return {
    // Light whatever the page is: most pictures end up on white paper.
    SVG: () => saveSvg(figure(), LIGHT, name()),
    PNG: async () => {
      if (!(await savePng(figure(), LIGHT, name()))) complain(page, "PNG", TOO_LARGE);
    },
    CSV: () => saveCsv(csvRows(page.pictures, page.looking()), name()),
    ...(page.options.linkOf ? { "Copy link": () => copyLink(page) } : {}),
  };
}

/** Where a link stands that may not be copied: to be copied by hand. */
export function linkField() {
  return make("input", { class: "link", readonly: true, hidden: true, "aria-label": "Link to this view" });
}

/** The address of the page with its state, also where the browser was too slow to put that there. */
async function copyLink(page) {
  const link = new URL(page.options.linkOf(page.stateText()), location.href).href;
  const copied = await copyText(link);
  putText(page.live, copied ? "Link copied" : "Copy the link from the field");
  if (copied) page.toolbar.say("Copy link", "Copied");
  page.link.hidden = copied;
  page.link.value = link;
  if (!copied) page.link.select();
}

function complain(page, name, sentence) {
  putText(page.live, sentence);
  page.toolbar.say(name, "Too large");
}
