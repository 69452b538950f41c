/** Arrays of the document: base64 text, decoded a part at a time. */

/** @import { EncodedArray } from "../types.js" */

const ITEM_BYTES = { u2: 2, f4: 4 };

/**
 * Decode `count` numbers of the flattened array from index `first`, and no others.
 *
 * @type {(array: EncodedArray, first?: number, count?: number) => Float32Array<ArrayBuffer>}
 */
export function decodeArray(array, first = 0, count = array.shape.reduce((product, size) => product * size, 1)) {
  const width = ITEM_BYTES[array.type];
  const bytes = decodeBytes(array.data, first * width, count * width);
  // The data is little-endian, as are all machines that run a browser today.
  if (array.type === "f4") return new Float32Array(bytes.buffer);
  // Loops here and below: Float32Array.from with a function is ten times as slow.
  const integers = new Uint16Array(bytes.buffer);
  const numbers = new Float32Array(count);
  const step = array.scale / 65535;
  for (let at = 0; at < count; at++) numbers[at] = integers[at] * step;
  return numbers;
}

/** Decode `count` bytes from byte `first`.
 * @type {(text: string, first: number, count: number) => Uint8Array<ArrayBuffer>} */
function decodeBytes(text, first, count) {
  // Four characters are three bytes, so a part starts at such a group.
  const group = Math.floor(first / 3);
  const skipped = first - 3 * group;
  const characters = text.slice(4 * group, 4 * Math.ceil((first + count) / 3));
  const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(characters) : fromBinary(atob(characters));
  return bytes.slice(skipped, skipped + count);
}

/** @type {(binary: string) => Uint8Array<ArrayBuffer>} */
function fromBinary(binary) {
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}
