/* Definitions of words: a link to the glossary shows its definition on hover and on focus.

   Without this script the browser shows the same text as the link's title. The bubble stays while
   the pointer is on it, and Escape takes it away. */
(() => {
  "use strict";

  const bubble = document.createElement("div");
  bubble.id = "word-bubble";
  bubble.className = "word-bubble";
  bubble.setAttribute("role", "tooltip");
  bubble.hidden = true;
  let shownFor = null;
  let leaving = 0;

  function place(link) {
    const at = link.getClientRects()[0];
    const width = Math.min(352, document.documentElement.clientWidth - 16);
    bubble.style.width = `${width}px`;
    const left = Math.min(at.left, document.documentElement.clientWidth - width - 8);
    bubble.style.left = `${Math.max(8, left) + window.scrollX}px`;
    const below = at.bottom + 6;
    const fits = below + bubble.offsetHeight < window.innerHeight;
    const top = fits ? below : Math.max(4, at.top - bubble.offsetHeight - 6);
    bubble.style.top = `${top + window.scrollY}px`;
  }

  function show(link) {
    clearTimeout(leaving);
    if (shownFor === link) return;
    hide();
    shownFor = link;
    bubble.textContent = link.dataset.definition;
    bubble.hidden = false;
    link.setAttribute("aria-describedby", bubble.id);
    place(link);
  }

  function hide() {
    clearTimeout(leaving);
    if (shownFor) shownFor.removeAttribute("aria-describedby");
    shownFor = null;
    bubble.hidden = true;
  }

  function leave() {
    clearTimeout(leaving);
    leaving = setTimeout(hide, 250);
  }

  function begin() {
    const links = document.querySelectorAll("a.term[title]");
    if (!links.length) return;
    document.body.append(bubble);
    for (const link of links) {
      link.dataset.definition = link.title;
      link.removeAttribute("title");
      link.addEventListener("mouseenter", () => show(link));
      link.addEventListener("mouseleave", leave);
      link.addEventListener("focus", () => show(link));
      link.addEventListener("blur", hide);
    }
    bubble.addEventListener("mouseenter", () => clearTimeout(leaving));
    bubble.addEventListener("mouseleave", leave);
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape") hide();
    });
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
})();
