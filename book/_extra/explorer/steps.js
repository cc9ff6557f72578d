/**
 * Laws of whole noise on one count, as the package defines them.
 *
 * A law has `log(t)`, ln P(Z = t), `logAtMost(t)` for t <= 0, `logAtLeast(t)` for t >= 0, and
 * `draw(uniform)`, the quantile of a uniform number in [0, 1).
 */

const TINY = 1e-300;
const DEPTH = 45; // sums end where terms are e^-45 of the first
const POISSON_FROM = 4; // from here two terms of the theta function are exact

/** Noise Z with P(Z = z) proportional to e^(-rate |z|). */
export function geometricStep(rate) {
  const shared = Math.log1p(Math.exp(-rate));
  const width = Math.log(-Math.expm1(-rate));
  return {
    log: (t) => -rate * Math.abs(t) - shared + width,
    logAtMost: (t) => -rate * -t - shared,
    logAtLeast: (t) => -rate * t - shared,
    draw: (uniform) => {
      const outside = Math.exp(-rate - shared);
      if (uniform < outside) return -geometricTail(uniform / outside, rate);
      if (uniform >= 1 - outside) return geometricTail((1 - uniform) / outside, rate);
      return 0;
    },
  };
}

function geometricTail(uniform, rate) {
  return Math.max(1, Math.ceil(-Math.log(Math.max(uniform, TINY)) / rate));
}

/** Laplace noise of that rate, rounded down. */
export function floorStep(rate) {
  const width = Math.log(-Math.expm1(-rate));
  return {
    log: (t) => Math.log(0.5) + (t >= 0 ? -t * rate : (t + 1) * rate) + width,
    logAtMost: (t) => logLaplaceBelow((t + 1) * rate),
    logAtLeast: (t) => logLaplaceBelow(-t * rate),
    draw: (uniform) => {
      const centred = uniform - 0.5;
      const size = -Math.log(Math.max(1 - 2 * Math.abs(centred), TINY)) / rate;
      return Math.floor(centred < 0 ? -size : size);
    },
  };
}

function logLaplaceBelow(z) {
  return z <= 0 ? Math.log(0.5) + z : Math.log1p(-0.5 * Math.exp(-z));
}

/** The size of Laplace noise of that rate, rounded down: never negative. */
export function raisedStep(rate) {
  const both = floorStep(rate);
  const log = (t) => {
    if (t < 0) return -Infinity;
    return t === 0 ? both.log(0) : logSum(both.log(t), both.log(-t));
  };
  const logAtLeast = (t) => (t <= 0 ? 0 : logSum(both.logAtLeast(t), both.logAtMost(-t)));
  return {
    log,
    logAtLeast,
    logAtMost: (t) => (t < 0 ? -Infinity : log(0)),
    draw: (uniform) => {
      // P(Z >= t) = cosh(rate/2) e^(rate/2 - rate t) for t >= 1: a guess, then the last step.
      const logLeft = Math.log(Math.max(1 - uniform, TINY));
      let t = Math.max(0, Math.floor((logAtLeast(1) - logLeft) / rate));
      while (logAtLeast(t + 1) >= logLeft) t += 1;
      while (t > 0 && logAtLeast(t) < logLeft) t -= 1;
      return t;
    },
  };
}

function logSum(a, b) {
  const [low, high] = a < b ? [a, b] : [b, a];
  return low === -Infinity ? high : high + Math.log1p(Math.exp(low - high));
}

/** ln of the sum of e^(-z^2 / v) over all whole z; by Poisson's formula where v is not small. */
function logTheta(v) {
  if (v >= POISSON_FROM) {
    return 0.5 * Math.log(Math.PI * v) + Math.log1p(2 * Math.exp(-Math.PI * Math.PI * v));
  }
  let sum = 0;
  for (let z = 1; z * z <= DEPTH * v; z += 1) sum += Math.exp((-z * z) / v);
  return Math.log1p(2 * sum);
}

/** ln of the sum of e^(-z^2 / v) over z >= m >= 0. */
function logUpper(v, m) {
  let sum = 1;
  for (let z = m + 1; (z * z - m * m) / v <= DEPTH; z += 1) sum += Math.exp((m * m - z * z) / v);
  return Math.log(sum) - (m * m) / v;
}

/** Noise Z with P(Z = z) proportional to e^(-z^2 / v), for counts up to n. */
export function gaussianStep(v, n) {
  const constant = logTheta(v);
  const upper = new Float64Array(n + 2);
  upper[n + 1] = logUpper(v, n + 1);
  for (let m = n; m >= 0; m -= 1) upper[m] = logSum((-m * m) / v, upper[m + 1]);
  const log = (t) => (-t * t) / v - constant;
  return {
    log,
    logAtMost: (t) => upper[-t] - constant,
    logAtLeast: (t) => upper[t] - constant,
    draw: (uniform) => {
      const farthest = Math.ceil(Math.sqrt(DEPTH * v));
      let below = 0;
      for (let t = -farthest; t < farthest; t += 1) {
        below += Math.exp(log(t));
        if (uniform < below) return t;
      }
      return farthest;
    },
  };
}

/** The exact delta of one replaced record at epsilon: its loss at z is (1 - 2 z) / v. */
export function gaussianDelta(v, epsilon) {
  const least = Math.max(0, Math.floor((epsilon * v - 1) / 2));
  let first = NaN;
  let sum = 0;
  for (let m = least; ; m += 1) {
    const excess = (1 + 2 * m) / v - epsilon;
    if (!(excess > 0)) continue;
    if (Number.isNaN(first)) first = m;
    const depth = (m * m - first * first) / v;
    if (depth > DEPTH) break;
    sum += Math.exp(-depth) * -Math.expm1(-excess);
  }
  return sum * Math.exp((-first * first) / v - logTheta(v));
}

/**
 * The least v whose delta at epsilon is the one allowed, less a part in 1e9, as the package has it.
 *
 * Delta is not monotone in v where noise is narrow: the first j / epsilon that is enough is looked
 * for, then bisection goes down from it; the last digits by secant steps within the bracket.
 */
export function gaussianVariance(epsilon, allowed) {
  const target = allowed * (1 - 1e-9);
  const excess = (v) => Math.log(gaussianDelta(v, epsilon * (1 - 1e-15)) / target);
  let high = 1;
  while (excess(high) > 0) high *= 2;
  let low = high / 2;
  while (low > 1e-6 && excess(low) <= 0) [low, high] = [low / 2, low];
  const end = Math.min(high, 32);
  for (let j = 1, before = 0, v = 0; ; j += 1, before = v) {
    v = (j / epsilon) * (1 + 4e-15);
    if (v >= end) {
      low = Math.max(low, before);
      break;
    }
    if (excess(v) <= 0) {
      [low, high] = [before || v / 2, v];
      while (low > 1e-6 && excess(low) <= 0) [low, high] = [low / 2, low];
      break;
    }
  }
  let [atLow, atHigh] = [excess(low), excess(high)];
  for (let count = 0; count < 100 && high / low - 1 > 2e-16; count += 1) {
    const share = atLow / (atLow - atHigh);
    const close = high / low - 1 < 1e-4 && count % 3 < 2 && Number.isFinite(share);
    let middle = low + (high - low) * (close ? Math.min(Math.max(share, 1e-9), 1 - 1e-9) : 0.5);
    // A secant step may be too short for a number between the two.
    if (!(low < middle && middle < high)) middle = low + (high - low) / 2;
    if (!(low < middle && middle < high)) break;
    const value = excess(middle);
    if (Math.abs(value) < 1e-15) return middle;
    if (value > 0) [low, atLow] = [middle, value];
    else [high, atHigh] = [middle, value];
  }
  return high;
}
