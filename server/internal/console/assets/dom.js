// Nodes are built here and nowhere from text, so that an id of an item can never become markup.

// el makes an element. Attributes whose name begins with "on" are listeners, and those that are
// null, undefined or false are left out. Children are nodes or texts.
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

// svg is el for drawings.
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((c) => c !== null && c !== undefined));
  return node;
}

// button makes a button; label is what a screen reader says, if that is more than the text.
export function button(text, onclick, label = null, attributes = {}) {
  return el("button", { type: "button", "aria-label": label, onclick, ...attributes }, text);
}

// complain shows an error to everybody; nothing takes it away.
export function complain(error) {
  const alert = document.getElementById("alert");
  alert.hidden = !error;
  alert.textContent = error ? error.message : "";
}

// number writes a number for people, in three digits.
export function number(x) {
  if (!Number.isFinite(x)) return "–";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1000) return Math.round(x).toLocaleString("en");
  if (size >= 0.0001) return String(Number(x.toPrecision(3)));
  return x.toExponential(1);
}

// duration writes seconds for people.
export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds >= 1 || seconds === 0) return `${number(seconds)} s`;
  if (seconds >= 0.001) return `${number(seconds * 1e3)} ms`;
  return `${number(seconds * 1e6)} µs`;
}
