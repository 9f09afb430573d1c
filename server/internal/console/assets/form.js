// Parts of forms.
import { el } from "./dom.js";

// field is an input with its label.
export function field(label, input) {
  return el("div", {}, el("label", { for: input.id }, label), input);
}

// lines is an area with one value a line, of at least so many lines; list reads it.
export function lines(id, values, least = 2) {
  return el("textarea", { id, rows: String(Math.max(least, values.length)), spellcheck: "false" }, values.join("\n"));
}

export const list = (area) => area.value.split("\n").map((line) => line.trim()).filter(Boolean);

// slider is a range with its label and its value in words.
export function slider(id, label, range, words, onChange) {
  const input = el("input", { type: "range", id, min: "0", ...range });
  const text = el("output", { for: id });
  const say = () => {
    text.textContent = words(input.value);
    input.setAttribute("aria-valuetext", text.textContent);
  };
  input.addEventListener("input", () => {
    say();
    onChange();
  });
  say();
  return {
    value: () => Number(input.value),
    set(value) {
      input.value = value;
      say();
    },
    node: el("div", { class: "slider" }, el("label", { for: id }, label), text, input),
  };
}

// choice is a selection among values with their words.
export function choice(id, options) {
  return el("select", { id }, options.map(([value, words]) => el("option", { value }, words)));
}
