/** Elements made in one line. Children that are strings become text, never markup. */

/**
 * @param {string} name
 * @param {Record<string, any>} [attributes] `onclick` and the like are listeners; false and null are left out
 * @param {...(Node | string)} children
 */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== false && value !== null && value !== undefined)
      element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

/** Put a text into an element, if it is another one: screen readers read what changes. */
export function putText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
