/** Parts that graph and heat map share: names of layers, labels of tokens, bars of importance. */

/** @import { Importance, Layout, Mark, NodeRef, Vector } from "../types.js" */

import { maxFinite } from "../compute/matrix.js";
import { LINE_SPACE } from "./layout.js";
import { box, label, line } from "./marks.js";

/** Labels where there is no space for all; chosen: more of them hide which are the strongest. */
const MAX_LABELS = 40;

/** Return the names of the layers; the selected one is bold, in a graph on a band.
 * @type {(layout: Layout, selected: number) => Mark[]} */
export function layerMarks(layout, selected) {
  /** @type {Mark[]} */
  const marks = [];
  for (const layer of layout.rows) {
    const y = layout.y(layer);
    const bold = layer === selected;
    if (bold && !layout.cells) {
      const height = Math.min(22, layout.gap - 2);
      marks.push(box(0, y - height / 2, layout.width, height, "ink", { alpha: 0.06, corner: 4 }));
    }
    marks.push(
      label(layout.left - 8, y + 4, layout.layerName(layer), bold ? "ink" : "muted", { size: 11, anchor: "end", bold }),
    );
  }
  return marks;
}

/** Return the names of the layers for a picture that is scrolled away from them.
 * @type {(layout: Layout, selected: number) => Mark[]} */
export function stickyNames(layout, selected) {
  const names = layerMarks(layout, selected).filter(({ kind }) => kind === "text");
  return [box(0, 0, layout.left - 4, layout.bottom + 8, "paper", { alpha: 0.88 }), ...names];
}

/**
 * Return the labels of the tokens; those of `strong` are bold.
 *
 * Where there is no space for all, `strong`, the tokens with the highest scores and then generated ones have one.
 *
 * @type {(layout: Layout, strong: Set<number>, scores: Vector | null) => Mark[]}
 */
export function tokenLabels(layout, strong, scores) {
  const { labels, labelTop, generated } = layout;
  const shown = labels.kind === "some" ? spacedLabels(layout, strong, scores) : labels.texts.keys();
  const marks = Array.from(shown, (at) => {
    const x = layout.left + ((at + 0.5) * layout.across) / labels.texts.length;
    const style = { size: labels.size, bold: strong.has(at) };
    const text = labels.texts[at];
    if (labels.kind === "flat") return label(x, labelTop + 11, text, "ink", { ...style, anchor: "middle" });
    if (labels.kind === "slanted")
      return label(x + 4, labelTop + 7, text, "ink", { ...style, anchor: "end", angle: -45 });
    return label(x + 0.35 * labels.size, labelTop, text, "ink", { ...style, anchor: "end", angle: -90 });
  });
  if (!generated) return marks;
  const end = layout.left + layout.across;
  const start = end - (generated * layout.across) / labels.texts.length;
  return [...marks, line(start, labelTop - 3, end, labelTop - 3, "accent", 2.5)];
}

/** Return the tokens that have a label, where two would not touch: `strong`, highest score first, generated.
 * @type {(layout: Layout, strong: Set<number>, scores: Vector | null) => number[]} */
function spacedLabels({ labels, across, generated }, strong, scores) {
  const count = labels.texts.length;
  const column = across / count;
  const written = Array.from({ length: generated }, (_, at) => count - generated + at);
  const ranked = scores ? [...scores.keys()].filter((at) => scores[at] > 0).sort((a, b) => scores[b] - scores[a]) : [];
  /** @type {number[]} */
  const shown = [];
  for (const at of [...strong, ...ranked, ...written]) {
    if (shown.length >= MAX_LABELS) break;
    if (shown.every((other) => Math.abs(other - at) * column >= labels.size + LINE_SPACE)) shown.push(at);
  }
  return shown;
}

/** Return one track of bars for each importance; bars of negative values point down.
 * @type {(layout: Layout, importance: Importance[]) => Mark[]} */
export function importanceMarks(layout, importance) {
  return importance.flatMap(({ values }, track) => {
    const top = layout.trackTop + track * (layout.trackHeight + 8);
    const max = maxFinite(values);
    const min = -maxFinite(values.map((value) => -value));
    const scale = (layout.trackHeight - 2) / (max - min || 1);
    const zero = top + 1 + max * scale;
    const column = layout.across / values.length;
    const width = Math.max(0.8, Math.min(18, column - Math.min(4, column / 4)));
    /** @type {Mark[]} */
    const marks = [line(layout.left, zero, layout.left + layout.across, zero, "line", 1)];
    values.forEach((value, at) => {
      const height = Math.abs(value) * scale;
      const x = layout.left + (at + 0.5) * column - width / 2;
      if (height > 0) marks.push(box(x, value > 0 ? zero - height : zero, width, height, importanceColor(track)));
    });
    return marks;
  });
}

/** @type {(track: number) => "importance0" | "importance1"} */
export const importanceColor = (track) => (track % 2 ? "importance1" : "importance0");

/** Return the tokens among these nodes. @type {(nodes: (NodeRef | null)[]) => Set<number>} */
export function tokensOf(nodes) {
  return new Set(nodes.flatMap((at) => (at?.layer === 0 ? [at.node] : [])));
}
