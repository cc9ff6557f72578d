/**
 * Four charts on canvas, drawn with uPlot: the law, the posteriors, the mean error, the losses.
 *
 * A chart only shows what the read-out says in words, so it is one picture to a screen reader, with
 * that text as its name. Colours come from the page: the theme's for ink and grid, the book's table
 * for the mechanism.
 */

const HEIGHT = 190;
const FONT = "12px system-ui, sans-serif";
const NARROWEST = 220;

/** The colours of the page as it is now, by day or at night. */
export function inks(holder, look) {
  const style = getComputedStyle(holder);
  const read = (name, otherwise) => style.getPropertyValue(name).trim() || otherwise;
  const night = document.documentElement.dataset.theme === "dark";
  return {
    text: read("--pst-color-text-base", night ? "#ced6dd" : "#222832"),
    muted: read("--pst-color-text-muted", night ? "#9ca4af" : "#48566b"),
    page: read("--pst-color-background", night ? "#14181e" : "#ffffff"),
    grid: night ? "#333b46" : "#e4e7ea",
    mechanism: night ? look.night : look.day,
  };
}

function axis(ink, label, more = {}) {
  return {
    stroke: ink.text,
    grid: { stroke: ink.grid, width: 1 },
    ticks: { stroke: ink.grid, width: 1 },
    font: FONT,
    labelFont: FONT,
    labelSize: 18,
    size: 34,
    label,
    ...more,
  };
}

/** Counts are marked at whole numbers only. */
const WHOLE = { incrs: [1, 2, 5, 10, 20, 25, 50, 100, 200, 500] };

/** A mark of an axis: a small number does not turn into zero. */
export function tick(value) {
  if (value !== 0 && Math.abs(value) < 1e-3) return value.toExponential(0);
  return String(Number(value.toPrecision(3)));
}

/** Write a word over whatever is drawn there. */
function write(chart, word, x, y, ink, align, baseline) {
  const { ctx } = chart;
  const ratio = devicePixelRatio || 1;
  ctx.save();
  ctx.font = `${12 * ratio}px system-ui, sans-serif`;
  ctx.textAlign = align;
  ctx.textBaseline = baseline;
  ctx.lineJoin = "round";
  ctx.lineWidth = 4 * ratio;
  ctx.strokeStyle = ink.page;
  ctx.strokeText(word, x, y);
  ctx.fillStyle = ink.text;
  ctx.fillText(word, x, y);
  ctx.restore();
}

/** Draw a vertical line at a value of the horizontal axis, with a word at its top on one side. */
function upright(chart, ink, value, color, word, { row = 0, dash = [], side = null } = {}) {
  const { ctx, bbox } = chart;
  const ratio = devicePixelRatio || 1;
  const x = Math.round(chart.valToPos(value, "x", true));
  if (x < bbox.left - 1 || x > bbox.left + bbox.width + 1) return;
  ctx.save();
  ctx.strokeStyle = color;
  ctx.lineWidth = 1.5 * ratio;
  ctx.setLineDash(dash.map((part) => part * ratio));
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.restore();
  const left = side === "left" || (side === null && x > bbox.left + bbox.width / 2);
  const beside = x + (left ? -5 : 5) * ratio;
  write(chart, word, beside, bbox.top + (2 + 15 * row) * ratio, ink, left ? "right" : "left", "top");
}

/** The outer sides of two lines, so that no word stands at the other one, as far as there is room. */
export function outerSides(chart, first, second) {
  const room = 55 * (devicePixelRatio || 1);
  const { left, width } = chart.bbox;
  const at = [first, second].map((value) => chart.valToPos(value, "x", true) - left);
  const sides = first <= second ? ["left", "right"] : ["right", "left"];
  return sides.map((side, i) => {
    if (side === "left") return at[i] < room ? "right" : "left";
    return width - at[i] < room ? "left" : "right";
  });
}

/** Draw a horizontal line at a value of the vertical axis, with a word above one of its ends. */
function level(chart, ink, value, word, side = "right") {
  const { ctx, bbox } = chart;
  const ratio = devicePixelRatio || 1;
  const y = Math.round(chart.valToPos(value, "y", true));
  if (y < bbox.top || y > bbox.top + bbox.height) return;
  ctx.save();
  ctx.strokeStyle = ink.muted;
  ctx.lineWidth = 1.2 * ratio;
  ctx.setLineDash([4 * ratio, 3 * ratio]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.restore();
  const end = side === "right" ? bbox.left + bbox.width - 4 * ratio : bbox.left + 4 * ratio;
  write(chart, word, end, y - 2 * ratio, ink, side, "bottom");
}

function dot(chart, x, y, color) {
  const { ctx } = chart;
  const ratio = devicePixelRatio || 1;
  ctx.save();
  ctx.fillStyle = color;
  ctx.beginPath();
  ctx.arc(chart.valToPos(x, "x", true), chart.valToPos(y, "y", true), 5 * ratio, 0, 2 * Math.PI);
  ctx.fill();
  ctx.restore();
}

/** One chart in its holder; `draw` gives it data, ranges and what is marked on it. */
class Chart {
  constructor(holder, xLabel, yLabel, series) {
    Object.assign(this, { holder, xLabel, yLabel, series, marks: () => {}, data: null });
  }

  /** Make the chart anew, in the colours of the page as they are. */
  make(ink) {
    this.plot?.destroy();
    this.ink = ink;
    this.ranges = { x: [0, 1], y: [0, 1] };
    const options = {
      width: this.width(),
      height: HEIGHT,
      legend: { show: false },
      cursor: { show: false },
      padding: [10, 12, 0, 0],
      scales: {
        x: { time: false, range: () => this.ranges.x },
        y: { range: () => this.ranges.y },
      },
      axes: [
        axis(ink, this.xLabel, { space: 55, ...this.xAxis }),
        axis(ink, this.yLabel, { size: 58, space: 34, ...this.yAxis }),
      ],
      series: [{}, ...this.series(ink).map((one) => ({ points: { show: false }, ...one }))],
      hooks: { draw: [(plot) => this.marks(plot)] },
    };
    this.plot = new window.uPlot(options, this.data ?? [[0], ...options.series.slice(1).map(() => [null])], this.holder);
    return this;
  }

  width() {
    return Math.max(this.holder.clientWidth, NARROWEST);
  }

  resize() {
    if (this.plot && this.plot.width !== this.width()) {
      this.plot.setSize({ width: this.width(), height: HEIGHT });
    }
  }

  draw(data, ranges, marks) {
    Object.assign(this, { data, ranges, marks });
    this.plot.setData(data);
  }
}

/** The counts that matter in a law: those with some probability, the truth and the release. */
function windowOf(state, seen) {
  const { law, released } = seen;
  const top = Math.max(...law);
  let low = Math.min(state.ones, released);
  let high = Math.max(state.ones, released);
  law.forEach((p, r) => {
    if (p > 2e-3 * top) [low, high] = [Math.min(low, r), Math.max(high, r)];
  });
  return [Math.max(low - 2, 0), Math.min(high + 2, state.n)];
}

export class LawChart extends Chart {
  constructor(holder) {
    super(holder, "released count of ones", "probability", (ink) => [
      { stroke: ink.mechanism, fill: `${ink.mechanism}99`, paths: window.uPlot.paths.bars({ size: [0.8, 60] }) },
    ]);
    this.xAxis = WHOLE;
  }

  show(state, seen) {
    const [low, high] = windowOf(state, seen);
    const counts = Array.from({ length: high - low + 1 }, (_, i) => low + i);
    const heights = counts.map((r) => seen.law[r]);
    const ranges = { x: [low - 0.6, high + 0.6], y: [0, 1.25 * Math.max(...heights)] };
    this.draw([counts, heights], ranges, (plot) => {
      const [truth, released] = outerSides(plot, state.ones, seen.released);
      upright(plot, this.ink, state.ones, this.ink.text, "truth", { side: truth });
      upright(plot, this.ink, seen.released, this.ink.mechanism, "release",
        { row: 1, dash: [5, 3], side: released });
    });
  }
}

export class PosteriorChart extends Chart {
  constructor(holder) {
    super(holder, "share of ones", "density", (ink) => [
      { stroke: ink.text, width: 2 },
      { stroke: ink.mechanism, width: 2, dash: [6, 4] },
      { stroke: ink.mechanism, width: 2.5, fill: `${ink.mechanism}26` },
    ]);
    this.yAxis = { values: (_, splits) => splits.map((v) => (v < 0 ? "" : String(v))) };
  }

  show(densities, seen) {
    const kinds = ["truth", "face", "aware"];
    const curves = kinds.map((kind) => [...densities[kind]]);
    const finite = curves.flat().filter(Number.isFinite);
    const top = Math.max(...finite);
    const { points } = densities;
    const ranges = { x: [points[0], points[points.length - 1]], y: [-0.3 * top, 1.05 * top] };
    this.draw([[...points], ...curves], ranges, (plot) => {
      kinds.forEach((kind, row) => this.interval(plot, seen[kind], row, top));
    });
  }

  /** A bar for the 95% interval with a dot at the mean, below the curves. */
  interval(plot, { low, mean, high }, row, top) {
    const { ctx } = plot;
    const ratio = devicePixelRatio || 1;
    const y = plot.valToPos(-0.075 * top * (row + 1), "y", true);
    const at = (value) => plot.valToPos(value, "x", true);
    ctx.save();
    ctx.strokeStyle = row === 0 ? this.ink.text : this.ink.mechanism;
    ctx.lineWidth = (row === 2 ? 4 : 2.5) * ratio;
    if (row === 1) ctx.setLineDash([6 * ratio, 4 * ratio]);
    ctx.beginPath();
    ctx.moveTo(at(low), y);
    ctx.lineTo(at(high), y);
    ctx.stroke();
    ctx.fillStyle = ctx.strokeStyle;
    ctx.beginPath();
    ctx.arc(at(mean), y, 3.5 * ratio, 0, 2 * Math.PI);
    ctx.fill();
    ctx.restore();
  }
}

export class ErrorChart extends Chart {
  constructor(holder, choose) {
    super(holder, "ones in the data", "mean distance", (ink) => [{ stroke: ink.mechanism, width: 2 }]);
    this.xAxis = WHOLE;
    this.yAxis = { values: (_, splits) => splits.map(tick) };
    this.choose = choose;
    holder.addEventListener("pointerdown", (event) => this.follow(event));
    holder.addEventListener("pointermove", (event) => event.buttons === 1 && this.follow(event));
  }

  /** Move the data to where the pointer is. */
  follow(event) {
    if (!this.plot) return;
    const left = event.clientX - this.plot.over.getBoundingClientRect().left;
    this.choose(Math.round(this.plot.posToVal(left, "x")));
  }

  show(state, seen) {
    const counts = Array.from({ length: state.n + 1 }, (_, x) => x);
    const ranges = { x: [0, state.n], y: [0, Math.min(1.3 * seen.worstMean, 1.1)] };
    this.draw([counts, [...seen.means]], ranges, (plot) => {
      const away = state.ones > state.n / 2 ? "left" : "right"; // where "your data" does not stand
      level(plot, this.ink, seen.averageMean, "average over all data", away);
      upright(plot, this.ink, state.ones, this.ink.text, "your data", { dash: [2, 3] });
      dot(plot, state.ones, seen.mean, this.ink.text);
    });
  }
}

export class LossChart extends Chart {
  constructor(holder) {
    super(holder, "pairs of neighbours: x and x + 1 ones", "privacy loss", (ink) => [
      { stroke: ink.mechanism, width: 2, points: { show: true, size: 4, fill: ink.mechanism } },
    ]);
    this.xAxis = WHOLE;
  }

  show(state, seen) {
    const pairs = Array.from({ length: state.n }, (_, x) => x);
    const finite = Number.isFinite(seen.audited);
    const top = 1.25 * (finite ? Math.max(seen.audited, state.epsilon) : state.epsilon);
    const ranges = { x: [-0.5, state.n - 0.5], y: [0, top] };
    const worst = Math.min(seen.worst.likely, seen.worst.other);
    const heights = [...seen.losses].map((loss) => (Number.isFinite(loss) ? loss : null));
    this.draw([pairs, heights], ranges, (plot) => {
      if (!finite) {
        const { left, top: upper, width, height } = plot.bbox;
        write(plot, "infinite for every pair", left + width / 2, upper + height / 2, this.ink, "center", "middle");
      }
      level(plot, this.ink, state.epsilon, state.promise === "audited" ? "ε asked for" : "nominal ε");
      if (finite) dot(plot, worst, seen.audited, this.ink.mechanism);
    });
  }
}
