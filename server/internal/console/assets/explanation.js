// What a score is made of, as bars from zero.
import { el, number, svg } from "./dom.js";
import * as items from "./items.js";

const width = 200, height = 10;

// explanation is the table of the parts of a score, which add up to it.
export function explanation(item) {
  const x = item.explanation;
  const parts = [
    ["What anybody gets", x.base],
    ...(x.trend === 0 ? [] : [["How often it is taken now", x.trend]]),
    ...(x.again ? [[`Again, after ${x.again.events} ${x.again.events === 1 ? "event" : "events"} on it`, x.again.contribution]] : []),
    ...x.contributions.map((c) => [
      `${items.title(c.itemId)}${c.events > 1 ? ` (${c.events} events)` : ""}`, c.contribution, c.local]),
    ...(x.remainder === 0 ? [] : [["All other events", x.remainder]]),
    ...x.rules.filter((r) => r.contribution !== 0).map((r) => [
      `Rule: ${r.name || "without a name"}`, r.contribution]),
  ];
  const local = x.contributions.some((c) => c.local !== 0);
  const all = parts.reduce((sum, [, value]) => sum + Math.abs(value), 0);
  const largest = Math.max(...parts.map(([, value]) => Math.abs(value)), Math.abs(item.score), 1e-12);
  const lowers = item.score < 0 || parts.some(([, value]) => value < 0);
  const zero = lowers ? width / 2 : 0; // where bars begin
  const scale = (x) => Math.max(0, Math.min(width, zero + x / largest * (width - zero)));
  return el("table", {},
    el("caption", { class: "more" },
      "The parts add up to the score; a percentage is the share of all that raises or lowers it.",
      local ? el("span", { class: "legend" }, key("more", "taste"), key("local", "what often follows"),
        lowers ? key("less", "lowers it") : null) : null,
      x.likeItemIds.length ? ` New, like ${x.likeItemIds.slice(0, 3).map(items.title).join("; ")}.` : null),
    el("tbody", {}, parts.map(([name, value, ofLocal]) => part(name, value, scale,
      { ofLocal, share: all > 0 ? Math.abs(value) / all : 0 }))),
    el("tfoot", {}, part("Score", item.score, scale, { stddev: item.scoreStddev })));
}

// key is an entry of the legend of the bars.
function key(name, text) {
  return el("span", {}, svg("svg", { viewBox: "0 0 16 8", class: "key", "aria-hidden": "true" },
    svg("rect", { width: 16, height: 8, class: name })), text);
}

function part(name, value, scale, { ofLocal = 0, share = undefined, stddev = undefined }) {
  return el("tr", {}, el("th", { scope: "row" }, el("span", { class: "part" }, name)),
    el("td", {}, bar(value, scale, ofLocal, stddev)),
    el("td", { class: "share" }, share === undefined ? "" : `${Math.round(100 * share)} %`),
    el("td", { class: "score more" }, number(value),
      stddev === undefined ? null : ` ± ${number(Number(stddev.toPrecision(2)))}`));
}

// bar draws a value from zero, its part of the local term below the rest, and its standard deviation
// as a line.
function bar(value, scale, ofLocal, stddev) {
  const from = (x, y, h, name) => svg("rect",
    { x: Math.min(scale(0), scale(x)), y, width: Math.abs(scale(x) - scale(0)), height: h, class: name });
  const sign = (x) => (x < 0 ? "less" : "more");
  const words = ofLocal ? { role: "img", "aria-label": `${number(value - ofLocal)} by its taste, ${number(ofLocal)} by what follows` }
    : { "aria-hidden": "true" };
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", class: "bar", ...words },
    svg("line", { x1: scale(0), x2: scale(0), y1: 0, y2: height, class: "axis" }),
    ofLocal
      ? [from(value - ofLocal, 1, height / 2 - 1, sign(value - ofLocal)), from(ofLocal, height / 2, height / 2 - 1, "local")]
      : from(value, 1, height - 2, sign(value)),
    stddev ? svg("line", {
      x1: scale(value - stddev), x2: scale(value + stddev), y1: height / 2, y2: height / 2, class: "spread",
    }) : null);
}
