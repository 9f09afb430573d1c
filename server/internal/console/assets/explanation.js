// What a score is made of, as bars to both sides of zero.
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
  const largest = Math.max(...parts.map(([, value]) => Math.abs(value)), Math.abs(item.score), 1e-12);
  return el("table", {},
    el("caption", { class: "more" }, "The parts of the score add up to it.",
      local ? " Of an item of the history, the upper bar is its taste, the lower one what often follows it." : null,
      x.likeItemIds.length ? ` New, like ${x.likeItemIds.slice(0, 3).map(items.title).join("; ")}.` : null),
    el("tbody", {}, parts.map(([name, value, ofLocal]) => part(name, value, largest, { ofLocal }))),
    el("tfoot", {}, part("Score", item.score, largest, { stddev: item.scoreStddev })));
}

function part(name, value, largest, { ofLocal = 0, stddev = undefined }) {
  return el("tr", {}, el("th", { scope: "row" }, el("span", { class: "part" }, name)),
    el("td", {}, bar(value, largest, ofLocal, stddev)),
    el("td", { class: "score" }, number(value)));
}

// bar draws a value from the middle, its part of the local term below the rest, and its standard
// deviation as a line.
function bar(value, largest, ofLocal, stddev) {
  const middle = width / 2;
  const at = (x) => Math.max(0, Math.min(width, middle + x / largest * middle));
  const from = (x, y, h, name) => svg("rect",
    { x: Math.min(middle, at(x)), y, width: Math.abs(at(x) - middle), height: h, class: name });
  const sign = (x) => (x < 0 ? "less" : "more");
  const words = ofLocal ? { role: "img", "aria-label": `${number(value - ofLocal)} by its taste, ${number(ofLocal)} by what follows` }
    : { "aria-hidden": "true" };
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "bar", ...words },
    svg("line", { x1: middle, x2: middle, y1: 0, y2: height, class: "axis" }),
    ofLocal
      ? [from(value - ofLocal, 1, height / 2 - 1, sign(value - ofLocal)), from(ofLocal, height / 2, height / 2 - 1, "local")]
      : from(value, 1, height - 2, sign(value)),
    stddev ? svg("line", {
      x1: at(value - stddev), x2: at(value + stddev), y1: height / 2, y2: height / 2, class: "spread",
    }) : null);
}
