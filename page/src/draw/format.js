/** Names, numbers and sentences as they are shown and read out. */

export const TITLES = { raw: "Raw attention", rollout: "Attention rollout", flow: "Attention flow" };

/** What importance is called, by the name it has in Python. */
export function importanceName(method) {
  return method === "blank_out" ? "blank-out" : method.replaceAll("_", " ");
}

export const EXPLAINED = {
  raw: "What each position takes from the layer right below it.",
  rollout: "All paths to a token, each the product of its edges.",
  flow: "The most that can run to a token, edges being pipes.",
};

/** What there is to do in each view. */
export const HELP = {
  graph:
    "Point at a node or tap it to see what it draws on. Click to keep it, then click an input token for the flow between " +
    "the two and its bottleneck. Arrow keys, Enter and Escape do the same.",
  heatmap: "Point at a cell for its score; click it to choose its layer. Arrow keys choose layer and position.",
  text: "Point at a token for its score; click it to see what it draws on. Arrow keys choose layer and position.",
  table: "Choose layer and position above. CSV has the scores of all layers.",
};

/** A token as it can be drawn: no control characters, white space made visible, half characters mended. */
export function visibleName(name) {
  const plain = name.replace(/[\u0000-\u001f\u007f]/g, (c) => (c === "\n" ? "⏎" : c === "\t" ? "⇥" : "�"));
  const whole = plain.replace(
    /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|[\ufffe\uffff]/g,
    "�",
  );
  return whole.trim() === "" ? "␣".repeat(Math.min(3, whole.length)) || "∅" : whole;
}

/** A score for people: three decimals, and more digits where it is small. */
export function numberText(value) {
  if (value === Infinity) return "∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 0.0095
    ? value.toFixed(3)
    : size >= 1e-6
      ? String(Number(value.toPrecision(2)))
      : value.toExponential(1);
}

/** A score for tables: enough digits to compare it with Python's. */
export function exactText(value) {
  if (value === Infinity) return "∞";
  return Math.abs(value) >= 0.01 || value === 0 ? value.toFixed(4) : String(Number(value.toPrecision(3)));
}

/** A score for a file: five decimals, or five digits where it is small. Weights of 16 bits mean no more. */
export function fileNumber(value) {
  return Number(Math.abs(value) < 0.1 ? value.toPrecision(5) : value.toFixed(5));
}

export function percentText(share) {
  const percent = 100 * share;
  return percent > 0 && percent < 1 ? "under 1 %" : `${Math.round(percent)} %`;
}

export function countText(count) {
  return String(count).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** The strongest scores of a row, as "key 0.213, the 0.15". */
export function strongestText(row, names, count = 3) {
  const order = [...row.keys()].sort((a, b) => row[b] - row[a]).slice(0, count);
  return order
    .filter((at) => row[at] > 0)
    .map((at) => `${visibleName(names[at])} ${numberText(row[at])}`)
    .join(", ");
}

/** A position with its name, or alone where the name is its number. */
export function positionText(position, name) {
  const visible = visibleName(name);
  return visible === String(position) ? visible : `${position} ${visible}`;
}

/** A node with its layer; one whose name is its number is called a position. */
export function nodeText(layer, name, node) {
  const visible = visibleName(name);
  if (layer === 0) return `token ${visible}`;
  return `layer ${layer}, ${visible === String(node) ? `position ${visible}` : visible}`;
}
