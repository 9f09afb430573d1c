// The metrics of the server, as Prometheus reads them.
import { metrics } from "./api.js";

// read is how they are now.
export async function read() {
  const response = await metrics();
  return { at: Date.now() / 1000, series: parse(await response.text()) };
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

// sum adds the samples of a series whose labels are wanted; NaN: there are none.
export function sum(look, name, which = () => true) {
  const found = (look.series.get(name) ?? []).filter((s) => which(s.labels));
  return found.length ? found.reduce((total, s) => total + s.value, 0) : NaN;
}
