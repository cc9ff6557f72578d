/* The page with what a search found. Every word counts where it stands: in a title, among the
   keywords, in a heading, as a recorded number, in the text. Words that begin alike are the same. */
(() => {
  "use strict";

  const SHOWN = 20;
  const LETTERS = { ε: " epsilon ", δ: " delta ", γ: " gamma ", α: " alpha " };
  const IDLE = new Set("a an and are as at be by do does for how i in is it my of on or the to what which with".split(" "));
  const query = new URLSearchParams(window.location.search).get("q") || "";
  const place = document.getElementById("search-results");

  const plain = (text) => text.toLowerCase().replace(/[εδγα]/g, (one) => LETTERS[one]).replaceAll("’", "'");
  const split = (text) => plain(text).match(/\d+(?:[.,]\d+)*|[\p{L}\p{N}_]+/gu) || [];
  const stem = (word) => (/^\d/.test(word) ? word : word.replace(/(?:ings?|ed|es|s|e|ation|ations)$/, "").padEnd(2, "s"));
  const same = (word, asked) => word === asked || (asked.length > 3 && !/^\d/.test(asked) && word.startsWith(asked));

  /* How often a word stands in a text. */
  const count = (words, asked) => words.reduce((sum, word) => sum + same(word, asked), 0);

  function prepared(entry) {
    const stems = (text) => split(text).map(stem);
    const headings = entry.headings.map(([id, text]) => ({ id, text, words: stems(text) }));
    return { ...entry, headings, in: {
      title: stems(entry.title), keywords: stems(entry.keywords), heading: headings.flatMap((one) => one.words),
      numbers: entry.numbers.split(" "), text: stems(entry.text),
    } };
  }

  /* The worth of a page: each word by its best place, less where many pages have it; the whole
     search in one piece counts again. */
  function worth(page, asked, rare, phrase) {
    const weight = { title: 12, keywords: 14, heading: 6, numbers: 8 };
    let sum = 0;
    let missing = 0;
    for (const one of asked) {
      const places = Object.keys(weight).map((name) => (count(page.in[name], one) ? weight[name] : 0));
      const often = count(page.in.text, one);
      const inText = often ? 1 + 3 * (often / (often + 2 + page.in.text.length / 400)) : 0;
      if (!often && !Math.max(...places)) missing += 1;
      sum += rare.get(one) * (Math.max(...places) + inText);
    }
    const whole = (words, value) => (` ${words.join(" ")} `.includes(phrase) ? value : 0);
    sum += whole(page.in.title, 20) + whole(page.in.keywords, 30) + whole(page.in.text, 4);
    sum += Math.max(0, ...page.headings.map((one) => whole(one.words, one.words.join(" ") === phrase.trim() ? 30 : 12)));
    return missing ? (sum * (asked.length - missing)) / asked.length / 4 : sum;
  }

  /* How many letters must change, be added, left out or change places, up to three. */
  function apart(one, other) {
    if (Math.abs(one.length - other.length) > 2) return 3;
    let [old, row] = [[], [...Array(other.length + 1).keys()]];
    for (let i = 1; i <= one.length; i += 1) {
      const next = [i];
      for (let j = 1; j <= other.length; j += 1) {
        const change = row[j - 1] + (one[i - 1] === other[j - 1] ? 0 : 1);
        next[j] = Math.min(change, row[j] + 1, next[j - 1] + 1);
        if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]) next[j] = Math.min(next[j], old[j - 2] + 1);
      }
      [old, row] = [row, next];
    }
    return row[other.length];
  }

  /* The word of the book that a misspelt word is nearest to: one letter off in a short one, two
     in a long one; of equally near ones the most frequent. */
  function meant(word, often) {
    const most = word.length < 5 ? 1 : 2;
    let best = [most + 1, 0, word];
    for (const [known, times] of often) {
      const far = apart(word, known);
      if (far < best[0] || (far === best[0] && far <= most && times > best[1])) best = [far, times, known];
    }
    return best[0] <= most ? best[2] : word;
  }

  /* Words that no page has, as the book spells them. */
  function corrected(words, pages) {
    const often = new Map();
    for (const page of pages) {
      const all = Object.entries(page.in).flatMap(([name, list]) => (name === "numbers" ? [] : list));
      all.forEach((word) => often.set(word, (often.get(word) || 0) + 1));
    }
    const known = (word) => [...often.keys()].some((one) => same(one, word));
    return words.map((word) => (/^\d/.test(word) || word.length < 4 || known(word) ? word : meant(word, often)));
  }

  function find(text) {
    const pages = window.searchIndex.map(prepared);
    const raw = split(text);
    const all = corrected(raw.map(stem), pages);
    const asked = [...new Set(all.filter((_, i) => !IDLE.has(raw[i])))];
    const words = asked.length ? asked : all;
    const has = (page, word) => Object.values(page.in).some((list) => count(list, word));
    const rare = new Map(words.map((word) => [word, Math.log(1 + pages.length / (1 + pages.filter((page) => has(page, word)).length))]));
    const phrase = ` ${all.join(" ")} `;
    return pages.map((page) => ({ page, words, worth: worth(page, words, rare, phrase) }))
      .filter((one) => one.worth > 0).sort((one, other) => other.worth - one.worth);
  }

  /* Some words of the text around the first that was asked for, which are marked. */
  function excerpt(text, words) {
    const parts = text.split(/(?<=\s)/);
    const hit = (part) => split(part).some((word) => words.some((one) => same(stem(word), one)));
    const hits = parts.map(hit);
    const near = (i) => hits.slice(i, i + 12).filter(Boolean).length;
    const best = parts.reduce((found, _, i) => (hits[i] && near(i) > near(found) ? i : found), Math.max(0, hits.indexOf(true)));
    const first = Math.max(0, best - 8);
    const shown = document.createElement("p");
    if (first) shown.append("… ");
    parts.slice(first, first + 32).forEach((part, i) => {
      if (!hits[first + i]) return shown.append(part);
      shown.appendChild(document.createElement("mark")).textContent = part.trimEnd();
      return shown.append(" ");
    });
    if (first + 32 < parts.length) shown.append("…");
    return shown;
  }

  function show() {
    const found = query.trim() ? find(query) : [];
    const said = place.appendChild(document.createElement("p"));
    said.setAttribute("role", "status");
    said.textContent = query.trim() ? `${found.length || "No"} page${found.length === 1 ? "" : "s"} for “${query}”` : "";
    const list = place.appendChild(document.createElement("ol"));
    list.className = "found";
    for (const { page, words } of found.slice(0, SHOWN)) {
      const item = list.appendChild(document.createElement("li"));
      const heading = page.headings.find((one) => words.every((word) => count(one.words, word)));
      const link = item.appendChild(document.createElement("a"));
      link.href = page.page + (heading ? `#${heading.id}` : "");
      link.textContent = heading ? `${page.title}: ${heading.text}` : page.title;
      item.append(excerpt(page.text, words));
    }
  }

  document.querySelectorAll('input[name="q"]').forEach((field) => { field.value = query; });
  show();
})();
