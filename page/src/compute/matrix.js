/**
 * Products of vectors and matrices. Matrices are flat, row after row: rows attend, columns are attended.
 *
 * A layer is A = (1 − r) W + r I with the residual r. It is never stored: products with W are mixed
 * with their input.
 */

/** @import { Matrix, Numbers, Vector } from "../types.js" */

/** Divide each row by its sum, in place; a row of zeros, or with an infinite value, stays.
 * @type {(matrix: Matrix, columns: number) => void} */
export function normalizeRows(matrix, columns) {
  for (let start = 0; start < matrix.length; start += columns) {
    const row = matrix.subarray(start, start + columns);
    const sum = sumOf(row);
    if (sum > 0 && sum < Infinity) for (let column = 0; column < columns; column++) row[column] /= sum;
  }
}

/** @type {(values: Numbers) => number} */
export function sumOf(values) {
  let sum = 0;
  for (let at = 0; at < values.length; at++) sum += values[at];
  return sum;
}

/** Return x A = (1 − r) x W + r x. @type {(x: Vector, W: Numbers, columns: number, residual: number) => Vector} */
export function vectorTimesLayer(x, W, columns, residual) {
  const product = new Float64Array(columns);
  const scaled = x.map((value) => (1 - residual) * value);
  addRows(product, scaled, W, columns);
  if (residual) for (let row = 0; row < x.length; row++) product[row] += residual * x[row];
  return product;
}

/**
 * Add shares[k] times row k of a matrix to `sums`: four rows at a time, which is twice as fast as one.
 *
 * @type {(sums: Vector, shares: Vector, matrix: Numbers, columns: number) => void}
 */
function addRows(sums, shares, matrix, columns) {
  let row = 0;
  for (; row + 3 < shares.length; row += 4) {
    const [a, b, c, d] = [shares[row], shares[row + 1], shares[row + 2], shares[row + 3]];
    if (a === 0 && b === 0 && c === 0 && d === 0) continue;
    const first = row * columns;
    const [second, third, fourth] = [first + columns, first + 2 * columns, first + 3 * columns];
    for (let k = 0; k < columns; k++) {
      sums[k] += a * matrix[first + k] + b * matrix[second + k] + c * matrix[third + k] + d * matrix[fourth + k];
    }
  }
  for (; row < shares.length; row++) {
    const start = row * columns;
    for (let k = 0; k < columns; k++) sums[k] += shares[row] * matrix[start + k];
  }
}

/** Return A y = (1 − r) W y + r y. @type {(W: Numbers, y: Vector, rows: number, residual: number) => Vector} */
export function layerTimesVector(W, y, rows, residual) {
  const columns = y.length;
  const product = new Float64Array(rows);
  for (let row = 0; row < rows; row++) {
    const start = row * columns;
    let sum = 0;
    for (let column = 0; column < columns; column++) sum += W[start + column] * y[column];
    product[row] = (1 - residual) * sum + (residual ? residual * y[row] : 0);
  }
  return product;
}

/**
 * Compute one row of A times the matrix `below` into `sums`: one row of the rollout of the next layer.
 *
 * @type {(W: Matrix, row: number, below: Matrix, inner: number, residual: number, sums: Vector) => Vector}
 */
export function rowOfProduct(W, row, below, inner, residual, sums) {
  const shares = Float64Array.from(W.subarray(row * inner, (row + 1) * inner), (weight) => (1 - residual) * weight);
  if (residual) shares[row] += residual;
  sums.fill(0);
  addRows(sums, shares, below, sums.length);
  return sums;
}

/**
 * Add scale · A[row, k] · factors[k] to `out`: what each edge of a row contributes.
 *
 * @type {(W: Numbers, row: number, scale: number, factors: Vector | null, residual: number, out: Matrix) => void}
 */
export function edgeContributions(W, row, scale, factors, residual, out) {
  const start = row * out.length;
  for (let k = 0; k < out.length; k++) out[k] += (1 - residual) * scale * W[start + k] * (factors ? factors[k] : 1);
  if (residual) out[row] += residual * scale * (factors ? factors[row] : 1);
}

/**
 * Return a row divided by its sum; one of zeros, or with an infinite score, is returned as it is.
 *
 * @template {Matrix | Vector} T
 * @param {T} row
 * @returns {T}
 */
export function normalizedRow(row) {
  const sum = sumOf(row);
  return sum > 0 && sum < Infinity ? /** @type {T} */ (row.map((value) => value / sum)) : row;
}

/** Sum the scores of the tokens of each word. @type {(row: Numbers, pieces: number[][]) => Vector} */
export function mergeRow(row, pieces) {
  return Float64Array.from(pieces, (tokens) => tokens.reduce((sum, token) => sum + row[token], 0));
}

/**
 * Merge tokens into words: the mean over the rows of a word, the sum over its columns.
 *
 * @type {(matrix: Numbers, columns: number, above: number[][], below: number[][]) => Matrix}
 */
export function mergeMatrix(matrix, columns, above, below) {
  const merged = new Float32Array(above.length * below.length);
  above.forEach((rows, word) => {
    below.forEach((pieces, other) => {
      let sum = 0;
      for (const row of rows) for (const piece of pieces) sum += matrix[row * columns + piece];
      merged[word * below.length + other] = rows.length ? sum / rows.length : 0;
    });
  });
  return merged;
}

/** Return the largest finite number, 0 if none is positive. @type {(values: Iterable<number>) => number} */
export function maxFinite(values) {
  let max = 0;
  for (const value of values) if (value > max && value < Infinity) max = value;
  return max;
}
