/**
 * Arrays of the document: base64 text, read a piece at a time.
 *
 * @typedef {{type: "u2" | "f4", shape: number[], scale: number, data: string}} EncodedArray
 */

const ARRAY_BYTES = { u2: 2, f4: 4 };

/**
 * `count` numbers of an array from number `first` on, as if it were flat; only those are decoded.
 *
 * @param {EncodedArray} array
 * @param {number} [first]
 * @param {number} [count]
 * @returns {Float32Array}
 */
export function arrayPart(array, first = 0, count = arraySize(array)) {
  const width = ARRAY_BYTES[array.type];
  const bytes = bytesPart(array.data, first * width, count * width);
  // The buffer is little-endian, and so is every machine that runs a browser today.
  if (array.type === "f4") return new Float32Array(bytes.buffer);
  const whole = new Uint16Array(bytes.buffer);
  const numbers = new Float32Array(count);
  const step = array.scale / 65535;
  for (let at = 0; at < count; at++) numbers[at] = whole[at] * step;
  return numbers;
}

/** @param {EncodedArray} array */
function arraySize(array) {
  return array.shape.reduce((product, size) => product * size, 1);
}

/** Bytes of base64 text: four characters are three bytes, so a piece starts at such a group. */
function bytesPart(text, first, count) {
  const group = Math.floor(first / 3);
  const skipped = first - 3 * group;
  const characters = text.slice(4 * group, 4 * Math.ceil((first + count) / 3));
  const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(characters) : fromCharacters(characters);
  return bytes.slice(skipped, skipped + count);
}

function fromCharacters(characters) {
  const binary = atob(characters);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}
