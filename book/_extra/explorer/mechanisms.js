/**
 * The mechanisms for two categories, as the package defines them.
 *
 * A *scored* mechanism releases r with probability proportional to exp(-rate(x) H(x, r)), or, where
 * it says `walks`, takes r with that probability when it comes to it on a walk in random order; its
 * `rates` gives rate(x) for all x. A *stepped* one adds whole noise to the count and clamps it to
 * 0 .. n; its `step` gives the law of that noise. `uses` names the parameters it has beside epsilon,
 * `proved` says what is proved: "pure" (epsilon), "delta" (epsilon and delta), "none", or "never"
 * where no noise makes the loss finite. `scale` multiplies epsilon or all rates: 1 for the nominal
 * epsilon, another number after calibration by audit, which `nominal` mechanisms are not offered for.
 */

import {
  exponentialSmooth,
  globalSensitivity,
  localSensitivities,
  reciprocalSmooth,
} from "./sensitivities.js";
import { floorStep, gaussianStep, gaussianVariance, geometricStep, raisedStep } from "./steps.js";

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

function scored(name, uses, proved, factor, sensitivities) {
  const rates = (state, local) => {
    const smooth = sensitivities(state, local);
    const divisor = factor(state);
    return smooth.map((value) => state.epsilon / (divisor * value));
  };
  return { name, kind: "scored", uses, proved, sensitivities, rates };
}

function stepped(name, step, uses = [], proved = "pure") {
  return { name, kind: "stepped", uses, proved, step, nominal: proved !== "pure" };
}

function walking(mechanism) {
  return { ...mechanism, walks: true };
}

const LIST = [
  stepped("lapMech", (epsilon) => floorStep(epsilon / 2)),
  stepped("ilapMech", (epsilon) => floorStep(epsilon)),
  stepped("draft-laplace", (epsilon) => raisedStep(epsilon / 2), [], "never"),
  stepped("geometric", (epsilon) => geometricStep(epsilon)),
  // With two categories lattice noise is the geometric mechanism.
  stepped("lattice", (epsilon) => geometricStep(epsilon)),
  stepped("discrete-gaussian", (epsilon, { delta, n }) =>
    gaussianStep(gaussianVariance(epsilon, delta), n), ["delta"], "delta"),
  scored("expMech", [], "pure", () => 2, (state, local) => globalSensitivity(local)),
  scored("expMech-local", [], "none", () => 2, (state, local) => local),
  scored("expMech-smooth", ["gamma"], "pure", (state) => 2 * (1 + state.gamma), (state, local) =>
    reciprocalSmooth(local, state.gamma)),
  scored("expMech-delta", ["delta"], "none", () => 2, (state, local) =>
    exponentialSmooth(local, deltaRate(state.n, state.epsilon, state.delta))),
  scored("expMech-repaired", ["delta"], "delta", () => 2 / (1 - REPAIR_SHARE), (state, local) =>
    exponentialSmooth(local, repairedRate(state.n, state.epsilon, state.delta))),
  walking(scored("permute-and-flip", [], "pure", () => 2, (state, local) =>
    globalSensitivity(local))),
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
