// The view of the metrics of the server: the last hour, and what comes while it is looked at.
import { past } from "./api.js";
import { lines } from "./chart.js";
import { ago, duration, el, facts, number, poll, tell } from "./dom.js";
import { parse, read, sum } from "./series.js";

const every = 2000; // milliseconds between two looks
const kept = 150; // looks of the page, five minutes; before, those of the server
const averaged = 300; // seconds that a mean is of

// metricsView fills a section and returns the view.
export function metricsView(section) {
  const now = el("div", { class: "card" });
  const charts = el("div", { class: "charts" });
  const status = el("p", { role: "status", class: "more" }, "Waiting for the first look.");
  section.append(el("h2", {}, "The server now"), now, el("h2", {}, "The last hour"), status, charts);
  let own = []; // looks of this page
  let older = null; // what the server remembers of before
  const ask = async () => {
    if (own.length >= 2 * kept) { // the server remembers the first half by now
      own = own.slice(kept);
      older = null;
    }
    older ??= await before();
    return read();
  };
  const looks = poll(every, ask, (look, error) => {
    tell(status, error ? `The metrics cannot be had now. ${error.message}`
      : "Quantiles are of the calls between two looks, means of the last five minutes.");
    if (error) return;
    now.replaceChildren(facts(state(look)));
    own.push(drawn(look));
    const all = [...older.filter(({ at }) => at < own[0].at), ...own]; // clocks may differ
    if (all.length > 1) charts.replaceChildren(...draw(all));
  });
  return {
    show: looks.start,
    rest() {
      looks.stop();
      own = [];
      older = null;
      charts.replaceChildren();
    },
  };
}

// charted are the metrics of the charts.
const charted = [
  "grpc_server_handled_total", "grpc_server_handling_seconds", "gsimc_calls_shed_total",
  "gsimc_observe_visible_seconds", "gsimc_online_rank", "gsimc_online_recall",
];

// drawn is what a look has for the charts, which is little of all.
function drawn({ at, series }) {
  const is = (name) => charted.includes(name.replace(/_(bucket|sum|count)$/, ""));
  return { at, series: new Map([...series].filter(([name]) => is(name))) };
}

// before are the looks that the server remembers.
async function before() {
  return (await past()).map(({ at, metrics }) => ({ at, series: parse(metrics) }));
}

// state is what the server has now.
function state(look) {
  const one = (name, which) => sum(look, name, which);
  const written = (value, text) => (Number.isFinite(value) ? text(value) : "–");
  return [
    ["Started", written(one("process_start_time_seconds"), ago)],
    ["Model trained", written(one("gsimc_model_train_timestamp_seconds"), ago)],
    ["Users in memory", number(one("gsimc_user_states"))],
    ["Store on disk", written(one("gsimc_store_bytes"), (x) => `${number(x / 2 ** 20)} MiB`)],
    ["Items of the model", number(one("gsimc_model_items"))],
    ["Explained of new events, 1 at the training", number(one("gsimc_drift_energy_ratio"))],
  ];
}

const method = (name) => (labels) => labels.grpc_method === name;
const failed = ["Internal", "Unknown", "DataLoss", "Unavailable", "DeadlineExceeded", "Unimplemented"];

// draw makes the charts of all looks.
function draw(looks) {
  const between = (fn) => looks.slice(1).map((now, i) => [now.at, fn(looks[i], now)]);
  const quantiles = (name, which) => [[0.5, "median"], [0.99, "99 %"]].map(([q, label]) =>
    ({ name: label, points: between((was, now) => quantile(q, buckets(was, name, which), buckets(now, name, which))) }));
  const rate = (name, metric, which) => ({ // a counter that has counted nothing is in no look of before
    name, points: between((was, now) =>
      positive((sum(now, metric, which) || 0) - (sum(was, metric, which) || 0)) / (now.at - was.at)),
  });
  const gauge = (name, metric, which) => ({ name, points: looks.map((now) => [now.at, sum(now, metric, which)]) });
  const serving = ({ model }) => model === undefined || model === "serving";
  return [
    lines("Calls per second", [rate("lists", "grpc_server_handled_total", method("Recommend")),
      rate("events", "grpc_server_handled_total", method("Observe"))]),
    lines("Not answered per second", [
      rate("failed", "grpc_server_handled_total", ({ grpc_code }) => failed.includes(grpc_code)),
      rate("refused for lack of room", "gsimc_calls_shed_total")]),
    lines("Time of a list", quantiles("grpc_server_handling_seconds", method("Recommend")), duration),
    lines("Time until an event is visible", quantiles("gsimc_observe_visible_seconds", () => true), duration),
    lines("Mean rank of what came next", [{ name: "rank", points: means(looks, "gsimc_online_rank", serving) }]),
    lines("Recall of what came next", ["10", "100"].map((n) =>
      gauge(`at ${n}`, "gsimc_online_recall", (labels) => serving(labels) && labels.n === n))),
  ];
}

// means are those of a histogram over the seconds before each look.
function means(looks, metric, which) {
  let from = 0;
  return looks.slice(1).map((now, i) => {
    while (from < i && now.at - looks[from].at > averaged) from++;
    const more = (part) => sum(now, metric + part, which) - (sum(looks[from], metric + part, which) || 0);
    return [now.at, positive(more("_sum")) / more("_count")];
  });
}

// positive is a difference of counters; NaN: the server was started anew between.
const positive = (x) => (x >= 0 ? x : NaN);

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
function quantile(q, was, now) {
  const bounds = [...now.keys()].sort((a, b) => a - b);
  const count = (le) => now.get(le) - (was.get(le) ?? 0);
  const total = bounds.length ? count(bounds.at(-1)) : 0;
  if (!(total > 0)) return NaN;
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
