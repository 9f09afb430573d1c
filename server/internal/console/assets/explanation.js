// What a score is made of, as bars to both sides of zero.
import { el, number, svg } from "./dom.js";
import * as items from "./items.js";

const width = 200, height = 10;

// explanation is the table of the parts of a score, which add up to it.
export function explanation(item) {
  const x = item.explanation;
  const parts = [
    ["What anybody gets", x.base],
    ...x.contributions.map((c) => [
      `${items.title(c.itemId)}${c.events > 1 ? ` (${c.events} events)` : ""}`, c.contribution]),
    ...(x.remainder === 0 ? [] : [["All other events", x.remainder]]),
  ];
  const largest = Math.max(...parts.map(([, value]) => Math.abs(value)), Math.abs(item.score), 1e-12);
  return el("table", {},
    el("caption", { class: "more" }, "The parts of the score add up to it."),
    el("tbody", {}, parts.map(([name, value]) => part(name, value, largest))),
    el("tfoot", {}, part("Score", item.score, largest, item.scoreStddev)));
}

function part(name, value, largest, stddev = undefined) {
  return el("tr", {}, el("th", { scope: "row" }, name),
    el("td", {}, bar(value, largest, stddev)),
    el("td", { class: "score" }, number(value)));
}

// bar draws a value from the middle, and its standard deviation as a line.
function bar(value, largest, stddev) {
  const middle = width / 2, length = Math.abs(value) / largest * middle;
  const at = (x) => Math.max(0, Math.min(width, middle + x / largest * middle));
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "bar", "aria-hidden": "true" },
    svg("line", { x1: middle, x2: middle, y1: 0, y2: height, class: "axis" }),
    svg("rect", {
      x: value < 0 ? middle - length : middle, y: 1, width: length, height: height - 2,
      class: value < 0 ? "less" : "more",
    }),
    stddev ? svg("line", {
      x1: at(value - stddev), x2: at(value + stddev), y1: height / 2, y2: height / 2, class: "spread",
    }) : null);
}
