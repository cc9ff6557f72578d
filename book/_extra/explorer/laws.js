/**
 * The exact law of every data set of n records, and what it costs: accuracy and privacy loss.
 */

import { survivals } from "./flips.js";
import { MECHANISMS, scoredRates, steppedLogs } from "./mechanisms.js";

const SAME = 1e-12;

/**
 * All laws of a mechanism, kept in one buffer of log-probabilities.
 *
 * `at(scale)` fills `logs` with ln P(r | x) for the rates times `scale`, `loss(scale)` gives the
 * largest privacy loss alone.
 */
export class Laws {
  constructor(state, table, buffer) {
    this.n = state.n;
    this.epsilon = state.epsilon;
    this.state = state;
    this.table = table;
    this.logs = buffer;
    this.mechanism = MECHANISMS.get(state.mechanism);
    this.rates = this.mechanism.kind === "scored" ? scoredRates(state, table) : null;
    this.constants = new Float64Array(state.n + 1);
    // With equal prior parameters the law of n - x is that of x, read backwards.
    this.mirrored = state.prior[0] === state.prior[1];
    this.means = new Float64Array(state.n + 1);
    this.weights = new Float64Array(state.n + 1);
    this.integrals = new Float64Array(state.n + 1);
  }

  /** The law of the noise, for a mechanism that adds noise to the count. */
  step(scale) {
    return this.mechanism.step(this.epsilon * scale, this.state);
  }

  /** Fill `logs` and `means` (the mean distance at every x) for one scale. */
  at(scale) {
    if (this.filled === scale) return this;
    this.filled = scale;
    if (this.rates) this.fillScored(scale);
    else this.fillStepped(scale);
    return this;
  }

  fillScored(scale) {
    const { table, logs, means, n } = this;
    const size = n + 1;
    const half = this.mirrored ? n >> 1 : n;
    for (let x = 0; x <= half; x += 1) {
      if (this.mechanism.walks) {
        this.fillWalk(x, scale);
        continue;
      }
      const rate = this.rates[x] * scale;
      const row = x * size;
      let total = 0;
      let mean = 0;
      for (let place = row; place < row + size; place += 1) {
        const exponent = -rate * table[place];
        const weight = Math.exp(exponent);
        logs[place] = exponent;
        total += weight;
        mean += weight * table[place];
      }
      means[x] = mean / total;
      const constant = Math.log(total);
      for (let place = row; place < row + size; place += 1) logs[place] -= constant;
    }
    for (let x = half + 1; x <= n; x += 1) {
      means[x] = means[n - x];
      for (let r = 0, place = (n - x + 1) * size - 1; r <= n; r += 1, place -= 1) {
        logs[x * size + r] = logs[place];
      }
    }
  }

  /** Fill one row and its mean for a walk in random order. */
  fillWalk(x, scale) {
    const { table, logs, weights, integrals } = this;
    const rate = this.rates[x] * scale;
    const row = x * weights.length;
    for (let r = 0; r < weights.length; r += 1) weights[r] = Math.exp(-rate * table[row + r]);
    survivals(weights, integrals);
    let mean = 0;
    for (let r = 0; r < weights.length; r += 1) {
      mean += weights[r] * integrals[r] * table[row + r];
      logs[row + r] = Math.log(integrals[r]) - rate * table[row + r];
    }
    this.means[x] = mean;
  }

  fillStepped(scale) {
    const { table, logs, means, n } = this;
    const size = n + 1;
    const step = this.step(scale);
    steppedLogs(n, step, logs);
    const inside = new Float64Array(2 * n + 1);
    for (let t = -n; t <= n; t += 1) inside[t + n] = Math.exp(step.log(t));
    for (let x = 0; x < size; x += 1) {
      const row = x * size;
      let mean = Math.exp(logs[row]) * table[row] + Math.exp(logs[row + n]) * table[row + n];
      for (let r = 1; r < n; r += 1) mean += inside[r - x + n] * table[row + r];
      means[x] = mean;
    }
  }

  /** The largest privacy loss over all neighbours at one scale; `logs` is used on the way. */
  loss(scale) {
    if (!this.rates) {
      this.filled = null;
      steppedLogs(this.n, this.step(scale), this.logs);
      return Math.max(...pairLosses(this.n, this.logs));
    }
    if (!this.mechanism.walks) return this.scoredLoss(scale);
    this.at(scale);
    return Math.max(...pairLosses(this.n, this.logs));
  }

  /** The largest privacy loss between x and x + 1, for a walk. */
  walkLoss(x, scale) {
    this.filled = null;
    this.fillWalk(x, scale);
    this.fillWalk(x + 1, scale);
    return largestLoss(this.logs, x, this.n + 1);
  }

  scoredLoss(scale) {
    const { table, rates, constants, n } = this;
    const size = n + 1;
    const half = this.mirrored ? Math.min((n >> 1) + 1, n) : n;
    for (let x = 0; x <= half; x += 1) {
      const rate = -rates[x] * scale;
      let total = 0;
      for (let place = x * size; place < x * size + size; place += 1) {
        total += Math.exp(rate * table[place]);
      }
      constants[x] = Math.log(total);
    }
    let largest = 0;
    for (let x = 0; x < half; x += 1) {
      const here = rates[x] * scale;
      const there = rates[x + 1] * scale;
      const shift = constants[x + 1] - constants[x];
      const row = x * size;
      for (let r = 0; r < size; r += 1) {
        const loss = Math.abs(shift + there * table[row + size + r] - here * table[row + r]);
        if (loss > largest) largest = loss;
      }
    }
    return largest;
  }
}

/** The largest |ln P(r | x) - ln P(r | x + 1)| over r, for x = 0 .. n - 1. */
export function pairLosses(n, logs) {
  const losses = new Float64Array(n);
  for (let x = 0; x < n; x += 1) losses[x] = largestLoss(logs, x, n + 1);
  return losses;
}

/** That of one x. What neither can give, -Infinity less -Infinity, is no loss. */
function largestLoss(logs, x, size) {
  let largest = 0;
  for (let place = x * size; place < x * size + size; place += 1) {
    const loss = Math.abs(logs[place] - logs[place + size]);
    if (loss > largest) largest = loss;
  }
  return largest;
}

/** The pair and the output where the largest loss is attained; the first of equals. */
export function worstPair(n, logs, losses) {
  const largest = Math.max(...losses);
  const enough = largest * (1 - SAME);
  const size = n + 1;
  const x = losses.findIndex((loss) => loss >= enough);
  for (let r = 0; r < size; r += 1) {
    const loss = logs[x * size + r] - logs[(x + 1) * size + r];
    if (Math.abs(loss) >= enough) {
      const [likely, other] = loss > 0 ? [x, x + 1] : [x + 1, x];
      return { loss: largest, likely, other, output: r };
    }
  }
  return null;
}

/** The least delta for which all laws are (epsilon, delta)-private. */
export function leastDelta(n, logs, epsilon) {
  const size = n + 1;
  let worst = 0;
  for (let x = 0; x < n; x += 1) {
    let forward = 0;
    let backward = 0;
    for (let place = x * size; place < x * size + size; place += 1) {
      const loss = logs[place] - logs[place + size];
      if (loss > epsilon) forward += Math.exp(logs[place]) * -Math.expm1(epsilon - loss);
      if (-loss > epsilon) backward += Math.exp(logs[place + size]) * -Math.expm1(epsilon + loss);
    }
    worst = Math.max(worst, forward, backward);
  }
  return worst;
}

const EXACT = 1e-13;

/**
 * The scale at which the audited loss is epsilon, up to rounding.
 *
 * The loss is nearly proportional to the scale: secant steps in logarithms find it in a few audits.
 * Where they do not, because another pair takes over, it is bracketed and the bracket is shrunk.
 */
export function calibrated(laws) {
  if (laws.mechanism.walks) return calibratedWalk(laws);
  return solved((scale) => Math.log(laws.loss(scale) / laws.epsilon));
}

/**
 * The same for a walk, whose laws cost more: by one pair alone, at first one at an end, and then by
 * the worst of all until that stays the worst.
 */
function calibratedWalk(laws) {
  const last = laws.n - 1;
  let x = laws.walkLoss(0, 1) >= laws.walkLoss(last, 1) ? 0 : last;
  for (let count = 0; count < 5; count += 1) {
    const scale = solved((tried) => Math.log(laws.walkLoss(x, tried) / laws.epsilon));
    const losses = pairLosses(laws.n, laws.at(scale).logs);
    const largest = Math.max(...losses);
    if (largest <= losses[x] * (1 + EXACT)) return scale;
    x = losses.indexOf(largest);
  }
  return solved((scale) => Math.log(laws.loss(scale) / laws.epsilon));
}

function solved(excess) {
  let [before, atBefore] = [1, excess(1)];
  let here = Math.exp(-atBefore);
  for (let count = 0; count < 10 && Math.abs(atBefore) > EXACT; count += 1) {
    const atHere = excess(here);
    if (Math.abs(atHere) <= EXACT) return here;
    const slope = (atHere - atBefore) / Math.log(here / before);
    if (!(slope > 0.2 && slope < 5)) return bracketed(excess);
    [before, atBefore, here] = [here, atHere, here * Math.exp(-atHere / slope)];
    if (Math.abs(here / before - 1) < EXACT) return here;
  }
  return Math.abs(atBefore) <= EXACT ? before : bracketed(excess);
}

/** The same, bracketed by doubling and halving from 1; every third step halves the bracket. */
function bracketed(excess) {
  let low = 1;
  let atLow = excess(1);
  const grow = atLow <= 0 ? 2 : 0.5;
  let high = low * grow;
  let atHigh = excess(high);
  while (atHigh <= 0 === atLow <= 0 && high < 1e18 && high > 1e-18) {
    [low, atLow, high] = [high, atHigh, high * grow];
    atHigh = excess(high);
  }
  if (low > high) [low, high, atLow, atHigh] = [high, low, atHigh, atLow];
  for (let count = 0; count < 100 && high / low - 1 > 1e-13; count += 1) {
    const share = count % 3 < 2 ? atLow / (atLow - atHigh) : 0.5;
    const middle = low * (high / low) ** Math.min(Math.max(share, 1e-12), 1 - 1e-12);
    if (!(low < middle && middle < high)) break;
    const value = excess(middle);
    if (Math.abs(value) <= EXACT) return middle;
    if (value <= 0) [low, atLow] = [middle, value];
    else [high, atHigh] = [middle, value];
  }
  return low;
}
