/** Export: the picture as SVG and PNG, the scores as CSV, a link. */

/** @import { Palette, Scene, State } from "../types.js" */
/** @import { View } from "./view.js" */

import { createCanvas } from "../draw/canvas.js";
import { edgesToShow } from "../draw/format.js";
import { svgFile } from "../draw/svg.js";
import { LIGHT } from "../draw/theme.js";
import { csvRows, figureCaption } from "./describe.js";
import { make, setText } from "./dom.js";

/** Pixels of a PNG for each pixel of the page; chosen: sharp in print. */
const PNG_SCALE = 2;
/** The largest side and area that every browser can draw; chosen: the limits of Safari on phones. */
const PNG_SIDE = 16000;
const PNG_AREA = 16e6;
/** Milliseconds until a file is released; chosen: the browser has saved it by then. */
const RELEASE_AFTER = 10_000;

/** Return what each button does, by its name; without links there is none to copy.
 * @type {(view: View) => Record<string, () => void>} */
export function exportActions(view) {
  const name = () => fileName(edgesToShow(view.scores.data), view.state);
  const figure = () => {
    const { panels } = view;
    return panels.figure(view.focus(), figureCaption(view.pictures, panels.shown, view.focus()));
  };
  return {
    // Always light: most figures are printed on white paper.
    SVG: () => saveFile([svgFile(figure(), LIGHT)], "image/svg+xml", `${name()}.svg`),
    PNG: async () => {
      const blob = await pngFile(figure(), LIGHT);
      if (blob) saveFile([blob], "image/png", `${name()}.png`);
      else {
        setText(view.live, "The picture is too large for a PNG in this browser; save it as SVG.");
        view.toolbar.flashLabel("PNG", "Too large");
      }
    },
    CSV: () => saveFile([csvFile(csvRows(view.pictures, view.focus()))], "text/csv;charset=utf-8", `${name()}.csv`),
    ...(view.options.linkOf && { "Copy link": () => copyLink(view) }),
  };
}

/** Return the name of a file without its suffix. @type {(edges: string, state: State) => string} */
function fileName(edges, { view, layer }) {
  const parts = ["attnflow", edges.replace(/[^\w-]+/g, "-"), view, "layer", layer];
  return parts.filter((part) => part !== "").join("-");
}

/** Create the field for a link that may not be copied by a script. */
export function makeLinkField() {
  return make("input", { class: "link", readonly: true, hidden: true, "aria-label": "Link to this view" });
}

/** Copy the address of the page with its state. @type {(view: View) => Promise<void>} */
async function copyLink(view) {
  const { link, live, options } = view;
  link.value = new URL(options.linkOf?.(view.stateText()) ?? "", location.href).href;
  try {
    await navigator.clipboard.writeText(link.value);
    setText(live, "Link copied");
    view.toolbar.flashLabel("Copy link", "Copied");
    link.hidden = true;
  } catch {
    setText(live, "Copy the link from the field");
    link.hidden = false;
    link.select();
  }
}

/** Return rows as CSV, RFC 4180. @type {(rows: (string | number)[][]) => string} */
function csvFile(rows) {
  return rows.map((row) => `${row.map(csvField).join(",")}\r\n`).join("");
}

/** Format a field; an apostrophe keeps spreadsheets from reading a name as a formula.
 * @type {(value: string | number) => string} */
function csvField(value) {
  const text = typeof value === "string" ? value.replace(/^(?=[=+\-@\t\r])/, "'") : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Return a PNG, or null if the browser cannot create it.
 * @type {(scene: Scene, palette: Palette) => Promise<Blob | null>} */
function pngFile(scene, palette) {
  const { width, height } = scene;
  const scale = Math.min(PNG_SCALE, PNG_SIDE / width, PNG_SIDE / height, Math.sqrt(PNG_AREA / (width * height)));
  const canvas = createCanvas(scene, palette, scale);
  return new Promise((resolve) => (canvas ? canvas.toBlob(resolve, "image/png") : resolve(null)));
}

/** @type {(parts: BlobPart[], type: string, name: string) => void} */
function saveFile(parts, type, name) {
  const address = URL.createObjectURL(new Blob(parts, { type }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), RELEASE_AFTER);
}
