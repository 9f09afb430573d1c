// Drawings of curves and bars, with words for those who do not see them.
import { el, number, svg } from "./dom.js";

const width = 320, height = 120, left = 56, bottom = 16, top = 6;

// lines draws curves over time. Each series has a name and points [x, y]; format writes a y.
export function lines(title, series, format = number) {
  const points = series.flatMap((s) => s.points.filter(([, y]) => Number.isFinite(y)));
  const last = series.map((s) => `${series.length > 1 ? `${s.name} ` : ""}${format(s.points.at(-1)?.[1])}`).join(", ");
  const figure = el("figure", { class: "card" },
    el("figcaption", {}, el("strong", {}, title), " ", el("span", { class: "more" }, last)));
  const x = span(points.map(([at]) => at)), y = span([0, ...points.map(([, at]) => at)]);
  const px = (at) => left + (at - x.low) / x.size * (width - left - 4);
  const py = (at) => height - bottom - (at - y.low) / y.size * (height - bottom - top);
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title}: ${last}`, class: "chart" },
    points.length ? axis(x, py, y, format)
      : svg("text", { x: width / 2, y: height / 2, class: "tick middle" }, "Nothing to measure yet"),
    series.map((s, i) => svg("path", { d: path(s.points, px, py), class: `line line${i}` })));
  figure.append(drawing);
  if (series.length > 1) figure.append(legend(series.map((s) => s.name)));
  return figure;
}

function span(values) {
  const finite = values.filter(Number.isFinite);
  const low = Math.min(...finite, Infinity), high = Math.max(...finite, -Infinity);
  return low < high ? { low, high, size: high - low }
    : { low: Number.isFinite(low) ? low : 0, high: (Number.isFinite(low) ? low : 0) + 1, size: 1 };
}

// axis draws the bounds of y, and how long ago x begins.
function axis(x, py, y, format) {
  return [y.low, y.high].map((at) => [
    svg("line", { x1: left, x2: width - 4, y1: py(at), y2: py(at), class: "axis" }),
    svg("text", { x: left - 4, y: py(at) + 4, class: "tick" }, format(at))]).flat().concat(
    svg("text", { x: left, y: height - 3, class: "tick start" }, x.size < 120 ? `${Math.round(x.size)} s ago` : `${Math.round(x.size / 60)} min ago`),
    svg("text", { x: width - 4, y: height - 3, class: "tick" }, "now"));
}

// path draws what is known and leaves gaps where nothing is.
function path(points, px, py) {
  let d = "", pen = "M";
  for (const [x, y] of points) {
    if (!Number.isFinite(y)) {
      pen = "M";
      continue;
    }
    d += `${pen}${px(x).toFixed(1)} ${py(y).toFixed(1)}`;
    pen = "L";
  }
  return d;
}

function legend(names) {
  return el("p", { class: "legend" }, names.map((name, i) => el("span", {},
    svg("svg", { viewBox: "0 0 16 8", class: "key", "aria-hidden": "true" },
      svg("path", { d: "M0 4L16 4", class: `line line${i}` })), name)));
}

const maxBars = 40;

// spectrum draws the energy of a history by frequency, before and after. Bars are of neighbouring
// frequencies together, and as high as the square root of the share, so that small ones are seen.
export function spectrum(answer) {
  const n = answer.before.length;
  if (!n) return el("p", { class: "more" }, "Nothing of this history is in the model.");
  const size = Math.ceil(n / maxBars), bars = Math.ceil(n / size);
  const sum = (shares) => Array.from({ length: bars }, (_, i) =>
    shares.slice(i * size, (i + 1) * size).reduce((a, b) => a + b, 0));
  const before = sum(answer.before), after = sum(answer.after);
  const peak = Math.sqrt(Math.max(...before, ...after, 1e-12));
  const step = (width - 8) / bars;
  const bar = (share, i, half, name) => {
    const h = Math.sqrt(share) / peak * (height - bottom - top);
    return svg("rect", { x: 4 + step * (i + half / 2) + 0.3, width: step / 2 - 0.6, y: height - bottom - h, height: h, class: name });
  };
  const words = `Half of the energy is in the lowest ${half(answer.before)} of ${n} frequencies before, ` +
    `and in the lowest ${half(answer.after)} after.`;
  return el("div", {},
    svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words, class: "chart" },
      before.map((share, i) => bar(share, i, 0, "before")),
      after.map((share, i) => bar(share, i, 1, "after")),
      svg("line", { x1: 4, x2: width - 4, y1: height - bottom, y2: height - bottom, class: "axis" }),
      svg("text", { x: 4, y: height - 3, class: "tick start" }, `λ ${number(answer.frequencies[0])}`),
      svg("text", { x: width - 4, y: height - 3, class: "tick" }, `λ ${number(answer.frequencies[n - 1])}`)),
    el("p", { class: "legend" }, ["before", "after"].map((name) => el("span", {},
      svg("svg", { viewBox: "0 0 16 8", class: "key", "aria-hidden": "true" },
        svg("rect", { width: 16, height: 8, class: name })), `${name} the model`))),
    el("p", { class: "more" }, words));
}

// half is the number of leading shares that have half of the sum.
function half(shares) {
  let sum = 0, i = 0;
  while (i < shares.length && sum < 0.5) sum += shares[i++];
  return i;
}
