/**
 * Rows, columns and matrices of weights. Matrices are flat, row after row: rows take, columns give.
 *
 * A layer is A = (1 − r) W + r I with the residual r, and is never written out: products with W are
 * mixed with what they were made from.
 */

/** Divide each row by its sum, in place; a row of zeros stays. */
export function makeRowsShares(matrix, rows, columns) {
  for (let row = 0; row < rows; row++) {
    const start = row * columns;
    let sum = 0;
    for (let column = 0; column < columns; column++) sum += matrix[start + column];
    if (sum > 0) for (let column = 0; column < columns; column++) matrix[start + column] /= sum;
  }
}

/** Row times matrix: (1 − r) x W + r x, what a layer hands down. */
export function rowTimes(x, W, columns, residual) {
  const product = new Float64Array(columns);
  addRows(
    product,
    x.map((value) => (1 - residual) * value),
    W,
    columns,
  );
  if (residual) for (let row = 0; row < x.length; row++) product[row] += residual * x[row];
  return product;
}

/** Add shares[k] times row k of a matrix to sums: four rows at a time, which is twice as fast as one. */
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

/** Matrix times column: (1 − r) W y + r y, what each node of a layer has of those below. */
export function timesColumn(W, y, rows, residual) {
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

/** One row of A times a matrix below it: how rollout grows by a layer. */
export function rowOfProduct(W, row, below, inner, columns, residual, sums) {
  const shares = Float64Array.from(W.subarray(row * inner, (row + 1) * inner), (weight) => (1 - residual) * weight);
  if (residual) shares[row] += residual;
  sums.fill(0);
  addRows(sums, shares, below, columns);
  return sums;
}

/** What runs over each edge of a row where x arrives at its node: x A[row, k]. */
export function massesOfRow(x, W, row, columns, residual, masses) {
  const start = row * columns;
  for (let column = 0; column < columns; column++) masses[column] = (1 - residual) * x * W[start + column];
  if (residual) masses[row] += residual * x;
  return masses;
}

/** What each edge of a row adds to what its node has of y: A[row, k] y[k]. */
export function sharesOfRow(y, W, row, residual, masses) {
  const start = row * y.length;
  for (let column = 0; column < y.length; column++) masses[column] = (1 - residual) * W[start + column] * y[column];
  if (residual) masses[row] += residual * y[row];
  return masses;
}

/** A row that sums to one; one of zeros, or with an infinite score, stays as it is. */
export function normalisedRow(row) {
  let sum = 0;
  for (const value of row) sum += value;
  return sum > 0 && Number.isFinite(sum) ? row.map((value) => value / sum) : row;
}

/** Scores of tokens as scores of words: the sum over the pieces of each. */
export function mergedRow(row, pieces) {
  return Float64Array.from(pieces, (each) => each.reduce((sum, piece) => sum + row[piece], 0));
}

/**
 * The same of a matrix: the mean over the pieces of a word that takes, the sum over those of one
 * that gives.
 *
 * @param {number[][]} above rows of each word that takes
 * @param {number[][]} below columns of each word that gives
 */
export function mergedMatrix(matrix, columns, above, below) {
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

/** The largest finite number, and 0 where there is none. */
export function largest(values) {
  let most = 0;
  for (const value of values) if (value > most && value < Infinity) most = value;
  return most;
}
