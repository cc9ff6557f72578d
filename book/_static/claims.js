/* A filter for the verdict board: by document, by verdict, by words. Without it all claims are shown.

   The choice is kept in the address, so that a link shares it. */
(() => {
  "use strict";

  const VERDICTS = ["holds", "holds-corrected", "false", "open", "no-verdict"];
  const NAMES = { a: "A", b: "B", c: "C", d: "D", e: "E" };

  function kinds(cards, prefix) {
    const found = new Set();
    for (const card of cards)
      for (const name of card.classList)
        if (name.startsWith(prefix)) found.add(name.slice(prefix.length));
    return [...found].sort((a, b) => VERDICTS.indexOf(a) - VERDICTS.indexOf(b));
  }

  function boxes(form, legend, prefix, values, chosen) {
    const group = document.createElement("fieldset");
    const title = document.createElement("legend");
    title.textContent = legend;
    group.append(title);
    for (const value of values) {
      const label = document.createElement("label");
      const box = document.createElement("input");
      box.type = "checkbox";
      box.name = prefix;
      box.value = value;
      box.checked = chosen.includes(value);
      const count = document.querySelectorAll(`.claim.${prefix}-${value}`).length;
      label.append(box, ` ${NAMES[value] || value.replace("-", " ")} (${count})`);
      group.append(label);
    }
    form.append(group);
  }

  function build(cards) {
    const asked = new URLSearchParams(window.location.search);
    const form = document.createElement("form");
    form.className = "claims-filter";
    form.setAttribute("aria-label", "Filter the claims");
    const label = document.createElement("label");
    const field = document.createElement("input");
    field.type = "search";
    field.name = "words";
    field.value = asked.get("words") || "";
    label.append("Words ", field);
    form.append(label);
    boxes(form, "Verdict", "verdict", kinds(cards, "verdict-"), asked.getAll("verdict"));
    boxes(form, "Document", "document", kinds(cards, "document-"), asked.getAll("document"));
    const count = document.createElement("output");
    form.append(count);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", () => apply(form, cards, count, true));
    return { form, count };
  }

  function apply(form, cards, count, remember) {
    const data = new FormData(form);
    const verdicts = data.getAll("verdict");
    const documents = data.getAll("document");
    const words = String(data.get("words")).toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const card of cards) {
      const text = card.textContent.toLowerCase();
      const fits =
        (!verdicts.length || verdicts.some((v) => card.classList.contains(`verdict-${v}`))) &&
        (!documents.length || documents.some((d) => card.classList.contains(`document-${d}`))) &&
        words.every((word) => text.includes(word));
      card.hidden = !fits;
      shown += fits;
    }
    for (const section of document.querySelectorAll("section:has(> .claim)"))
      section.hidden = !section.querySelector(".claim:not([hidden])");
    count.textContent = `${shown} of ${cards.length} claims`;
    if (remember) {
      const kept = new URLSearchParams([...data].filter(([, value]) => value));
      const query = kept.toString();
      const address = window.location.pathname + (query ? `?${query}` : "");
      try {
        window.history.replaceState(null, "", address);
      } catch {
        // a page from disk keeps its address
      }
    }
  }

  function begin() {
    const cards = [...document.querySelectorAll(".bd-article .claim")];
    const first = cards.length && cards[0].closest("section");
    if (!first || document.querySelector(".claims-filter")) return;
    const { form, count } = build(cards);
    first.before(form);
    apply(form, cards, count, false);
    const target = window.location.hash && document.getElementById(window.location.hash.slice(1));
    if (!target) return;
    target.open = true;
    target.scrollIntoView();
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
})();
