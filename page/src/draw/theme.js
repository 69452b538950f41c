/**
 * Colors of the page, of its pictures and of exported figures.
 *
 * `cells` is the maximum opacity of a score behind text: it keeps a contrast of 4.5.
 *
 * The colors of Okabe and Ito, which people with any color vision can distinguish; lighter on a dark background.
 * https://jfly.uni-koeln.de/color/
 * The second importance is darker than theirs on a light background: bars need a contrast of 3.
 */

/** @import { Palette } from "../types.js" */

export const LIGHT = {
  paper: "#ffffff",
  ground: "#f5f6f8",
  ink: "#1b1f24",
  muted: "#59626d",
  line: "#d9dde3",
  node: "#8d96a1",
  raw: "#0072b2",
  rollout: "#d55e00",
  flow: "#009e73",
  importance0: "#cc79a7",
  importance1: "#3a9bd0",
  cut: "#d55e00",
  cells: 0.7,
  accent: "#0072b2",
};

/** @type {Palette} */
export const DARK = {
  paper: "#16191d",
  ground: "#0e1013",
  ink: "#eceff3",
  muted: "#a3acb8",
  line: "#30363e",
  node: "#6e7884",
  raw: "#4aa8e0",
  rollout: "#f28a3c",
  flow: "#2fc79b",
  importance0: "#dd9cc0",
  importance1: "#7cc4ee",
  cut: "#f28a3c",
  cells: 0.5,
  accent: "#7cc4ee",
};

export const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";

/** Return the current palette of the system; `onChange` is called when it changes. @param {() => void} onChange */
export function watchTheme(onChange) {
  const query = globalThis.matchMedia("(prefers-color-scheme: dark)");
  query.addEventListener("change", onChange);
  return {
    get palette() {
      return query.matches ? DARK : LIGHT;
    },
    stop: () => query.removeEventListener("change", onChange),
  };
}

/** Set the colors as properties for the style sheet. @type {(element: HTMLElement, palette: Palette) => void} */
export function applyPalette(element, palette) {
  for (const [name, color] of Object.entries(palette)) element.style.setProperty(`--${name}`, String(color));
}
