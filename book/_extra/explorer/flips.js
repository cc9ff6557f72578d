/**
 * The law of permute-and-flip: candidates in random order, each taken with its own probability.
 *
 * With w the probabilities of being taken, P[r] = w_r times the integral over t in [0, 1] of the
 * product of (1 - w_s t) over s other than r; t is the place of r in the order. The product is at
 * most e^(-t sum w), so the integral may end early, and it is smooth: Gauss's rule takes few nodes.
 */

const NODES = 24;
const FLIP_DEPTH = 34;
const NEWTON_STEPS = 8;

/** Nodes and weights of Gauss's rule on [0, 1]. */
export function gaussRule(count) {
  const nodes = new Float64Array(count);
  const masses = new Float64Array(count);
  for (let i = 0; i < count; i += 1) {
    let x = Math.cos((Math.PI * (i + 0.75)) / (count + 0.5));
    let slope = 0;
    for (let step = 0; step < NEWTON_STEPS; step += 1) {
      let [before, value] = [1, x];
      for (let k = 2; k <= count; k += 1) {
        [before, value] = [value, ((2 * k - 1) * x * value - (k - 1) * before) / k];
      }
      slope = (count * (x * value - before)) / (x * x - 1);
      x -= value / slope;
    }
    nodes[i] = (1 - x) / 2;
    masses[i] = 1 / ((1 - x * x) * slope * slope);
  }
  return { nodes, masses };
}

const RULE = gaussRule(NODES);
const times = new Float64Array(NODES);

/** Write the integral for each r into `integrals`; one of the weights is 1, none is negative. */
export function survivals(weights, integrals) {
  const size = weights.length;
  let total = 0;
  for (let r = 0; r < size; r += 1) total += weights[r];
  const end = Math.min(1, FLIP_DEPTH / total);
  for (let j = 0; j < NODES; j += 1) times[j] = RULE.nodes[j] * end;
  integrals.fill(0);
  for (let j = 0; j < NODES; j += 2) {
    const [early, late] = [times[j], times[j + 1]];
    let [first, second] = [RULE.masses[j] * end, RULE.masses[j + 1] * end];
    for (let r = 0; r < size; r += 1) {
      first *= 1 - weights[r] * early;
      second *= 1 - weights[r] * late;
    }
    for (let r = 0; r < size; r += 1) {
      const a = 1 - weights[r] * early;
      const b = 1 - weights[r] * late;
      integrals[r] += (first * b + second * a) / (a * b);
    }
  }
}
