/**
 * The controls: native inputs with labels, so that each is reached and moved by keyboard.
 */

import { MECHANISMS } from "./mechanisms.js";
import { LIMITS } from "./state.js";
import { guess, short } from "./words.js";

const STEPS = 400;

/** Make an element with attributes and children. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

/** A place on a logarithmic slider for a value, and back to a value of three digits. */
export function toSlider(value, [low, high]) {
  return Math.round((STEPS * Math.log(value / low)) / Math.log(high / low));
}

export function fromSlider(place, [low, high]) {
  return Number((low * (high / low) ** (place / STEPS)).toPrecision(3));
}

let made = 0;

/** A label over one or two inputs. */
function row(text, inputs, note = "", more = {}) {
  made += 1;
  inputs.forEach((input, i) => {
    input.id = `dp-explorer-${made}-${i}`;
    if (i > 0) input.setAttribute("aria-label", `${text}, as a number`);
  });
  const label = element("label", { for: inputs[0].id }, text);
  return element("div", { class: "dp-row", ...more }, label, element("div", { class: "dp-inputs" }, ...inputs), note);
}

function radios(text, name, choices, change) {
  const group = `dp-explorer-${name}-${(made += 1)}`;
  const inputs = choices.map(([value]) =>
    element("input", { type: "radio", name: group, value, onchange: () => change(value) }));
  const labels = inputs.map((input, i) => element("label", {}, input, ` ${choices[i][1]}`));
  const set = element("fieldset", { class: "dp-choice" }, element("legend", {}, text), ...labels);
  return { set, show: (value) => inputs.forEach((input) => (input.checked = input.value === value)) };
}

function linked(limits, slider, number, change) {
  slider.addEventListener("input", () => change(fromSlider(Number(slider.value), limits)));
  return (value, words) => {
    slider.value = toSlider(value, limits);
    slider.setAttribute("aria-valuetext", words);
    put(number, value);
  };
}

function range(max, change) {
  return element("input", { type: "range", min: 0, max, step: 1, oninput: change });
}

/** A field for a number. What is typed counts when it is done; a field left empty changes nothing. */
function number(min, max, change) {
  const field = element("input", { type: "number", min, max, step: "any" });
  field.addEventListener("input", () => { field.typing = true; });
  field.addEventListener("change", () => {
    field.typing = false;
    if (field.value === "") field.value = field.last;
    else change(Number(field.value));
  });
  return field;
}

/** Show a value in a field, unless somebody is typing there. */
function put(field, value) {
  field.last = value;
  if (!field.typing) field.value = value;
}

/** The controls of the data: records, ones, prior, and how distances are measured. */
function dataControls(change, small) {
  const n = range(LIMITS.n[1], () => change({ n: Number(n.value) }));
  n.min = LIMITS.n[0];
  const nNumber = number(...LIMITS.n, (value) => change({ n: value }));
  const share = range(1, () => change({ ones: Number(share.value) }));
  share.classList.add("dp-data");
  const onesNumber = number(0, 1, (value) => change({ ones: value }));
  const prior = [0, 1].map(() => number(LIMITS.prior[0], LIMITS.prior[1], () =>
    change({ prior: prior.map((input) => Number(input.value)) })));
  const priorRow = row("Prior: parameters for ones and zeros", prior);
  prior[1].setAttribute("aria-label", "Prior: parameter for zeros");
  const shareRow = row("Ones in the data (drag)", [share, onesNumber]);
  const distance = radios("How distance is measured", "distance", [
    ["hellinger", "Hellinger distance, as the papers define it"],
    ["published", "the published distance, behind their curves"],
  ], (value) => change({ distance: value }));
  const set = element("fieldset", {}, element("legend", {}, "Your data"),
    ...(small ? [shareRow] : [row("Records", [n, nNumber]), shareRow, priorRow, distance.set]));
  return { set, show: (state) => {
    n.value = state.n;
    put(nNumber, state.n);
    share.max = state.n;
    share.value = state.ones;
    share.setAttribute("aria-valuetext", `${state.ones} of ${state.n}`);
    share.style.setProperty("--share", `${(100 * state.ones) / state.n}%`);
    onesNumber.max = state.n;
    put(onesNumber, state.ones);
    prior.forEach((input, i) => put(input, state.prior[i]));
    distance.show(state.distance);
  } };
}

/** A logarithmic parameter with a slider and a number. */
function parameter(text, name, change, note = "") {
  const set = (value) => change({ [name]: value });
  const slider = range(STEPS);
  const exact = number(...LIMITS[name], set);
  const show = linked(LIMITS[name], slider, exact, set);
  return { row: row(text, [slider, exact], note), show };
}

/** The controls of the release. */
function releaseControls(change, looks, small) {
  const chosen = element("select", { onchange: () => change({ mechanism: chosen.value }) },
    ...[...MECHANISMS.keys()].map((name) => element("option", { value: name })));
  const odds = element("output", { class: "dp-odds" });
  const epsilon = parameter("Privacy parameter ε", "epsilon", change, odds);
  const gamma = parameter("Smoothing rate γ", "gamma", change);
  const delta = parameter("Failure probability δ", "delta", change);
  const promise = radios("What ε stands for", "promise", [
    ["nominal", "nominal: what the definition says"],
    ["audited", "audited: the actual loss is set to ε"],
  ], (value) => change({ promise: value }));
  // The closed list is too narrow for name and plain words: of the chosen one they stand below it.
  const plain = element("span", { class: "dp-plain" });
  const rows = [row("Mechanism", [chosen], plain), epsilon.row];
  plain.id = `${chosen.id}-plain`;
  chosen.setAttribute("aria-describedby", plain.id);
  if (!small) rows.push(gamma.row, delta.row, promise.set);
  const set = element("fieldset", {}, element("legend", {}, "The release"), ...rows);
  return { set, show: (state) => {
    chosen.value = state.mechanism;
    plain.textContent = looks[state.mechanism].plain;
    for (const one of chosen.options)
      one.textContent = one.selected ? one.value : `${one.value}: ${looks[one.value].plain}`;
    epsilon.show(state.epsilon, `ε = ${short(state.epsilon)}`);
    gamma.show(state.gamma, `γ = ${short(state.gamma)}`);
    delta.show(state.delta, `δ = ${short(state.delta)}`);
    const { uses, nominal } = MECHANISMS.get(state.mechanism);
    gamma.row.hidden = !uses.includes("gamma");
    delta.row.hidden = !uses.includes("delta");
    promise.set.hidden = Boolean(nominal);
    promise.show(state.promise);
  }, showLoss: (seen) => {
    odds.textContent = `Someone at even odds guesses you right at most ${guess(seen.audited)} times.`;
  } };
}

/** All controls; `change` is called with the parts of the state that a control sets. */
export function controls(change, looks, small) {
  const data = dataControls(change, small);
  const release = releaseControls(change, looks, small);
  const holder = element("form", { class: "dp-controls", onsubmit: (event) => event.preventDefault() },
    data.set, release.set);
  return {
    holder,
    show: (state) => [data, release].forEach((part) => part.show(state)),
    showLoss: release.showLoss,
  };
}
