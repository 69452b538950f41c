/** What was computed, kept for a while: maps that do not grow without end. */

/** Put a value into a map of at most `most`, as its newest; the oldest goes. */
export function keepLast(map, key, value, most) {
  map.delete(key);
  map.set(key, value);
  if (map.size > most) map.delete(map.keys().next().value);
}

/** @param {import("./edges.js").Settings} settings */
export const settingsKey = ({ head, residual }) => `${head} ${residual}`;
