/**
 * The explorer as a page element: it finds its places on the page and makes them live.
 *
 * A place is `<div class="dp-explorer" data-looks data-state [data-small]>`, written by the book's
 * directive `explorer`; what it holds is shown until the explorer has started, and stays where it
 * cannot.
 */

import { ErrorChart, LawChart, LossChart, PosteriorChart, inks } from "./charts.js";
import { controls, element } from "./controls.js";
import { Model } from "./model.js";
import { checkedState, commandOf, queryOf, stateOf } from "./state.js";
import { chartTexts, readOut } from "./words.js";

const QUIET = 500;
const TITLES = {
  law: "What may be released",
  posterior: "What it says about the share of ones",
  error: "Mean error, for all data sets",
  loss: "Privacy loss, for all neighbours",
};
const KEYS = {
  posterior: [["truth", "true"], ["face", "release at face value"], ["aware", "noise-aware"]],
};

/** A uniform number in [0, 1) from the browser's generator, to 53 bits. */
function uniform() {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return ((high >>> 5) * 67108864 + (low >>> 6)) / 9007199254740992;
}

class Explorer {
  constructor(place) {
    this.place = place;
    this.looks = JSON.parse(place.dataset.looks);
    this.small = "small" in place.dataset;
    this.start = stateOf(place.dataset.state);
    this.state = this.small ? this.start : stateOf(location.hash.slice(1), this.start);
    this.model = new Model();
    this.build();
    this.watch();
    this.update({}, false);
  }

  build() {
    this.controls = controls((part) => this.update(part), this.looks, this.small);
    const names = this.small ? ["law", "error"] : Object.keys(TITLES);
    this.figures = Object.fromEntries(names.map((name) => [name, this.figure(name)]));
    const make = {
      law: (holder) => new LawChart(holder),
      posterior: (holder) => new PosteriorChart(holder),
      error: (holder) => new ErrorChart(holder, (ones) => this.update({ ones })),
      loss: (holder) => new LossChart(holder),
    };
    this.charts = Object.fromEntries(names.map((name) => [name, make[name](this.figures[name].holder)]));
    this.said = element("ul", { class: "dp-said", "aria-live": "polite" });
    const parts = [this.controls.holder, this.buttons(),
      element("div", { class: "dp-charts" }, ...names.map((name) => this.figures[name].figure))];
    if (this.small) parts.push(this.said);
    else parts.push(element("section", { "aria-label": "Read-out" }, element("p", { class: "dp-title" }, "In words"), this.said), this.command());
    this.place.replaceChildren(...parts);
    this.place.explorer = this;
    this.place.classList.add("dp-ready");
    this.colour();
  }

  figure(name) {
    const holder = element("div", { class: "dp-chart", role: "img" });
    const key = element("span", { class: "dp-key" }, ...(KEYS[name] ?? []).map(([kind, word]) =>
      element("span", { class: `dp-${kind}` }, word)));
    const figure = element("div", { class: "dp-figure" },
      element("p", { class: "dp-title" }, TITLES[name], " ", key), holder);
    return { figure, holder };
  }

  buttons() {
    const draw = element("button", { type: "button", onclick: () => this.draw() }, "Draw one release");
    if (this.small) {
      this.more = element("a", { href: this.place.dataset.page }, "Open the explorer with this");
      return element("p", { class: "dp-buttons" }, draw, this.more);
    }
    const reset = element("button", { type: "button", onclick: () => this.set(this.start) }, "Start again");
    const link = element("button", { type: "button", onclick: () => this.copy(link, location.href) }, "Copy link");
    return element("p", { class: "dp-buttons" }, draw, link, reset);
  }

  command() {
    this.line = element("code", { class: "dp-command", tabindex: 0 });
    const copy = element("button", { type: "button", onclick: () => this.copy(copy, this.line.textContent) }, "Copy line");
    return element("div", { class: "dp-run" },
      element("p", {}, "The mean error with the package: ", copy), this.line);
  }

  async copy(button, text) {
    const before = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Copy it from here by hand";
    }
    setTimeout(() => { button.textContent = before; }, 1500);
  }

  /** Follow the theme, the width of the place and the address. */
  watch() {
    new MutationObserver(() => this.colour()).observe(document.documentElement, {
      attributes: true, attributeFilter: ["data-theme"],
    });
    new ResizeObserver(() => Object.values(this.charts).forEach((chart) => chart.resize()))
      .observe(this.place);
    if (this.small) return;
    addEventListener("hashchange", () => {
      if (location.hash !== this.written && location.hash.includes("=")) {
        this.set(stateOf(location.hash.slice(1), this.start), false);
      }
    });
  }

  colour() {
    const ink = inks(this.place, this.looks[this.state.mechanism]);
    this.place.style.setProperty("--dp-mechanism", ink.mechanism);
    this.coloured = this.state.mechanism;
    Object.values(this.charts).forEach((chart) => chart.make(ink));
    if (this.seen) this.paint();
  }

  /** Change parts of the state. A release stays while data and mechanism stay. */
  update(part, write = true) {
    const next = { ...this.state, ...part };
    if ("n" in part) {
      next.n = checkedState(next).n;
      next.ones = Math.round((this.state.ones / this.state.n) * next.n);
    }
    if (Object.keys(part).some((name) => name !== "noisy")) next.noisy = null;
    this.set(next, write);
  }

  set(state, write = true) {
    this.state = checkedState(state);
    this.controls.show(this.state);
    this.unwritten ||= write;
    this.frame ??= requestAnimationFrame(() => this.render());
  }

  render() {
    this.frame = null;
    this.seen = this.model.compute(this.state);
    if (this.coloured === this.state.mechanism) this.paint();
    else this.colour();
    this.controls.showLoss(this.seen);
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.speak(), this.said.childElementCount ? QUIET : 0);
  }

  paint() {
    const { state, seen, charts } = this;
    charts.law.show(state, seen);
    charts.error.show(state, seen);
    if (!this.small) {
      charts.posterior.show(this.model.densities(state, seen), seen);
      charts.loss.show(state, seen);
    }
  }

  /** What waits until the reader pauses: the sentences, the command and the address. */
  speak() {
    const { state, seen } = this;
    const texts = chartTexts(state, seen);
    for (const [name, { holder }] of Object.entries(this.figures)) {
      holder.setAttribute("aria-label", `${TITLES[name]}. ${texts[name]}`);
    }
    const sentences = this.small ? [texts.law, texts.error] : readOut(state, seen);
    this.say(sentences);
    this.spoken = seen;
    const query = queryOf(state).slice(1);
    if (this.small) {
      this.more.href = `${this.place.dataset.page}#${query}`;
      return;
    }
    this.line.textContent = commandOf(state);
    if (!this.unwritten) return;
    this.unwritten = false;
    this.written = `#${query}`;
    history.replaceState(null, "", this.written);
  }

  /** Only sentences that changed are touched, so that only these are read aloud. */
  say(sentences) {
    while (this.said.childElementCount < sentences.length) this.said.append(element("li"));
    sentences.forEach((text, i) => {
      const item = this.said.children[i];
      if (item.textContent !== text) item.textContent = text;
    });
  }

  draw() {
    this.update({ noisy: this.model.draw(this.state, uniform()) });
  }
}

/** Make every place on the page live; each holds its explorer as a property. */
export function start() {
  return [...document.querySelectorAll(".dp-explorer:not(.dp-ready)")].map((place) => new Explorer(place));
}

start();
