/** What graph and heat map share: names of layers, labels of tokens, importance under them. */

import { box, line, words } from "./marks.js";
import { largest } from "../compute/matrix.js";

/** Names of the layers at the left; the one of interest in bold, on a band. */
export function layerMarks(layout, interest) {
  const marks = [];
  for (const layer of layout.rows) {
    const y = layout.y(layer);
    if (layer === interest) {
      const height = Math.min(22, layout.gap - 2);
      if (!layout.cells) marks.push(box(0, y - height / 2, layout.width, height, "ink", { alpha: 0.06, corner: 4 }));
    }
    const name = layer === 0 ? "input" : layout.narrow ? String(layer) : `layer ${layer}`;
    const colour = layer === interest ? "ink" : "muted";
    marks.push(words(layout.left - 8, y + 4, name, colour, { size: 11, anchor: "end", bold: layer === interest }));
  }
  return marks;
}

/** The names of the layers alone, on paper, for a picture that is scrolled away from them. */
export function stuckNames(layout, interest) {
  const names = layerMarks(layout, interest).filter(({ kind }) => kind === "text");
  return [box(0, 0, layout.left - 4, layout.bottom + 8, "paper", { alpha: 0.88 }), ...names];
}

/** Labels of the tokens, as the layout says; those in `strong` in bold. */
export function tokenLabels(layout, strong = new Set()) {
  const { labels, labelTop } = layout;
  return labels.texts.map((text, at) => {
    const x = layout.left + ((at + 0.5) * layout.across) / labels.texts.length;
    const look = { size: labels.size, bold: strong.has(at) };
    if (labels.kind === "flat") return words(x, labelTop + 11, text, "ink", { ...look, anchor: "middle" });
    if (labels.kind === "upright")
      return words(x + 0.35 * labels.size, labelTop, text, "ink", { ...look, anchor: "end", angle: -90 });
    return words(x + 4, labelTop + 7, text, "ink", { ...look, anchor: "end", angle: -45 });
  });
}

/** One track of bars for each importance; where there are negative numbers, they hang down. */
export function importanceMarks(layout, importance) {
  return importance.flatMap(({ values }, track) => {
    const top = layout.trackTop + track * (layout.trackHeight + 8);
    const most = largest(values);
    const least = -largest(Array.from(values, (value) => -value));
    const scale = (layout.trackHeight - 2) / (most - least || 1);
    const zero = top + 1 + most * scale;
    const column = layout.across / values.length;
    const wide = Math.max(0.8, Math.min(18, column - Math.min(4, column / 4)));
    const marks = [line(layout.left, zero, layout.left + layout.across, zero, "line", 1)];
    values.forEach((value, at) => {
      const height = Math.abs(value) * scale;
      const x = layout.left + (at + 0.5) * column - wide / 2;
      if (height > 0) marks.push(box(x, value > 0 ? zero - height : zero, wide, height, `importance${track % 2}`));
    });
    return marks;
  });
}
