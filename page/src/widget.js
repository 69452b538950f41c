/**
 * Show a document inside an element of a page, of the app or of a notebook.
 *
 * All of it is in a shadow root, so that styles neither leak in nor out.
 */

/** @import { PageData } from "./types.js" */

import frameStyle from "./style/frame.css";
import panelStyle from "./style/panels.css";
import textStyle from "./style/text.css";
import toolbarStyle from "./style/toolbar.css";
import { make } from "./ui/dom.js";
import { View } from "./ui/view.js";

/** The version of documents that this script reads. */
const VERSION = 1;

/** @typedef {{ destroy: () => void, show: (state: string) => void }} Mounted */

/** Show a document inside an element.
 * @type {(element: HTMLElement, data: PageData, options?: import("./ui/view.js").ViewOptions) => Mounted} */
export function mount(element, data, options = {}) {
  const host = make("div");
  element.append(host);
  const root = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(frameStyle + toolbarStyle + panelStyle + textStyle);
  root.adoptedStyleSheets = [sheet];
  if (data.version !== VERSION) {
    const message = `Expected a document of version ${VERSION}, got version ${data.version}. Create the page again.`;
    root.append(make("p", { class: "error", role: "alert" }, message));
    return { destroy: () => host.remove(), show: () => {} };
  }
  const view = new View(root, data, options);
  return {
    destroy: () => {
      view.destroy();
      host.remove();
    },
    show: (state) => view.show(state),
  };
}

/**
 * The part of anywidget's model that is used.
 *
 * @typedef {object} Model
 * @property {(name: "data") => string} get
 * @property {(event: string, listener: () => void) => void} on
 * @property {(event: string, listener: () => void) => void} off
 */

/** Show a widget in a notebook; there is no link, so the state is not stored.
 * @type {(widget: { model: Model, el: HTMLElement }) => () => void} */
function render({ model, el }) {
  let mounted = mount(el, JSON.parse(model.get("data")));
  const update = () => {
    mounted.destroy();
    mounted = mount(el, JSON.parse(model.get("data")));
  };
  model.on("change:data", update);
  return () => {
    model.off("change:data", update);
    mounted.destroy();
  };
}

export default { render };
