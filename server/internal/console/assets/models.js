// The view of the models that serve: what they are, how they do, and what an A/B test has shown.
import { models } from "./api.js";
import { ago, count, duration, el, facts, number, poll, svg, tell } from "./dom.js";
import { read, sum } from "./series.js";
import { cards } from "./table.js";

const every = 10_000; // milliseconds between two looks

// modelsView fills a section and returns the view.
export function modelsView(section) {
  const held = el("div", { class: "stack" });
  const status = el("p", { role: "status", class: "more" }, "Waiting for the first look.");
  section.append(status, held);
  const looks = poll(every, () => Promise.all([models(), read()]), (answer, error) => {
    tell(status, error ? `The models cannot be had now. ${error.message}` : "");
    if (error || held.contains(document.activeElement)) return; // somebody reads the table
    const [list, metrics] = answer;
    held.replaceChildren(...list.models.map((arm) => modelCard(arm, list.models.length, metrics)),
      ...(list.models.length > 1 ? [testCard(list.models)] : []), retraining(metrics));
  });
  return { show: looks.start, rest: looks.stop };
}

const when = (time) => (time ? `${ago(Date.parse(time) / 1000)}, ${time.slice(0, 16).replace("T", " ")} UTC` : "–");
const percent = (x) => `${number(x)} %`;
const whole = (x) => Number(x).toLocaleString("en");

// modelCard says what the model of an arm is, and how well it foresaw what users took next.
function modelCard(arm, arms, metrics) {
  const of = arm.model ?? {}, label = arm.arm === "main" ? "serving" : arm.arm;
  const online = (name, n) => sum(metrics, name, (l) => (l.model ?? "serving") === label && (!n || l.n === n));
  const events = online("gsimc_online_rank_count") || 0;
  const title = arms > 1 ? `${arm.arm}: ${percent(arm.sharePercent)} of the users` : "The model";
  return el("div", { class: "card" }, el("h2", {}, title),
    arm.canary?.returned ? el("p", {}, `It was found worse than main, which has its ${percent(arm.configuredSharePercent)} again.`) : null,
    facts([["Version", of.version || "no model yet"], ["Trained", when(of.trainTime)], ["Loaded", when(of.loadTime)],
      ["Items", whole(of.itemCount ?? 0)], ["Rank", whole(of.rank ?? 0)], ["Graph", of.graph || "–"],
      ["Dynamics", of.dynamics || "–"], ...(of.filter ? [["Filter", of.filter]] : []),
      ["What came next, by mean rank", events ? `${number(online("gsimc_online_rank_sum") / events)} of ${whole(of.itemCount)}` : "nothing yet"],
      ["On the first 10", events ? percent(100 * online("gsimc_online_recall", "10")) : "–"],
      ["On the first 100", events ? percent(100 * online("gsimc_online_recall", "100")) : "–"],
      ["Measured on", count(events, "event")]]));
}

// testCard compares the arms by what their users did with their lists.
function testCard(arms) {
  return el("div", { class: "card" }, el("h2", {}, "The A/B test"),
    el("p", { class: "more" }, "Hits are events on items of a list that carried a recommendation_id, since this server was ",
      "started or took other shares; `gsimc models --with` adds servers up. Intervals hold at all moments at once: looking often does no harm."),
    ...arms.slice(1).map(verdict),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Counts by arm" },
      cards(columns.map(([h]) => h), arms.map((arm) => columns.map(([, value], i) =>
        (i ? value(arm.outcome ?? {}) : arm.arm))), 0)));
}

const columns = [
  ["Arm", null],
  ["Users", (o) => whole(o.userCount ?? 0)],
  ["Lists", (o) => whole(o.listCount ?? 0)],
  ["Popular", (o) => (Number(o.listCount) ? percent(100 * o.popularListCount / o.listCount) : "–")],
  ["Failed", (o) => (Number(o.callCount) ? percent(100 * o.failedCallCount / o.callCount) : "–")],
  ["Mean time", (o) => (Number(o.callCount) ? duration(o.callSeconds / o.callCount) : "–")],
  ["Hits", (o) => whole(o.hitCount ?? 0)],
  ["By type", (o) => Object.entries(o.hitsByType ?? {}).map(([type, n]) => hits(type, n, o.valueByType?.[type])).join(", ") || "–"],
  ["Hits per user", (o) => (o.rate === undefined ? "–" : `${number(o.rate)} (${number(o.rateLow)} to ${number(o.rateHigh)})`)],
];

// hits are those of a type, with the sum of their values unless that is their number.
function hits(type, n, value) {
  const places = (x) => Number(x).toLocaleString("en", { maximumFractionDigits: 6 });
  return `${type} ${whole(n)}${value === undefined || places(value) === places(n) ? "" : ` (value ${places(value)})`}`;
}

// verdict says in words and as a picture how an arm compares with main.
function verdict({ arm, outcome }) {
  const v = outcome?.verdict;
  if (!v) return el("p", {}, `${arm}: too few users or hits yet to compare it with main.`);
  const shown = v.pValue <= 0.05;
  const size = `${number(Math.abs(v.difference))} hits per user ${v.difference < 0 ? "fewer" : "more"} than main`;
  const needed = Number(v.usersNeeded);
  return el("div", { class: "verdict" },
    el("p", {}, el("strong", {}, `${arm}: ${shown ? (v.difference < 0 ? "worse" : "better") : "no difference shown yet"}. `),
      `${size}; between ${number(v.differenceLow)} and ${number(v.differenceHigh)}, p ${number(v.pValue)}.`,
      shown ? null : needed > 0 ? ` To show such a difference takes some ${whole(needed)} more users` +
        `, to show one of 5 % some ${whole(v.usersNeededForMinEffect)}.` : null),
    interval(v));
}

// interval draws the difference with its interval and zero.
function interval({ difference, differenceLow, differenceHigh }) {
  const width = 320, height = 28, far = Math.max(Math.abs(differenceLow), Math.abs(differenceHigh), 1e-12);
  const x = (value) => width / 2 + value / far * (width / 2 - 12);
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "interval", role: "img", "aria-label":
    `From ${number(differenceLow)} to ${number(differenceHigh)}, at ${number(difference)}; zero is in the middle` },
  svg("line", { x1: width / 2, x2: width / 2, y1: 0, y2: 16, class: "axis" }),
  svg("text", { x: width / 2, y: height - 2, class: "tick middle" }, "0: as main"),
  svg("line", { x1: x(differenceLow), x2: x(differenceHigh), y1: 8, y2: 8, class: "line" }),
  svg("circle", { cx: x(difference), cy: 8, r: 4, class: "after" }));
}

// retraining says when the server last trained a model of its own, and how the data have moved.
function retraining(metrics) {
  const results = (metrics.series.get("gsimc_retrain_total") ?? []).filter((s) => s.value > 0);
  const last = sum(metrics, "gsimc_retrain_last_success_timestamp_seconds");
  return el("div", { class: "card" }, el("h2", {}, "Since the training"), facts([
    ["Last model that this server trained", last > 0 ? ago(last) : "none: --retrain-every lets it"],
    ...results.map(({ labels, value }) => [`Trainings that ended: ${labels.outcome}`, whole(value)]),
    ["Explained of new events, 1 at the training", number(sum(metrics, "gsimc_drift_energy_ratio"))],
    ["New items with events", whole(sum(metrics, "gsimc_new_items") || 0)],
    ["New items that the model was extended by", whole(sum(metrics, "gsimc_extended_items") || 0)],
  ]));
}
