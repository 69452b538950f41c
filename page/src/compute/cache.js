/** Caches of bounded size. */

/** @import { Settings } from "../types.js" */

/**
 * Add a value to a map as its newest entry; the oldest goes where there are more than `limit`.
 *
 * @template K, V
 * @param {Map<K, V>} map
 * @param {K} key
 * @param {V} value
 * @param {number} limit
 */
export function setBounded(map, key, value, limit) {
  map.delete(key);
  map.set(key, value);
  if (map.size > limit) map.delete(/** @type {K} */ (map.keys().next().value));
  return value;
}

/** @type {(settings: Settings) => string} */
export const settingsKey = ({ head, residual, keepSinks }) => `${head} ${residual} ${Boolean(keepSinks)}`;
