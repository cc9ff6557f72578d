/**
 * Distances between the posteriors of all data sets of n records, as one table.
 *
 * With psi(a, b) = lnGamma((a+b)/2) - (lnGamma(a) + lnGamma(b))/2 and phi(z) = psi(z, z + 1),
 * the second differences of lnGamma on the grid of half steps are -2 phi, so that
 *
 *   psi(a, a + j) = sum over i, l in 0 .. j-1 of phi(a + (i + l)/2).
 *
 * All terms are negative: nothing cancels, and each step from j to j + 1 costs one addition.
 */

import { stirlingRemainder } from "./gamma.js";

const SMALL = 16;

/** phi(z) = psi(z, z + 1), the log-affinity of one record more in a category; z > 0. */
export function oneStepAffinity(z) {
  let lifted = 0;
  let at = z;
  while (at < SMALL) {
    // phi(z) = phi(z + 1) + ln(z (z + 1) / (z + 1/2)^2) / 2.
    lifted += at < 0.25 ? 0.5 * Math.log((at / (at + 0.5)) * ((at + 1) / (at + 0.5)))
      : 0.5 * Math.log1p(-0.25 / ((at + 0.5) * (at + 0.5)));
    at += 1;
  }
  const m = at + 0.5;
  const u = 0.5 / m;
  const main = -0.5 * ((m - 0.5) * Math.log1p(-u * u) + Math.atanh(u));
  const rest =
    stirlingRemainder(m) - 0.5 * (stirlingRemainder(at) + stirlingRemainder(at + 1));
  return lifted + main + rest;
}

/** phi(alpha + s/2) for s = 0 .. 2n. */
export function halfSteps(alpha, n) {
  const phi = new Float64Array(2 * n + 1);
  for (let s = 0; s <= 2 * n; s += 1) phi[s] = oneStepAffinity(alpha + 0.5 * s);
  return phi;
}

/**
 * Add psi(alpha + x, alpha + r) to the table for all x < r, row by row.
 *
 * `mirrored` counts the other category: the entry of (x, r) belongs to (n - r, n - x). Prefix sums
 * are kept in two parts, so that their differences lose no digits.
 */
function addCategory(table, alpha, n, mirrored) {
  const phi = halfSteps(alpha, n);
  const high = new Float64Array(2 * n + 2);
  const low = new Float64Array(2 * n + 2);
  for (let s = 1; s <= 2 * n; s += 1) {
    // The first entry, which a tiny prior makes huge, is used alone and never summed.
    const sum = high[s] + phi[s];
    const back = sum - high[s];
    low[s + 1] = low[s] + (high[s] - (sum - back)) + (phi[s] - back);
    high[s + 1] = sum;
  }
  const size = n + 1;
  for (let x = 0; x < n; x += 1) {
    const start = 2 * x;
    let psi = phi[start];
    for (let j = 1; x + j <= n; j += 1) {
      table[mirrored ? (n - x - j) * size + n - x : x * size + x + j] += psi;
      const from = start + j;
      const to = start + 2 * j;
      psi += 2 * (high[to] - high[from] + (low[to] - low[from])) + phi[to];
    }
  }
}

/** ln BC between the posteriors of (x, n - x) and (r, n - r), at place x (n + 1) + r, x < r. */
export function logAffinities(n, prior) {
  const table = new Float64Array((n + 1) * (n + 1));
  addCategory(table, prior[0], n, false);
  addCategory(table, prior[1], n, true);
  return table;
}

/** kappa such that the distance is sqrt(1 - BC^kappa): 1, or 1/ln(total) for the published one. */
export function affinityExponent(distance, n, prior) {
  return distance === "published" ? 1 / Math.log(prior[0] + prior[1] + n) : 1;
}

/** All distances between posteriors of n records, symmetric, at place x (n + 1) + r. */
export function distanceTable(n, prior, distance) {
  const table = logAffinities(n, prior);
  const exponent = affinityExponent(distance, n, prior);
  const size = n + 1;
  for (let x = 0; x < n; x += 1) {
    for (let r = x + 1; r <= n; r += 1) {
      const value = Math.sqrt(-Math.expm1(exponent * table[x * size + r]));
      table[x * size + r] = value;
      table[r * size + x] = value;
    }
  }
  return table;
}
