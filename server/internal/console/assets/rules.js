// The view of rules: a filter or a boost is made, and seen on the lists of some users before anybody
// else gets it. What it saves is an entry of the file of --filters-file.
import * as api from "./api.js";
import { button, el } from "./dom.js";
import { choice, field, lines, list, slider } from "./form.js";
import * as items from "./items.js";
import { keptRules, note } from "./kept.js";
import { move, nobody } from "./list.js";

const listSize = 10;
const users = 3;

// rulesView fills a section and returns the view.
export function rulesView(section) {
  const said = note("rule-said");
  const rule = ruleForm(() => look());
  rule.node.addEventListener("input", () => { // a change may come with a click, below which nothing must move
    said.say("");
    mark();
  });
  let whole = null; // the rule that is shown as text in place of the form, which cannot show it
  const text = textCard(() => {
    turn(null);
    rule.node.querySelector("input").focus();
  });
  const turn = (to) => {
    whole = to;
    text.show(whole);
    rule.node.hidden = Boolean(whole);
    said.say("");
    look();
  };
  const save = button("Save", () => said.of(async () => {
    const written = rule.read();
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(written.name)) {
      throw new Error("A name has up to 64 letters, digits and, not at its beginning, dots, dashes and underscores.");
    }
    save.disabled = true;
    await kept.write(written.name, written.entry).finally(mark);
    return "Saved: it holds for the next list.";
  }), null, { id: "rule-save" });
  const kept = keptRules((of) => {
    turn(rule.fill(of) ? null : of);
    return !whole;
  }, () => mark());
  const mark = () => {
    const name = rule.name(), now = kept.get(whole?.name);
    if (whole && whole.entry !== now?.entry) turn(now ?? null); // it was changed, or deleted
    save.textContent = kept.replaces(name) ? `Replace ${name}` : "Save";
    if (kept.changed(name)) said.say(`Somebody else has changed ${name} since it was opened. Open it again to see the change, or replace it.`, true);
    save.disabled = !kept.writable();
  };
  rule.node.append(el("div", { class: "row" }, save), said.node);
  const names = Array.from({ length: users }, (_, i) => el("input", {
    id: `rule-user-${i}`, autocomplete: "off", spellcheck: "false", placeholder: "anybody", onchange: () => look(),
  }));
  const status = el("p", { role: "status", class: "more", id: "rule-status" });
  const lists = el("div", { class: "stack" });
  const entry = el("pre", { class: "card", id: "rule-entry", tabindex: "0" });
  const preview = api.latest(async (signal) => {
    try {
      const written = whole ? asText(whole) : rule.read();
      entry.textContent = `${JSON.stringify(written.name)}: ${written.entry}`;
      const whose = new Set(names.map((name) => name.value.trim()));
      const cards = await Promise.all([...whose].map((user) => compare(user, written.parts, signal)));
      if (signal.aborted) return;
      lists.replaceChildren(...cards);
      status.textContent = whole ? "The lists without this rule and with it." : "Nothing of this is kept until it is saved.";
    } catch (error) {
      if (!signal.aborted) status.textContent = error.message;
    }
  });
  const look = () => preview();
  section.append(
    el("div", { class: "column" }, kept.node, text.node, rule.node, el("div", { class: "card fields" }, el("h2", {}, "Whose lists"),
      names.map((name, i) => field(`User ${i + 1}`, name)))),
    el("div", { class: "column" }, status, lists, el("h2", {}, "The entry"), entry));
  return {
    show() {
      look();
      kept.list();
    },
    rest() {
      preview.abort();
      kept.list.abort();
    },
  };
}

// textCard shows a rule that the form cannot show.
function textCard(onBack) {
  const title = el("h2"), text = el("pre");
  const node = el("div", { class: "card fields", id: "rule-text", hidden: true }, title, text,
    el("p", { class: "more" }, "The form cannot show this rule. It is changed in the file of the server."),
    el("div", { class: "row" }, button("Back to the form", onBack, null, { class: "quiet" })));
  return { node, show(rule) {
    title.textContent = rule?.name ?? "";
    text.textContent = rule?.entry ?? "";
    node.hidden = !rule;
  } };
}

// asText is a rule of the server as an entry of the file, and as parts of a request.
function asText({ name, entry, boost }) {
  const lines = entry.trimEnd();
  return { name, entry: lines.includes("\n") ? `\n  ${lines.replaceAll("\n", "\n  ")}` : lines,
    parts: boost ? { namedBoosts: [name] } : { filter: { namedFilters: [name] } } };
}

// compare shows the list of a user before and after.
async function compare(user, parts, signal) {
  const subject = { ...(user ? { userId: user } : nobody), pageSize: listSize };
  const answers = await Promise.all([api.recommend(subject, signal), api.recommend({ ...subject, ...parts }, signal)]);
  const [before, after] = answers.map((answer) => answer.items.map((item) => item.itemId));
  await items.learn([...before, ...after]);
  const side = (name, ids, mark) => el("div", {}, el("h3", {}, name), ids.length
    ? el("ol", { class: "list" }, ids.map((id, at) => el("li", {}, el("div", { class: "entry plain" },
      el("span", { class: "name" }, items.describe(id)), el("span", { class: "moved" }, mark(id, at))))))
    : el("p", { class: "more" }, "No item is left."));
  return el("div", { class: "card" }, el("h2", {}, user || "Anybody"), el("div", { class: "sides" },
    side("Before", before, (id) => (after.includes(id) ? "" : "goes")),
    side("After", after, (id, at) => move(before, id, at))));
}

// ruleForm is the form of a rule.
function ruleForm(onChange) {
  const texts = Object.fromEntries(["any_categories", "no_categories", "any_labels", "no_labels"]
    .map((name) => [name, lines(`rule-${name}`, [], 1)]));
  const text = (id, attributes = {}) => el("input", { id, autocomplete: "off", spellcheck: "false", ...attributes });
  const name = text("rule-name", { value: "new_rule" });
  const kind = choice("rule-kind", [["boost", "raises or lowers items"], ["filter", "lets only these items pass"]]);
  const number = text("rule-number"), from = text("rule-from", { inputmode: "decimal" }), to = text("rule-to", { inputmode: "decimal" });
  const weight = slider("rule-weight", "By", { min: "-3", max: "3", step: "0.1", value: "1" },
    (x) => `${x} × what the first is ahead of the 100th`, () => {});
  const curve = {
    number: text("rule-by"), origin: text("rule-origin", { inputmode: "decimal" }), scale: text("rule-scale", { inputmode: "decimal" }),
    shape: choice("rule-shape", [["linear", "the more the better"], ["log", "the more the better, ever less so"],
      ["gauss", "near the origin"], ["age", "young, by seconds since 1970"]]),
  };
  const boost = el("div", { class: "fields" }, weight.node, field("In proportion to a number, if to any", curve.number),
    field("How", curve.shape), field("Origin", curve.origin), field("Scale", curve.scale));
  const node = el("form", { class: "card fields", onsubmit: (event) => event.preventDefault(), onchange: () => {
    boost.hidden = kind.value !== "boost";
    onChange();
  } }, el("h2", {}, "A rule"), field("Name", name), field("It", kind),
  field("Items of any of these categories, one a line", texts.any_categories),
  field("and of none of these", texts.no_categories), field("with any of these labels", texts.any_labels),
  field("and none of these", texts.no_labels), field("with a number, such as price", number),
  field("from", from), field("to", to), boost);
  const read = () => {
    const conditions = conditionsOf(texts, number, from, to);
    if (kind.value === "filter") return written(name, conditions, {}, { filter: conditions });
    const by = curveOf(curve), more = { weight: weight.value(), ...(by ? { by } : {}) };
    if (!more.weight) throw new Error("A weight of 0 changes nothing.");
    const json = by ? { by: { ...by, shape: `SHAPE_${by.shape.toUpperCase()}` } } : {};
    return written(name, conditions, more, { boosts: [{ name: name.value.trim().slice(0, 16), filter: conditions, ...more, ...json }] });
  };
  // fill shows a rule of the server, and returns whether the form can.
  const fill = (rule) => {
    const before = [...node.elements].map((input) => [input, input.value]);
    const of = ofFile(rule), range = of.ranges?.[0], by = of.by;
    name.value = rule.name;
    kind.value = rule.boost ? "boost" : "filter";
    boost.hidden = !rule.boost;
    for (const [key, area] of Object.entries(texts)) area.value = (of[key] ?? []).join("\n");
    [[number, range?.name], [from, range?.gte], [to, range?.lte], [curve.number, by?.number], [curve.origin, by?.origin],
      [curve.scale, by?.scale], [curve.shape, by?.shape ?? "linear"]].forEach(([input, value]) => (input.value = value ?? ""));
    weight.set(of.weight ?? 1);
    try {
      if (JSON.stringify(plain(read().rule)) === JSON.stringify(plain(of))) return true;
    } catch {
      // such as a weight that the slider does not have
    }
    for (const [input, value] of before) input.value = value;
    weight.set(weight.value());
    boost.hidden = kind.value !== "boost";
    return false;
  };
  return { node, read, fill, name: () => name.value.trim() };
}

// ofFile is a rule of the server by the names of the file.
function ofFile({ filter, boost }) {
  if (!boost) return plain(filter);
  const by = boost.by && { ...boost.by, shape: boost.by.shape.replace("SHAPE_", "").toLowerCase(), origin: boost.by.origin || null };
  return plain({ ...boost.filter, weight: boost.weight, by });
}

// plain is a value without what is empty, in one order and by the names of the file.
function plain(value) {
  if (Array.isArray(value)) return value.map(plain);
  if (!value || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).filter(([, part]) => part !== null && part !== undefined && part.length !== 0)
    .map(([key, part]) => [key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), plain(part)]).sort());
}

// written is a rule as an entry of the file, and as parts of a request. Both have the same names.
function written(name, conditions, more, parts) {
  const rule = { ...conditions, ...more };
  const flow = (value) => (Array.isArray(value) ? `[${value.map(flow).join(", ")}]`
    : value && typeof value === "object" ? `{${Object.entries(value).map(([k, v]) => `${k}: ${flow(v)}`).join(", ")}}`
      : JSON.stringify(value));
  return { name: name.value.trim(), entry: flow(rule), rule, parts };
}

// conditionsOf are those of a filter, by their names in the file and in the protocol.
function conditionsOf(texts, number, from, to) {
  const conditions = Object.fromEntries(Object.entries(texts).map(([name, area]) => [name, list(area)])
    .filter(([, values]) => values.length));
  const name = number.value.trim();
  const range = { name, ...bound("gte", "From", from), ...bound("lte", "To", to) };
  if (!name && Object.keys(range).length > 1) throw new Error("Say which number is to be in the range.");
  return name ? { ...conditions, ranges: [range] } : conditions;
}

function bound(key, label, input) {
  return input.value.trim() === "" ? {} : { [key]: numeric(label, input) };
}

// curveOf is the curve of a boost, null if there is none.
function curveOf({ number, shape, origin, scale }) {
  const name = number.value.trim();
  if (!name) return null;
  return { number: name, shape: shape.value, ...bound("origin", "Origin", origin), scale: numeric("Scale", scale) };
}

function numeric(label, input) {
  const value = Number(input.value);
  if (input.value.trim() === "" || !Number.isFinite(value)) throw new Error(`${label} must be a number.`);
  return value;
}
