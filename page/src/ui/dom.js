/** Helpers for elements, the address and frames. Children that are strings become text, never markup. */

/** @typedef {Record<string, string | number | boolean | null | undefined | EventListener>} Attributes */

/**
 * Create an element. Attributes such as `onclick` are listeners; false, null and undefined are left out.
 *
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name
 * @param {Attributes} [attributes]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key.slice(2), value);
    else if (value !== false && value !== null && value !== undefined)
      element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...children);
  return element;
}

/** Create a heading of this level.
 * @type {(level: number, ...content: Parameters<HTMLElement["append"]>) => HTMLElement} */
export function makeHeading(level, ...content) {
  const heading = document.createElement(`h${level}`);
  heading.append(...content);
  return heading;
}

/** Set the text of an element if it differs: screen readers announce changes.
 * @type {(element: HTMLElement, text: string) => void} */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Replace the part of the address from its # on.
 *
 * Firefox and Safari throw after about a hundred changes in 30 seconds. The address is then outdated
 * until the next change; the page keeps its state, and copies links from there.
 *
 * @param {string} hash
 */
export function replaceHash(hash) {
  try {
    history.replaceState(null, "", hash);
  } catch {}
}

/** Call a function once the browser has painted the current frame. @type {(run: () => void) => void} */
export function afterFrame(run) {
  const channel = new MessageChannel();
  channel.port1.onmessage = () => {
    channel.port1.close();
    run();
  };
  channel.port2.postMessage(null);
}
