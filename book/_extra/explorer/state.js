/**
 * What the explorer is asked: a plain object, checked, written into an address and read from one.
 *
 * A state is also a line of Python, which prints the same mean error with the package.
 */

import { MECHANISMS } from "./mechanisms.js";

export const LIMITS = {
  n: [1, 500],
  prior: [1e-6, 1e4],
  epsilon: [0.01, 20],
  gamma: [0.01, 20],
  delta: [1e-12, 0.1],
};

export const DEFAULTS = {
  n: 100,
  ones: 30,
  prior: [1, 1],
  epsilon: 1,
  mechanism: "expMech-smooth",
  gamma: 1,
  delta: 1e-6,
  promise: "nominal",
  distance: "hellinger",
  noisy: null,
};

const PROMISES = ["nominal", "audited"];
const DISTANCES = ["hellinger", "published"];
const FARTHEST = 1e6;

function within(value, [low, high], otherwise) {
  return Number.isFinite(value) ? Math.min(Math.max(value, low), high) : otherwise;
}

function whole(value, limits, otherwise) {
  return Math.round(within(value, limits, otherwise));
}

/** The same state with every value brought into its range. */
export function checkedState(given) {
  const wanted = { ...DEFAULTS, ...given };
  const n = whole(wanted.n, LIMITS.n, DEFAULTS.n);
  const mechanism = MECHANISMS.has(wanted.mechanism) ? wanted.mechanism : DEFAULTS.mechanism;
  const ones = whole(wanted.ones, [0, n], Math.min(DEFAULTS.ones, n));
  const { kind, proved, nominal } = MECHANISMS.get(mechanism);
  const lowest = proved === "never" ? ones : -FARTHEST;
  const reach = kind === "stepped" ? [lowest, FARTHEST] : [0, n];
  const noisy = wanted.noisy === null ? null : whole(wanted.noisy, reach, reach[0]);
  const promise = !nominal && PROMISES.includes(wanted.promise) ? wanted.promise : "nominal";
  return {
    n,
    ones,
    prior: [0, 1].map((i) => within(wanted.prior[i], LIMITS.prior, 1)),
    epsilon: within(wanted.epsilon, LIMITS.epsilon, DEFAULTS.epsilon),
    mechanism,
    gamma: within(wanted.gamma, LIMITS.gamma, DEFAULTS.gamma),
    delta: within(wanted.delta, LIMITS.delta, DEFAULTS.delta),
    promise,
    distance: DISTANCES.includes(wanted.distance) ? wanted.distance : "hellinger",
    noisy,
  };
}

/** The parameters of a state as pairs of texts, in order; unused ones are left out. */
function pairs(state) {
  const uses = MECHANISMS.get(state.mechanism).uses;
  return Object.keys(DEFAULTS)
    .filter((name) => !["gamma", "delta"].includes(name) || uses.includes(name))
    .filter((name) => state[name] !== null)
    .map((name) => [name, String(state[name])]);
}

/** The query of an address that leads to this state. */
export function queryOf(state) {
  return `?${pairs(state).map(([name, text]) => `${name}=${text}`).join("&")}`;
}

/** The state that a query asks for; what it leaves out is taken from `start`. */
export function stateOf(query, start = DEFAULTS) {
  const asked = new URLSearchParams(query);
  const given = { ...start };
  for (const [name, text] of asked) {
    if (!(name in DEFAULTS) || text === "") continue;
    if (name === "prior") given.prior = text.split(",").map(Number);
    else if (["mechanism", "promise", "distance"].includes(name)) given[name] = text;
    else given[name] = Number(text);
  }
  return checkedState(given);
}

/** The line of Python that computes the mean error with the package. */
export function commandOf(state) {
  const mechanism = MECHANISMS.get(state.mechanism);
  const published = state.distance === "published";
  const options = mechanism.uses.map((name) => `, ${name}=${state[name]}`);
  if (published && mechanism.kind === "scored") options.push(', metric="published"');
  const [counts, prior] = [`[${state.ones}, ${state.n - state.ones}]`, `[${state.prior.join(", ")}]`];
  const named = `dp.mechanism("${state.mechanism}", ${state.epsilon}${options.join("")})`;
  const made = state.promise === "audited"
    ? `dp.calibrate(${named}, ${state.n}, ${prior}, ${state.epsilon}).mechanism` : named;
  const metric = published ? '"published"' : "";
  return `import dpbayes as dp; print(${made}.law(${counts}, ${prior}).mean_distance(${metric}))`;
}
