/**
 * How far one replaced record moves the posterior: local, global and smooth sensitivities, k = 2.
 *
 * The formulas are those of the package's `sensitivity`: with two categories the smooth ones are
 * attained at the data themselves, one step away, or next to a corner.
 */

/** LS(x) for x = 0 .. n: the larger distance to the two neighbours. */
export function localSensitivities(n, table) {
  const size = n + 1;
  const local = new Float64Array(size);
  for (let x = 0; x <= n; x += 1) {
    const up = x < n ? table[x * size + x + 1] : 0;
    const down = x > 0 ? table[x * size + x - 1] : 0;
    local[x] = Math.max(up, down);
  }
  return local;
}

/** S(x) = max over x'' of F(LS(x''), |x - x''|) for a way F to smooth. */
function smoothed(local, smooth) {
  const n = local.length - 1;
  const result = new Float64Array(n + 1);
  for (let x = 0; x <= n; x += 1) {
    let best = 0;
    for (const at of [x, Math.min(x + 1, n), Math.max(x - 1, 0), 0, 1, n - 1, n]) {
      best = Math.max(best, smooth(local[at], Math.abs(at - x)));
    }
    result[x] = best;
  }
  return result;
}

/** 1/(1/LS + gamma d): the reciprocal smooth sensitivity of D, Definition 3. */
export function reciprocalSmooth(local, gamma) {
  return smoothed(local, (value, records) => 1 / (1 / value + gamma * records));
}

/** LS exp(-gamma d): the exponential smooth sensitivity of A, equation 1. */
export function exponentialSmooth(local, gamma) {
  return smoothed(local, (value, records) => value * Math.exp(-gamma * records));
}

/** GS, in every entry: the largest local sensitivity. */
export function globalSensitivity(local) {
  const n = local.length - 1;
  const corners = [0, Math.min(1, n), Math.max(n - 1, 0), n].map((x) => local[x]);
  return new Float64Array(n + 1).fill(Math.max(...corners));
}
