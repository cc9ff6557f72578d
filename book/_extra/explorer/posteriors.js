/**
 * Posteriors of the share of ones: the true one, the released one, and the one an analyst should
 * hold who knows how the noise was made.
 */

import { betaCdf, logDensity, logGamma, quantile } from "./gamma.js";

const LEVEL = 0.95;
const NEGLIGIBLE = 1e-25;

/** Mean and central 95% interval of Beta(a, b). */
export function betaSummary(a, b) {
  const cdf = (t) => betaCdf(a, b, t);
  return { mean: a / (a + b), low: quantile(cdf, (1 - LEVEL) / 2), high: quantile(cdf, (1 + LEVEL) / 2) };
}

/** The density of Beta(a, b) at each t. */
export function betaDensity(a, b, points) {
  return points.map((t) => Math.exp(logDensity(a, b, t)));
}

/** ln of Gamma(alpha + x)/x! for x = 0 .. n, up to a constant. */
function logPriorFactor(alpha, n) {
  const logs = new Float64Array(n + 1);
  for (let x = 0; x < n; x += 1) logs[x + 1] = logs[x] + Math.log((alpha + x) / (x + 1));
  return logs;
}

/** P(count = x | release) for x = 0 .. n, from ln P(release | x). */
export function countWeights(n, prior, logLikelihood) {
  const first = logPriorFactor(prior[0], n);
  const second = logPriorFactor(prior[1], n);
  const logs = logLikelihood.map((value, x) => value + first[x] + second[n - x]);
  const top = logs.reduce((a, b) => Math.max(a, b), -Infinity);
  const weights = logs.map((value) => Math.exp(value - top));
  const total = weights.reduce((a, b) => a + b, 0);
  return weights.map((weight) => weight / total);
}

/**
 * The mixture of Beta(a + x, b + n - x) over x with these weights.
 *
 * Its distribution function needs one incomplete beta function only: with c = a + j, d = b + n - j,
 * I_t(c, d) - I_t(c + 1, d - 1) = t^c (1 - t)^(d - 1) / (c B(c, d)), so that F(t) is
 * I_t(a + n, b) plus the sum over j < n of P(x <= j) times that term.
 */
export class Mixture {
  constructor(n, prior, weights) {
    this.n = n;
    this.prior = prior;
    this.weights = weights;
    this.total = logGamma(prior[0] + prior[1] + n);
    this.below = new Float64Array(n);
    let sum = 0;
    for (let j = 0; j < n; j += 1) {
      sum += weights[j];
      this.below[j] = sum;
    }
  }

  get mean() {
    let expected = 0;
    for (let x = 0; x <= this.n; x += 1) expected += x * this.weights[x];
    return (this.prior[0] + expected) / (this.prior[0] + this.prior[1] + this.n);
  }

  cdf(t) {
    if (t <= 0) return 0;
    if (t >= 1) return 1;
    const [a, b] = this.prior;
    return betaCdf(a + this.n, b, t) + this.sum(this.below, a, b + this.n - 1, t);
  }

  density(points) {
    const [a, b] = this.prior;
    return points.map((t) => this.sum(this.weights, a - 1, b + this.n - 1, t));
  }

  /**
   * The sum over j of values[j] G t^p (1 - t)^q / (Gamma(p + 1) Gamma(q + 1)), p = first + j and
   * q = second - j, with G = Gamma(a + b + n).
   *
   * The terms rise to one peak and fall: from there each follows from its neighbour, until they
   * are too small to count.
   */
  sum(values, first, second, t) {
    const last = values.length - 1;
    if (last < 0) return 0;
    const odds = t / (1 - t);
    const peak = Math.round((first + second + 1) * t - first - 0.5);
    const start = Math.min(Math.max(peak, 0), last);
    const p = first + start;
    const q = second - start;
    const log = this.total - logGamma(p + 1) - logGamma(q + 1);
    const top = Math.exp(log + p * Math.log(t) + q * Math.log1p(-t));
    let result = values[start] * top;
    let term = top;
    for (let j = start; j < last; j += 1) {
      term *= ((second - j) / (first + j + 1)) * odds;
      result += values[j + 1] * term;
      if (term < NEGLIGIBLE * top) break;
    }
    term = top;
    for (let j = start; j > 0; j -= 1) {
      term *= (first + j) / ((second - j + 1) * odds);
      result += values[j - 1] * term;
      if (term < NEGLIGIBLE * top) break;
    }
    return result;
  }

  summary() {
    const cdf = (t) => this.cdf(t);
    return {
      mean: this.mean,
      low: quantile(cdf, (1 - LEVEL) / 2),
      high: quantile(cdf, (1 + LEVEL) / 2),
    };
  }
}
