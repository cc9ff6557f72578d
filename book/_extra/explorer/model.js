/**
 * Everything the explorer shows about one state, computed exactly.
 *
 * A `Model` remembers what the last state made it compute: the table of distances follows from
 * (n, prior, distance), the laws also from the mechanism and its parameters, the posteriors from
 * the data and the release. Only what a change touches is computed anew.
 */

import { distanceTable } from "./distances.js";
import { Laws, calibrated, leastDelta, pairLosses, worstPair } from "./laws.js";
import { MECHANISMS } from "./mechanisms.js";
import { Mixture, betaDensity, betaSummary, countWeights } from "./posteriors.js";

const POINTS = 241;

/** The chance that someone torn between two answers guesses right after a loss of epsilon. */
export function guessing(epsilon) {
  return 1 / (1 + Math.exp(-epsilon));
}

/** The count three quarters up the law: what is shown until a release is drawn. */
function upperQuartile(law) {
  let sum = 0;
  for (let r = 0; r < law.length; r += 1) {
    sum += law[r];
    if (sum >= 0.75 - 1e-9) return r;
  }
  return law.length - 1;
}

function spread(low, high) {
  const points = new Float64Array(POINTS);
  for (let i = 0; i < POINTS; i += 1) points[i] = low + ((high - low) * (i + 0.5)) / POINTS;
  return points;
}

/** A place that remembers the last value and the key it was computed for. */
class Kept {
  get(key, compute) {
    const text = JSON.stringify(key);
    if (this.key !== text) {
      this.key = undefined;
      this.value = compute();
      this.key = text;
    }
    return this.value;
  }
}

export class Model {
  constructor() {
    this.tables = new Kept();
    this.everywhere = new Kept();
    this.here = new Kept();
    this.curves = new Kept();
    this.buffer = new Float64Array(0);
  }

  /** Compute what a state shows; `state` has been checked by `checkedState`. */
  compute(state) {
    const shape = [state.n, state.prior, state.distance];
    const table = this.tables.get(shape, () => distanceTable(state.n, state.prior, state.distance));
    const law = [...shape, state.mechanism, state.epsilon, state.gamma, state.delta, state.promise];
    const all = this.everywhere.get(law, () => this.overAll(state, table));
    const here = this.here.get([...law, state.ones, state.noisy], () => this.atData(state, all));
    return { ...all, ...here };
  }

  /** What follows from the mechanism for all data sets: means, losses, calibration. */
  overAll(state, table) {
    const { n } = state;
    const size = (n + 1) * (n + 1);
    if (this.buffer.length < size) this.buffer = new Float64Array(size);
    const laws = new Laws(state, table, this.buffer);
    const scale = state.promise === "audited" ? calibrated(laws) : 1;
    laws.at(scale);
    const losses = pairLosses(n, laws.logs);
    const means = laws.means;
    const audited = Math.max(...losses);
    const { uses, proved } = MECHANISMS.get(state.mechanism);
    const withDelta = uses.includes("delta") || proved === "never";
    return {
      laws,
      scale,
      losses,
      means,
      audited,
      worst: worstPair(n, laws.logs, losses),
      leastDelta: withDelta ? leastDelta(n, laws.logs, state.epsilon) : null,
      averageMean: means.reduce((sum, value) => sum + value, 0) / means.length,
      worstMean: Math.max(...means),
    };
  }

  /** What follows for the data at hand and the release shown. */
  atData(state, all) {
    const { n, ones, prior } = state;
    const { laws } = all;
    const row = laws.logs.subarray(ones * (n + 1), (ones + 1) * (n + 1));
    const law = row.map(Math.exp);
    const noisy = state.noisy === null ? upperQuartile(law) : state.noisy;
    const released = Math.min(Math.max(noisy, 0), n);
    const likelihood = this.likelihood(laws, noisy, all.scale);
    const mixture = new Mixture(n, prior, countWeights(n, prior, likelihood));
    const aware = mixture.summary();
    return {
      law,
      noisy,
      released,
      mixture,
      aware,
      mean: all.means[ones],
      distance: laws.table[ones * (n + 1) + released],
      truth: betaSummary(prior[0] + ones, prior[1] + n - ones),
      face: betaSummary(prior[0] + released, prior[1] + n - released),
    };
  }

  /** ln P(noisy | x) for x = 0 .. n, of the value before it was clamped. */
  likelihood(laws, noisy, scale) {
    const logs = new Float64Array(laws.n + 1);
    const step = laws.rates ? null : laws.step(scale);
    for (let x = 0; x <= laws.n; x += 1) {
      logs[x] = step ? step.log(noisy - x) : laws.logs[x * (laws.n + 1) + noisy];
    }
    return logs;
  }

  /** Densities of the three posteriors over the range where they matter. */
  densities(state, result) {
    const key = [state.n, state.ones, state.prior, result.noisy, state.mechanism, state.epsilon,
      state.gamma, state.delta, state.promise, state.distance];
    return this.curves.get(key, () => {
      const { n, prior, ones } = state;
      const ends = [result.truth, result.face, result.aware];
      const low = Math.min(...ends.map((one) => one.low));
      const high = Math.max(...ends.map((one) => one.high));
      const room = 0.35 * (high - low) + 1e-6;
      const points = spread(Math.max(0, low - room), Math.min(1, high + room));
      return {
        points,
        truth: betaDensity(prior[0] + ones, prior[1] + n - ones, points),
        face: betaDensity(prior[0] + result.released, prior[1] + n - result.released, points),
        aware: result.mixture.density(points),
      };
    });
  }

  /** Draw one noisy count from the law of the data at hand, from one uniform number in [0, 1). */
  draw(state, uniform) {
    const { laws, law, scale } = this.compute(state);
    if (!laws.rates) return state.ones + laws.step(scale).draw(uniform);
    let sum = 0;
    const total = law.reduce((a, b) => a + b, 0);
    for (let r = 0; r < law.length; r += 1) {
      sum += law[r];
      if (uniform * total < sum) return r;
    }
    return law.length - 1;
  }
}
