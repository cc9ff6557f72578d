/**
 * The mechanisms for two categories, as the package defines them.
 *
 * A *scored* mechanism releases r with probability proportional to exp(-rate(x) H(x, r)); its
 * `rates` gives rate(x) for all x. A *stepped* one adds whole noise to the count and clamps it to
 * 0 .. n; its `step` gives the law of that noise. `uses` names the parameters it has beside epsilon,
 * `proved` says what is proved: "pure" (epsilon), "delta" (epsilon and delta) or "none". `scale` multiplies all rates: 1 for the nominal
 * epsilon, another number after calibration by audit.
 */

import {
  exponentialSmooth,
  globalSensitivity,
  localSensitivities,
  reciprocalSmooth,
} from "./sensitivities.js";

/** The share of epsilon that expMech-repaired sets aside. */
const REPAIR_SHARE = 0.2;

/** The smoothing rate of expMech-delta: ln(1 - epsilon / (2 ln(delta / (2 (n + 1))))). */
export function deltaRate(n, epsilon, delta) {
  return Math.log1p(-epsilon / (2 * Math.log(delta / (2 * (n + 1)))));
}

/** The smoothing rate of expMech-repaired, less the part in a million kept for rounding. */
export function repairedRate(n, epsilon, delta) {
  const logarithm = Math.log(n + 1) - Math.log(delta);
  return Math.log1p((REPAIR_SHARE * epsilon) / logarithm) * (1 - 1e-6);
}

/** Noise Z with P(Z = z) proportional to e^(-rate |z|). */
function geometricStep(rate) {
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
  return Math.max(1, Math.ceil(-Math.log(Math.max(uniform, 1e-300)) / rate));
}

/** Laplace noise of that rate, rounded down. */
function floorStep(rate) {
  const width = Math.log(-Math.expm1(-rate));
  return {
    log: (t) => Math.log(0.5) + (t >= 0 ? -t * rate : (t + 1) * rate) + width,
    logAtMost: (t) => logLaplaceBelow((t + 1) * rate),
    logAtLeast: (t) => logLaplaceBelow(-t * rate),
    draw: (uniform) => {
      const centred = uniform - 0.5;
      const size = -Math.log(Math.max(1 - 2 * Math.abs(centred), 1e-300)) / rate;
      return Math.floor(centred < 0 ? -size : size);
    },
  };
}

function logLaplaceBelow(z) {
  return z <= 0 ? Math.log(0.5) + z : Math.log1p(-0.5 * Math.exp(-z));
}

function scored(name, uses, proved, factor, sensitivities) {
  const rates = (state, local) => {
    const smooth = sensitivities(state, local);
    const divisor = factor(state);
    return smooth.map((value) => state.epsilon / (divisor * value));
  };
  return { name, kind: "scored", uses, proved, sensitivities, rates };
}

function stepped(name, step) {
  return { name, kind: "stepped", uses: [], proved: "pure", step };
}

const LIST = [
  stepped("lapMech", (epsilon) => floorStep(epsilon / 2)),
  stepped("ilapMech", floorStep),
  stepped("geometric", geometricStep),
  // With two categories lattice noise is the geometric mechanism.
  stepped("lattice", geometricStep),
  scored("expMech", [], "pure", () => 2, (state, local) => globalSensitivity(local)),
  scored("expMech-local", [], "none", () => 2, (state, local) => local),
  scored("expMech-smooth", ["gamma"], "pure", (state) => 2 * (1 + state.gamma), (state, local) =>
    reciprocalSmooth(local, state.gamma)),
  scored("expMech-delta", ["delta"], "none", () => 2, (state, local) =>
    exponentialSmooth(local, deltaRate(state.n, state.epsilon, state.delta))),
  scored("expMech-repaired", ["delta"], "delta", () => 2 / (1 - REPAIR_SHARE), (state, local) =>
    exponentialSmooth(local, repairedRate(state.n, state.epsilon, state.delta))),
];

/** All mechanisms by name, in the order in which they are offered. */
export const MECHANISMS = new Map(LIST.map((mechanism) => [mechanism.name, mechanism]));

/** rate(x) of a scored mechanism for all x, before any scale. */
export function scoredRates(state, table) {
  const mechanism = MECHANISMS.get(state.mechanism);
  return mechanism.rates(state, localSensitivities(state.n, table));
}

/** ln P(r | x) of clamped noise for all x and r, at place x (n + 1) + r. */
export function steppedLogs(n, step, logs) {
  const size = n + 1;
  const inside = new Float64Array(2 * n + 1);
  for (let t = -n; t <= n; t += 1) inside[t + n] = step.log(t);
  for (let x = 0; x <= n; x += 1) {
    const row = x * size;
    for (let r = 1; r < n; r += 1) logs[row + r] = inside[r - x + n];
    logs[row] = step.logAtMost(-x);
    logs[row + n] = step.logAtLeast(n - x);
  }
}
