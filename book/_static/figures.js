/* A table, formula or piece of code fades out on the side where it goes on. Figures never do. */
(() => {
  "use strict";

  function follow(box) {
    const rest = box.scrollWidth - box.clientWidth - box.scrollLeft;
    box.classList.toggle("goes-on", rest > 2);
  }

  const sideways = ".pst-scrollable-table-container, .cell_output .output, pre, dl.py, .math";
  const ends = new ResizeObserver((seen) => {
    for (const { target } of seen) follow(target);
  });
  document.querySelectorAll(`.bd-content :is(${sideways})`).forEach((box) => ends.observe(box));

  const moved = ({ target }) => target instanceof Element && target.matches(sideways) && follow(target);
  document.addEventListener("scroll", moved, { capture: true, passive: true });
})();
