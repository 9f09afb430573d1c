// The rules that the server keeps in its file: they are seen, opened, saved and deleted.
import * as api from "./api.js";
import { button, el } from "./dom.js";

// keptRules is a card with them. open is called with one that somebody wants to see, and returns
// whether the form shows it; drawn is called when there are others.
export function keptRules(open, drawn) {
  const rows = el("ul", { class: "found", id: "kept-rules" });
  const hint = el("p", { class: "more" });
  const said = note();
  const title = el("h2", { tabindex: "-1" }, "Kept by the server");
  const which = el("summary");
  const remove = el("details", { id: "rule-delete", hidden: true }, which,
    el("p", {}, "Requests that name it are refused from then on."), button("Delete it", () => said.of(async () => {
      await write(opened, "");
      title.focus();
      return "Deleted.";
    }), null, { class: "danger" }));
  let rules = new Map(), version = "", opened = "";
  let seen; // the entry of the opened rule that the form began with, while that is known
  let own; // the version of the own last write, until another rule is opened
  const list = api.latest(async (signal) => {
    let answer = { filters: [], version: "" }, why = "This server has no file of rules (--filters-file): the entry of a rule can be copied into one.";
    try {
      answer = await api.listRules(signal);
    } catch (error) {
      why = `They cannot be seen: ${error.message}`;
    }
    if (signal.aborted) return;
    version = answer.version;
    rules = new Map(answer.filters.map((rule) => [rule.name, rule]));
    if (version === own) seen = rules.get(opened)?.entry;
    hint.textContent = !version ? why : rules.size ? "" : "There are none yet.";
    hint.hidden = !hint.textContent;
    draw();
  });
  const draw = () => {
    rows.replaceChildren(...[...rules.values()].map((rule) => el("li", {},
      el("span", {}, rule.name, " ", el("span", { class: "more" }, rule.boost ? "boost" : "filter")),
      button("Open", () => show(rule), `Open ${rule.name}`, { "aria-pressed": String(rule.name === opened) }))));
    remove.hidden = !rules.has(opened);
    remove.open = false;
    which.textContent = `Delete ${opened}`;
    drawn();
  };
  const show = (rule) => {
    opened = rule.name;
    own = undefined;
    said.say("");
    seen = open(rule) ? rule.entry : undefined;
    draw();
    rows.querySelector("[aria-pressed=true]").focus(); // the button that was pressed is another one by now
  };
  // write saves an entry, or deletes it if it is empty.
  const write = async (name, text) => {
    try {
      ({ version } = await api.saveRule(name, text, version));
      [opened, seen, own] = [name, undefined, version];
    } catch (error) {
      if (error.reason !== "FILTERS_CHANGED") throw error;
      throw new Error("Somebody else has changed the rules, so nothing was written. The list is new now: look at it, and try again.");
    } finally {
      await list();
    }
  };
  return {
    node: el("div", { class: "card" }, title, hint, rows, remove, said.node),
    list, write,
    writable: () => version !== "",
    get: (name) => rules.get(name),
    // A list that is new has a version that is new, which no longer tells the server of the change.
    replaces: (name) => rules.has(name) && (name !== opened || rules.get(name).entry !== seen),
    changed: (name) => rules.has(name) && name === opened && seen !== undefined && rules.get(name).entry !== seen,
  };
}

// note is a line that tells how something went.
export function note(id) {
  const node = el("p", { role: "status", class: "saved", id });
  const say = (text, bad = false) => {
    node.textContent = text;
    node.classList.toggle("refused", bad);
  };
  return { node, say, of: async (work) => {
    try {
      say(await work());
    } catch (error) {
      say(error.message, true);
    }
  } };
}
