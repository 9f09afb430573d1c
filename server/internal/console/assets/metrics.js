// The view of the metrics of the server, which it draws while it is looked at.
import { lines } from "./chart.js";
import { duration, el, number } from "./dom.js";

const every = 2000; // milliseconds between two looks
const kept = 150; // looks: five minutes
const averaged = 15; // looks that a mean is of: half a minute

// metricsView fills a section and returns the view.
export function metricsView(section) {
  const charts = el("div", { class: "charts" });
  const status = el("p", { role: "status", class: "more" }, "Waiting for the first two looks.");
  section.append(el("h2", {}, "The server now"), status, charts);
  const looks = [];
  let timer = null;
  const look = async () => {
    try {
      const response = await fetch("/metrics", { cache: "no-store", credentials: "omit" });
      if (!response.ok) throw new Error(`the server answered ${response.status}`);
      looks.push({ at: Date.now() / 1000, series: parse(await response.text()) });
      if (looks.length > kept) looks.shift();
      status.textContent = `Every ${every / 1000} s, the last ${number((looks.length - 1) * every / 1000)} s. ` +
        "Quantiles are of the calls between two looks.";
      if (looks.length > 1) charts.replaceChildren(...draw(looks));
    } catch {
      status.textContent = "The metrics cannot be had now.";
    }
    if (timer !== null) timer = setTimeout(look, every);
  };
  return {
    show() {
      if (timer === null) {
        timer = 0;
        look();
      }
    },
    rest() {
      clearTimeout(timer);
      timer = null;
      charts.replaceChildren();
      looks.length = 0; // a gap would look like a quiet time
    },
  };
}

// parse reads the text format of Prometheus: from the name of a series to its samples, each with
// labels and a value.
export function parse(text) {
  const series = new Map();
  for (const line of text.split("\n")) {
    const found = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
    if (!found) continue;
    const labels = {};
    for (const [, name, value] of (found[2] ?? "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[name] = value;
    if (!series.has(found[1])) series.set(found[1], []);
    series.get(found[1]).push({ labels, value: found[3] === "+Inf" ? Infinity : Number(found[3]) });
  }
  return series;
}

const method = (name) => (labels) => labels.grpc_method === name;
const all = () => true;

// draw makes the charts of all looks.
function draw(looks) {
  const between = (fn) => looks.slice(1).map((now, i) => [now.at, fn(looks[i], now)]);
  const at = (fn) => looks.map((now) => [now.at, fn(now)]);
  const quantiles = (name, which) => [[0.5, "median"], [0.99, "99 %"]].map(([q, label]) =>
    ({ name: label, points: between((was, now) => quantile(q, buckets(was, name, which), buckets(now, name, which))) }));
  const rate = (name, metric, which) => ({
    name, points: between((was, now) => (sum(now, metric, which) - sum(was, metric, which)) / (now.at - was.at)),
  });
  const mean = (name, metric, which = all) => ({
    name, points: looks.slice(1).map((now, i) => {
      const was = looks[Math.max(0, i + 1 - averaged)];
      const more = (part) => sum(now, metric + part, which) - (sum(was, metric + part, which) || 0);
      return [now.at, more("_sum") / more("_count")];
    }),
  });
  const gauge = (name, metric, which = all) => ({ name, points: at((now) => sum(now, metric, which)) });
  const serving = ({ model }) => model === undefined || model === "serving";
  return [
    lines("Calls per second", [rate("lists", "grpc_server_handled_total", method("Recommend")),
      rate("events", "grpc_server_handled_total", method("Observe"))]),
    lines("Time of a list", quantiles("grpc_server_handling_seconds", method("Recommend")), duration),
    lines("Time until an event is visible", quantiles("gsimc_observe_visible_seconds", all), duration),
    lines("Mean rank of what came next", [mean("rank", "gsimc_online_rank", serving)]),
    lines("Recall of what came next", ["10", "100"].map((n) =>
      gauge(`at ${n}`, "gsimc_online_recall", (labels) => serving(labels) && labels.n === n))),
    lines("Drift: explained share, 1 at the training", [gauge("ratio", "gsimc_drift_energy_ratio")]),
    lines("User states in memory", [gauge("states", "gsimc_user_states")]),
    lines("Store on disk (MiB)", [{ name: "MiB", points: at((now) => sum(now, "gsimc_store_bytes", all) / 2 ** 20) }]),
  ];
}

// sum adds the samples of a series whose labels are wanted; NaN: there are none.
function sum(look, name, which) {
  const found = (look.series.get(name) ?? []).filter((s) => which(s.labels));
  return found.length ? found.reduce((total, s) => total + s.value, 0) : NaN;
}

// buckets are the upper bounds of a histogram with their counts, added up over its series.
function buckets(look, name, which) {
  const counts = new Map();
  for (const { labels, value } of look.series.get(`${name}_bucket`) ?? []) {
    if (!which(labels)) continue;
    const le = labels.le === "+Inf" ? Infinity : Number(labels.le);
    counts.set(le, (counts.get(le) ?? 0) + value);
  }
  return counts;
}

// quantile of what came to a histogram between two looks, within its bucket in proportion; NaN:
// nothing came.
export function quantile(q, was, now) {
  const bounds = [...now.keys()].sort((a, b) => a - b);
  const count = (le) => now.get(le) - (was.get(le) ?? 0);
  const total = bounds.length ? count(bounds.at(-1)) : 0;
  if (!total) return NaN;
  let low = 0, below = 0;
  for (const le of bounds) {
    const upTo = count(le);
    if (upTo >= q * total) {
      if (le === Infinity) return low;
      return low + (le - low) * (q * total - below) / Math.max(upTo - below, 1e-12);
    }
    low = le;
    below = upTo;
  }
  return low;
}
