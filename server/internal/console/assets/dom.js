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

// ago writes how long ago a time was, in seconds since 1970.
export function ago(seconds) {
  const age = Date.now() / 1000 - seconds;
  if (!Number.isFinite(age)) return "–";
  for (const [unit, size] of [["days", 86400], ["hours", 3600], ["minutes", 60]]) {
    if (age >= 2 * size) return `${Math.floor(age / size)} ${unit} ago`;
  }
  return "just now";
}

// count writes a number of things.
export function count(n, one, many = `${one}s`) {
  return `${Number(n).toLocaleString("en")} ${Number(n) === 1 ? one : many}`;
}

// facts is a list of names and values.
export function facts(pairs) {
  return el("dl", { class: "facts" }, pairs.map(([k, v]) => el("div", {}, el("dt", {}, k), el("dd", {}, v))));
}

// tell changes a text only if it is another one: screen readers would say it again.
export function tell(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// poll asks now and again while it is started and the page is seen, and shows the answers: show is
// called with an answer, or with null and the error.
export function poll(every, ask, show) {
  let running = null; // the run that goes on; an older one ends when it sees another
  return {
    async start() {
      if (running) return;
      const own = running = {};
      while (running === own) {
        if (!document.hidden) {
          const [answer, error] = await ask().then((a) => [a, null], (e) => [null, e]);
          if (running === own) show(answer, error);
        }
        await new Promise((go) => setTimeout(go, every));
      }
    },
    stop() {
      running = null;
    },
  };
}
