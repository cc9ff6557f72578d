/**
 * Logarithms of the gamma function and the distribution function of a Beta variable.
 *
 * As in `divergences` of the package: lnGamma(z) = (z - 1/2) ln z - z + ln(2 pi)/2 + s(z), with s(z)
 * by Stirling's series from 16 on and by s(z) = s(z + 1) + (z + 1/2) log1p(1/z) - 1 below.
 */

const SERIES_FROM = 16;
const COEFFICIENTS = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360];
const HALF_LOG_TWO_PI = 0.9189385332046727;
const LONGEST_FRACTION = 20000;
const BISECTIONS = 60;

/** What Stirling's formula leaves over, s(z), for z > 0. */
export function stirlingRemainder(z) {
  let lifted = 0;
  let at = z;
  while (at < SERIES_FROM) {
    lifted += (at + 0.5) * Math.log1p(1 / at) - 1;
    at += 1;
  }
  const inverse = 1 / at;
  const square = inverse * inverse;
  let series = COEFFICIENTS[5];
  for (let i = 4; i >= 0; i -= 1) series = series * square + COEFFICIENTS[i];
  return lifted + series * inverse;
}

/** lnGamma(z) for z > 0. */
export function logGamma(z) {
  return (z - 0.5) * Math.log(z) - z + HALF_LOG_TWO_PI + stirlingRemainder(z);
}

/** ln B(a, b). */
export function logBeta(a, b) {
  return logGamma(a) + logGamma(b) - logGamma(a + b);
}

/** ln of the density of Beta(a, b) at t in (0, 1). */
export function logDensity(a, b, t) {
  return (a - 1) * Math.log(t) + (b - 1) * Math.log1p(-t) - logBeta(a, b);
}

/** P(X <= t) for X ~ Beta(a, b): the continued fraction on the side where it converges fast. */
export function betaCdf(a, b, t) {
  if (t <= 0) return 0;
  if (t >= 1) return 1;
  const front = Math.exp(a * Math.log(t) + b * Math.log1p(-t) - logBeta(a, b));
  if (t < (a + 1) / (a + b + 2)) return (front * fraction(a, b, t)) / a;
  return 1 - (front * fraction(b, a, 1 - t)) / b;
}

/** The continued fraction of the incomplete beta function, by Lentz's method. */
function fraction(a, b, t) {
  const tiny = 1e-300;
  let c = 1;
  let d = away(1 - ((a + b) * t) / (a + 1), tiny);
  d = 1 / d;
  let value = d;
  for (let m = 1; m < LONGEST_FRACTION; m += 1) {
    const even = (m * (b - m) * t) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away(1 + even * d, tiny);
    c = away(1 + even / c, tiny);
    value *= d * c;
    const odd = (-(a + m) * (a + b + m) * t) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away(1 + odd * d, tiny);
    c = away(1 + odd / c, tiny);
    const change = d * c;
    value *= change;
    if (Math.abs(change - 1) < 4e-16) break;
  }
  return value;
}

function away(value, tiny) {
  return Math.abs(value) < tiny ? tiny : value;
}

/** The point where an increasing distribution function on [0, 1] reaches `level`. */
export function quantile(cdf, level) {
  let low = 0;
  let high = 1;
  for (let i = 0; i < BISECTIONS; i += 1) {
    const middle = (low + high) / 2;
    if (cdf(middle) >= level) high = middle;
    else low = middle;
  }
  return high;
}
