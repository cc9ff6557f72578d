/**
 * What the charts show, in sentences: one list for the eyes and for a screen reader.
 */

import { guessing } from "./model.js";
import { MECHANISMS } from "./mechanisms.js";

/** A number to a few digits, without an exponent where that is short. */
export function short(value, digits = 3) {
  if (!Number.isFinite(value)) return value > 0 ? "infinitely large" : "undefined";
  if (value !== 0 && Math.abs(value) < 1e-4) return value.toExponential(1);
  return String(Number(value.toPrecision(digits)));
}

function interval({ mean, low, high }) {
  const [first, last] = [low, high].map((end) => (end < 1e-9 ? "0" : short(end)));
  return `mean ${short(mean)}, 95% interval ${first} to ${last}`;
}

function ones(count) {
  return count === 1 ? "1 one" : `${count} ones`;
}

/** The highest chance of a right guess by somebody who starts at even odds; never 100 for less. */
export function guess(epsilon) {
  const hundred = 100 * guessing(epsilon);
  for (let digits = 1; digits <= 12; digits += 1) {
    const near = Number(hundred.toFixed(digits));
    if (near < 100) return `${near} of 100`;
  }
  return "100 of 100";
}

/** The counts that hold at least 95 of 100 releases, cutting at most 2.5 of 100 at either end. */
export function bulk(law) {
  let low = 0;
  let below = law[0];
  while (below <= 0.025) below += law[(low += 1)];
  let high = law.length - 1;
  let above = law[high];
  while (above <= 0.025) above += law[(high -= 1)];
  return [low, high];
}

function proof(state, seen) {
  const { proved } = MECHANISMS.get(state.mechanism);
  if (state.promise === "audited") {
    return "The noise is set so that the actual loss is ε, for this n and this prior only.";
  }
  if (proved === "never") {
    return "No noise of this kind makes it finite: an answer rules out all larger true counts.";
  }
  if (proved === "none") return "No promise is proved for this mechanism.";
  if (state.distance === "published" && MECHANISMS.get(state.mechanism).kind === "scored") {
    return "With the published distance no promise is proved.";
  }
  const kept = `The promise ε = ${short(state.epsilon)}`;
  if (proved === "delta") return `${kept} with δ = ${short(state.delta)} is proved.`;
  return `${kept} is proved; ${short(100 * (seen.audited / state.epsilon))}% of it is used.`;
}

/** The state in one line. */
export function headline(state) {
  const extra = MECHANISMS.get(state.mechanism).uses
    .map((name) => `, ${name === "gamma" ? "γ" : "δ"} = ${short(state[name])}`).join("");
  const measure = state.distance === "published" ? ", published distance" : "";
  return `${ones(state.ones)} among ${state.n} record${state.n === 1 ? "" : "s"}, prior (${state.prior.map((a) => short(a)).join(", ")}); ` +
    `${state.mechanism} at ${state.promise} ε = ${short(state.epsilon)}${extra}${measure}.`;
}

/** One text for each chart. */
export function chartTexts(state, seen) {
  const [low, high] = bulk(seen.law);
  const { worst } = seen;
  return {
    law: `At least 95 of 100 releases lie between ${low} and ${high} ones. The release shown is ` +
      `${ones(seen.released)}, at distance ${short(seen.distance)} from the true posterior.`,
    posterior: `True posterior: ${interval(seen.truth)}. Release at face value: ` +
      `${interval(seen.face)}. Noise-aware: ${interval(seen.aware)}.`,
    error: `Mean error for your data ${short(seen.mean)}; over all data sets ` +
      `${short(seen.averageMean)} on average and ${short(seen.worstMean)} at worst.`,
    loss: `Actual privacy loss ${short(seen.audited)}, attained between ${worst.likely} and ` +
      `${worst.other} ones when ${worst.output} is released. ${proof(state, seen)}` +
      (seen.leastDelta === null ? "" : ` The least δ at ε = ${short(state.epsilon)} is ${short(seen.leastDelta)}.`),
  };
}

/** Everything in sentences. */
export function readOut(state, seen) {
  const texts = chartTexts(state, seen);
  return [
    headline(state),
    texts.law,
    texts.posterior,
    texts.error,
    texts.loss,
    `Somebody who knows all other records and starts at even odds ends with a chance of at most ` +
      `${guess(seen.audited)} of guessing yours.`,
  ];
}
