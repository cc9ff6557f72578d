/* A figure in its natural size: the element itself moves into a dialog and back. One that scrolls in
   its place is reached by keyboard there. A figure, table, formula or piece of code fades out on the
   side where it goes on. */
(() => {
  "use strict";

  const narrow = window.matchMedia("(max-width: 720px)");
  let dialog = null;
  let home = null;

  function build() {
    const made = document.createElement("dialog");
    made.className = "drawn-dialog";
    made.setAttribute("aria-label", "Figure in full size");
    const close = document.createElement("button");
    close.type = "button";
    close.className = "drawn-close";
    close.textContent = "Close";
    close.addEventListener("click", () => made.close());
    const sheet = document.createElement("div");
    sheet.className = "drawn-sheet";
    sheet.tabIndex = 0;
    sheet.setAttribute("role", "region");
    sheet.setAttribute("aria-label", "Figure, scrolls both ways");
    made.append(close, sheet);
    made.addEventListener("click", (event) => {
      if (event.target === made) made.close();
    });
    // The page's own keys, such as the arrows to other pages, have no business in here.
    made.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Escape") made.close();
    });
    made.addEventListener("close", restore);
    (document.querySelector("main article") || document.body).append(made);
    return made;
  }

  function restore() {
    if (!home) return;
    home.gap.replaceWith(home.figure);
    home.button.focus({ preventScroll: true });
    home = null;
  }

  function open(box) {
    dialog = dialog || build();
    const figure = box.querySelector("svg.drawn");
    const gap = document.createElement("div");
    gap.style.height = `${figure.getBoundingClientRect().height}px`;
    figure.replaceWith(gap);
    home = { figure, gap, button: box.querySelector(".drawn-open") };
    const sheet = dialog.querySelector(".drawn-sheet");
    sheet.append(figure);
    dialog.showModal();
    sheet.scrollTo(0, 0);
    sheet.focus();
  }

  function follow(box) {
    const rest = box.scrollWidth - box.clientWidth - box.scrollLeft;
    box.classList.toggle("goes-on", rest > 2);
  }

  function measure(box) {
    const scrolls = box.scrollWidth > box.clientWidth + 1;
    if (scrolls) {
      box.tabIndex = 0;
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", "Figure, scrolls sideways");
    } else {
      for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
    }
    follow(box);
  }

  const widths = new ResizeObserver((seen) => seen.forEach((one) => measure(one.target)));
  for (const box of document.querySelectorAll(".drawn-scroll")) {
    widths.observe(box);
    // The arrows scroll the figure here; on the page they lead to other pages.
    box.addEventListener("keydown", (event) => event.stopPropagation());
  }

  const sideways = ".pst-scrollable-table-container, .cell_output .output, pre, dl.py, .math";
  const ends = new ResizeObserver((seen) => {
    for (const { target } of seen) follow(target);
  });
  document.querySelectorAll(`.bd-content :is(${sideways})`).forEach((box) => ends.observe(box));

  const scrolled = `.drawn-scroll, ${sideways}`;
  const moved = ({ target }) => target instanceof Element && target.matches(scrolled) && follow(target);
  document.addEventListener("scroll", moved, { capture: true, passive: true });

  document.addEventListener("click", (event) => {
    const box = event.target.closest(".drawn-box");
    if (!box || (!event.target.closest(".drawn-open") && !narrow.matches)) return;
    if (box.querySelector("svg.drawn")) open(box);
  });
})();
