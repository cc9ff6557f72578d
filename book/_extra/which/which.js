/* Which mechanism? The form beside the chapter on publishing. It reads the tables on its page, goes
   between their points by polynomials of degree three in logarithms, and writes the answer, the line
   of Python and a plan. */
(() => {
  "use strict";

  const place = document.getElementById("calculator");
  const page = place.dataset;
  const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
  const AUTHORITY = "dpbayes account create survey.account --dataset survey --unit record --table people.csv";

  /* A cell of a table: "0.1517", "1,000" or "2.03 × 10⁻⁶". */
  function numberOf(text) {
    const [digits, power] = text.trim().replaceAll(",", "").split(/\s*×\s*10/);
    const plain = (power || "").replace("⁻", "-").replace(/[⁰¹-⁹²³]/g, (one) => SUPERSCRIPTS.indexOf(one));
    return Number(digits) * 10 ** Number(plain);
  }

  /* A table whose rows are k, n and one mean distance for each number in the head. */
  function read(id) {
    const [head, ...rows] = [...document.getElementById(id).rows].map((row) => [...row.cells].map((one) => one.textContent));
    const cells = new Map(rows.map(([k, n, ...means]) => [`${numberOf(k)} ${numberOf(n)}`, means.map(numberOf)]));
    const keys = (column) => [...new Set(rows.map((row) => numberOf(row[column])))];
    return { k: keys(0), n: keys(1), x: head.slice(2).map(numberOf), at: (k, n, i) => cells.get(`${k} ${n}`)[i] };
  }

  /* Weights of the points around a value: those of the polynomial through the nearest four. */
  function weights(points, value) {
    const logs = points.map(Math.log);
    const v = Math.min(Math.max(Math.log(value), logs[0]), logs[logs.length - 1]);
    const after = logs.findIndex((one) => one >= v);
    const first = Math.max(0, Math.min(after - 2, logs.length - 4));
    const near = logs.map((_, i) => i).slice(first, first + 4);
    const factor = (i) => near.reduce((product, j) => (j === i ? product : (product * (v - logs[j])) / (logs[i] - logs[j])), 1);
    return near.map((i) => [i, factor(i)]);
  }

  /* A mean distance between the points. -ln(1 - H²) is nearly a power of each key. */
  function between(table, k, n, x) {
    let sum = 0;
    for (const [i, a] of weights(table.k, k))
      for (const [j, b] of weights(table.n, n))
        for (const [l, c] of weights(table.x, x)) {
          const mean = Math.min(table.at(table.k[i], table.n[j], l), 0.99999);
          sum += a * b * c * Math.log(-Math.log1p(-mean * mean));
        }
    return Math.sqrt(-Math.expm1(-Math.exp(sum)));
  }

  /* The distribution function of the normal distribution (Abramowitz and Stegun 7.1.26 is too rough:
     a continued fraction in the tail, a series in the middle). */
  function normal(x) {
    if (x > 0) return 1 - normal(-x);
    const density = Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);
    if (x > -3) {
      let [term, sum] = [x, x];
      for (let i = 3; Math.abs(term) > 1e-17; i += 2) sum += term *= (x * x) / i;
      return 0.5 + density * sum;
    }
    let below = -x;
    for (let i = 60; i > 0; i -= 1) below = -x + i / below;
    return density / below;
  }

  /* The standard deviation at which m releases with Gaussian noise are (ε, δ)-private together. */
  function gaussianWidth(epsilon, delta, m) {
    const spent = (mu) => normal(mu / 2 - epsilon / mu) - Math.exp(epsilon) * normal(-mu / 2 - epsilon / mu);
    let [low, high] = [1e-6, 100];
    for (let i = 0; i < 100; i += 1) {
      const mu = Math.sqrt(low * high);
      [low, high] = spent(mu) > delta ? [low, mu] : [mu, high];
    }
    return Math.sqrt(2 * m) / low;
  }

  const tables = Object.fromEntries(["even", "falling", "one", "gaussian"].map((name) => [name, read(`tab-grid-${name}`)]));

  const FEW = 1000; // records, up to which a remap is worth its table of all answers

  function answer({ k, n, epsilon, delta, releases }) {
    const share = epsilon / releases;
    const width = delta > 0 && releases > 1 ? gaussianWidth(epsilon, delta, releases) : Infinity;
    const found = { share, width, inside: share >= tables.even.x[0] };
    // One count's noise, (k - 1)(2k - 1) / (k(k + 1)) 4/ε², beside its sampling, n/k (1 - 1/k); as in the plan.
    found.wider = Math.sqrt(1 + 4 * k * (2 * k - 1) / ((k + 1) * n * share ** 2));
    // Nine of ten draws of one count's noise lie within 1.64 of its deviations, for every k.
    found.records = Math.ceil((1.64 * 2 * Math.sqrt(((k - 1) * (2 * k - 1)) / (k * (k + 1)))) / share);
    for (const shape of ["even", "falling", "one"]) found[shape] = between(tables[shape], k, n, share);
    found.gaussian = width <= 500 ? between(tables.gaussian, k, n, Math.max(width, 1)) : 1;
    const plain = k === 2 && n <= FEW ? "geometric" : "lattice";
    found.mechanism = found.gaussian < found.even ? "discrete-gaussian" : plain;
    return found;
  }

  /* A decimal number, such as "0.5", ".5" or "1e-1", as a whole number and its places. */
  function decimal(text) {
    const [, whole, part = "", power = "0"] = /^\+?(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text.trim());
    const places = part.length - Number(power);
    const digits = BigInt(`${whole}${part}`) * 10n ** BigInt(Math.max(-places, 0));
    return [digits, Math.max(places, 0)];
  }

  /* ε / m as text that stands for exactly that number: a decimal one where there is one. */
  function exactShare(text, m) {
    const [digits, places] = decimal(text);
    let [above, below] = [digits, BigInt(m) * 10n ** BigInt(places)];
    for (let [a, b] = [above, below]; ; [a, b] = [b, a % b])
      if (b === 0n) {
        [above, below] = [above / a, below / a];
        break;
      }
    for (let more = 0; more <= places + 8; more += 1) {
      const scaled = above * 10n ** BigInt(more);
      if (scaled % below === 0n) {
        const written = String(scaled / below).padStart(more + 1, "0");
        return more ? `${written.slice(0, -more)}.${written.slice(-more)}` : written;
      }
    }
    return `${above}/${below}`;
  }

  const FIELDS = [
    ["k", "Categories k", { min: 2, max: 50, step: 1, value: 5 }],
    ["n", "Records n", { min: 100, max: 1000000, step: 1, value: 2000 }],
    ["epsilon", "ε of all releases", { min: 0.05, max: 10, step: "any", value: 0.5 }],
    ["delta", "δ of all releases, 0 for none", { min: 0, max: 0.01, step: "any", value: 0 }],
    ["releases", "Releases of this table", { min: 1, max: 200, step: 1, value: 1 }],
  ];
  const form = document.createElement("form");
  form.noValidate = true;
  for (const [name, words, limits] of FIELDS) {
    const label = form.appendChild(document.createElement("label"));
    label.append(words);
    Object.assign(label.appendChild(document.createElement("input")), { name, type: "number", required: true, ...limits });
  }
  const said = Object.assign(document.createElement("div"), { className: "which-said" });
  said.setAttribute("role", "status");
  place.replaceChildren(form, said);
  const digits = (value) => Number(value.toPrecision(value < 0.1 ? 2 : 3)).toString();
  const line = (tag, text, parent = said) => Object.assign(parent.appendChild(document.createElement(tag)), { textContent: text });

  function show() {
    const wrong = FIELDS.find(([name]) => !form.elements[name].checkValidity());
    said.replaceChildren();
    if (wrong) {
      line("p", `${wrong[1]}: a ${wrong[2].step === 1 ? "whole number" : "number"} from ${wrong[2].min} to ${wrong[2].max}.`);
      return;
    }
    const given = Object.fromEntries(FIELDS.map(([name]) => [name, form.elements[name].valueAsNumber]));
    const found = answer(given);
    Object.assign(page, { mechanism: found.mechanism, even: found.even, falling: found.falling, one: found.one, gaussian: found.gaussian, width: found.width });
    const gaussian = found.mechanism === "discrete-gaussian";
    const remapped = found.mechanism === "geometric";
    const share = exactShare(form.elements.epsilon.value, given.releases);
    const total = exactShare(form.elements.epsilon.value, 1);
    line("p", gaussian ? "Discrete Gaussian noise, accounted for together" : `${remapped ? "Geometric noise with a remap" : "Lattice noise"}, ε = ${share} for each release`).className = "which-name";
    if (gaussian) {
      line("p", `Expected error of one release: about ${digits(found.gaussian)} for evenly spread data. Lattice noise with ε = ${share} each: ${found.inside ? `about ${digits(found.even)}` : "hardly better than no answer"}.`);
      line("p", "An account adds up ε and does not know this rule: keep count yourself.");
    } else if (found.inside) {
      const [least, most] = [Math.min(found.even, found.falling, found.one), Math.max(found.even, found.falling, found.one)];
      const percent = Math.round(100 * (found.wider - 1));
      const wider = percent < 1 ? "less than 1% wider than" : percent < 100 ? `about ${percent}% wider than` : `about ${digits(found.wider)} times as wide as`;
      line("p", `In nine of ten releases a count comes out within about ${found.records} record${found.records === 1 ? "" : "s"} of the truth. Where shares are even, the interval of one share is ${wider} without noise.`);
      if (remapped) line("p", "These numbers are those of lattice noise. With two categories, geometric noise with a remap has the smallest mean error over all data of all private mechanisms that release a possible count.");
      line("p", `Expected Hellinger distance of all shares together: about ${digits(found.even)} for evenly spread data; ${digits(found.falling)} where shares fall like 1, 1/2, 1/3, …; ${digits(found.one)} where everybody is in one category. Between ${digits(least)} and ${digits(most)} for these.`);
      if (found.wider >= 2) line("p", "The noise matters more than the number of records: merge categories, raise ε or ask more people.");
    } else {
      line("p", `ε = ${share} is below ${tables.even.x[0]}, and the release would say hardly anything: release less often${given.delta ? "" : ", or allow a δ"}.`);
    }
    const options = gaussian ? `"discrete-gaussian", epsilon="${total}", delta=${given.delta}, releases=${given.releases}` : `"${found.mechanism}", epsilon="${share}"${remapped ? ", remap=True" : ""}`;
    line("code", `dp.release(dp.mechanism(${options}), counts, [1] * ${given.k})`, line("pre", "")).tabIndex = 0;
    if (gaussian) return;
    const plan = `dataset = "survey"\naccount = "survey.account"\nunit = "record"\ncolumn = "answer"\ncategories = [${Array.from({ length: given.k }, (_, i) => `"answer ${i + 1}"`).join(", ")}]\nmissing = "refuse"\nmechanism = "${found.mechanism}"\n${remapped ? "options = {remap = true}\n" : ""}epsilon = "${share}"\n`;
    const link = line("a", "Download the plan");
    Object.assign(link, { href: `data:application/toml;charset=utf-8,${encodeURIComponent(`# ${AUTHORITY} --epsilon ${total}\n${plan}`)}`, download: "release.toml" });
  }

  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  show();
})();
