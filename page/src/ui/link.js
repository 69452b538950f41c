/** The part of an address behind its #, where the state of a page stands. */

/**
 * Put `#…` into the address, in place of what stands there.
 *
 * Firefox and Safari refuse more than some hundred changes in half a minute with an error. The address
 * is then a little behind, and the next change that they take is whole again.
 */
export function putHash(hash) {
  try {
    history.replaceState(null, "", hash);
  } catch {
    // Nothing is lost: the page has its state, and copies links from there.
  }
}
