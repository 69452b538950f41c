/**
 * Where the page begins: a document shown inside an element, of a page, of the app or of a notebook.
 *
 * Everything stands in a shadow root, so that styles neither leak in nor out.
 */

import { make } from "./ui/dom.js";
import { Page } from "./ui/view.js";
import frameStyle from "./style/frame.css";
import panelStyle from "./style/panels.css";
import textStyle from "./style/text.css";
import toolbarStyle from "./style/toolbar.css";

/**
 * Show a document inside an element.
 *
 * @param {HTMLElement} element
 * @param {object} data the document, version 1
 * @param {object} [options]
 * @param {string} [options.state] what a link carried
 * @param {(state: string) => void} [options.onState] called with the new state when it changes
 * @param {(state: string) => string} [options.linkOf] the part of the address from its # on that carries
 *   a state; a page without it has no link to copy
 * @param {number} [options.heading] level of the title's heading; 2 where a page around it has a title
 * @returns {{destroy: () => void, show: (state: string) => void}}
 */
export function mount(element, data, options = {}) {
  const host = make("div");
  element.append(host);
  const root = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(frameStyle + toolbarStyle + panelStyle + textStyle);
  root.adoptedStyleSheets = [sheet];
  if (data.version !== 1) {
    const came = `This page reads documents of version 1, and version ${data.version} came; make the page again.`;
    root.append(make("p", { class: "wrong", role: "alert" }, came));
    return { destroy: () => host.remove(), show: () => {} };
  }
  const page = new Page(root, data, options);
  return { destroy: () => (page.destroy(), host.remove()), show: (state) => page.show(state) };
}

/** In a notebook the state stays with the widget, as there is no link. */
function render({ model, el }) {
  let page = mount(el, JSON.parse(model.get("data")));
  const renew = () => {
    page.destroy();
    page = mount(el, JSON.parse(model.get("data")));
  };
  model.on("change:data", renew);
  return () => {
    model.off("change:data", renew);
    page.destroy();
  };
}

export default { render };
