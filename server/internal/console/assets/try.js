// The view that shows how a list follows from what somebody likes.
import * as api from "./api.js";
import { spectrum } from "./chart.js";
import { button, complain, el, number } from "./dom.js";
import { explanation } from "./explanation.js";
import * as items from "./items.js";

const listSize = 20;
const explainedItems = 12; // of the history, in each explanation

// tryView fills a section and returns the view.
export function tryView(section) {
  const state = {
    user: "", // whose stored history the list is made of; empty: nobody's
    history: [], // ids that were liked here, the oldest first
    before: [], // ids of the list before this one
    opened: new Set(), // ids whose explanation is open
    features: { diversity: false },
  };
  const parts = build(state);
  section.append(parts.find, parts.list, parts.side);
  parts.search.onInput();
  return { show: parts.show, rest() {} };
}

function build(state) {
  const ui = {};
  const refresh = latest(async (signal) => draw(ui, state, await ask(ui, state, signal)));
  ui.refresh = () => refresh().catch((error) => complain(error));
  ui.like = (id) => like(ui, state, id);
  ui.search = searchBox(ui);
  ui.history = historyBox(ui, state);
  ui.controls = controlBox(ui);
  ui.status = el("p", { role: "status", "aria-live": "polite", id: "list-status" });
  ui.items = el("ol", { class: "list", "aria-labelledby": "list-title" });
  ui.find = el("div", { class: "column" }, ui.search.node, ui.history.node);
  ui.list = el("div", { class: "column wide" },
    el("h2", { id: "list-title" }, "The list"), ui.status, ui.items);
  ui.spectrum = el("div", {});
  ui.side = el("div", { class: "column" }, ui.controls.node,
    el("div", { class: "card" }, el("h2", {}, "Energy by frequency"), ui.spectrum));
  ui.show = (user) => {
    if (user) ui.history.load(user);
    else ui.refresh();
    ui.search.onInput();
  };
  return ui;
}

// latest lets a newer run of fn end the older one, so that no answer is shown behind a newer one.
function latest(fn) {
  let running = null;
  return async () => {
    running?.abort();
    const own = new AbortController();
    running = own;
    try {
      await fn(own.signal);
    } catch (error) {
      if (!own.signal.aborted) throw error;
    }
  };
}

// searchBox finds items by what their ids begin with, and by their titles.
function searchBox(ui) {
  const field = el("input", { type: "search", id: "search", autocomplete: "off", spellcheck: "false" });
  const found = el("ul", { class: "found", "aria-label": "Items found" });
  const count = el("p", { role: "status", class: "more" });
  const run = latest(async (signal) => {
    const answer = await api.search(field.value.trim(), signal);
    if (signal.aborted) return;
    items.note(answer.items);
    count.textContent = field.value.trim()
      ? `${answer.items.length} found`
      : "The most popular items; type to find others.";
    found.replaceChildren(...answer.items.map(({ item, inModel }) => el("li", {},
      el("span", {}, items.describe(item.itemId)),
      inModel ? button("Like", () => ui.like(item.itemId), `Like ${items.title(item.itemId)}`)
        : el("span", { class: "more" }, "not in the model"))));
  });
  const onInput = () => run().catch((error) => {
    found.replaceChildren();
    if (error.status === 403) count.textContent = "The token may not look at items: type an id and press Enter.";
    else complain(error);
  });
  field.addEventListener("input", onInput);
  const form = el("form", {
    onsubmit: (event) => {
      event.preventDefault();
      if (field.value.trim()) ui.like(field.value.trim());
    },
  }, el("label", { for: "search" }, "Find items"), field);
  return { onInput, node: el("div", { class: "card" }, form, count, found) };
}

// historyBox shows what the list is made of.
function historyBox(ui, state) {
  const liked = el("ul", { class: "found", "aria-label": "Liked items" });
  const note = el("p", { class: "more" });
  const name = el("input", { id: "load-user", autocomplete: "off", spellcheck: "false" });
  const real = el("input", { type: "checkbox", id: "observe" });
  const realRow = el("div", { class: "row", hidden: true }, real,
    el("label", { for: "observe" }, "Send likes as events, for good"));
  const box = { real: () => real.checked };
  box.draw = () => {
    note.textContent = state.user ? `The history of ${state.user}` +
      (state.history.length ? ", and what was liked here:" : ".")
      : state.history.length ? "What was liked here; nothing is stored." : "Nothing is liked yet.";
    realRow.hidden = !state.user;
    liked.replaceChildren(...state.history.map((id, at) => el("li", {},
      el("span", {}, items.describe(id)),
      button("Remove", () => {
        state.history.splice(at, 1);
        ui.refresh();
      }, `Remove ${items.title(id)}`))));
  };
  box.load = async (user) => {
    state.user = user;
    state.history = [];
    real.checked = false;
    name.value = user;
    ui.refresh();
  };
  const form = el("form", {
    class: "row",
    onsubmit: (event) => {
      event.preventDefault();
      box.load(name.value.trim());
    },
  }, el("label", { for: "load-user" }, "Stored user"), name, el("button", { type: "submit" }, "Load"));
  const clear = button("Start anew", () => box.load(""));
  box.node = el("div", { class: "card" }, el("h2", {}, "History"), note, liked, clear, form, realRow);
  return box;
}

// controlBox has what changes the order of the list.
function controlBox(ui) {
  const strategy = el("select", { id: "strategy" },
    el("option", { value: "" }, "By score"),
    el("option", { value: "thompson" }, "Thompson: a draw of the taste"),
    el("option", { value: "upper" }, "Upper confidence: score + β·σ"));
  const strength = el("input", { type: "range", id: "strength", min: "0", max: "5", step: "0.1", value: "1" });
  const strengthText = el("output", { for: "strength" }, "1");
  const again = button("Draw anew", () => {
    seed = String(1 + Math.floor(Math.random() * 2 ** 31));
    ui.refresh();
  });
  let seed = "1";
  const onChange = () => {
    strengthText.textContent = strength.value;
    strength.disabled = !strategy.value;
    again.hidden = strategy.value !== "thompson";
    ui.refresh();
  };
  strategy.addEventListener("change", onChange);
  strength.addEventListener("input", onChange);
  strength.disabled = again.hidden = true;
  const uncertainty = el("meter", { min: "0", max: "1", value: "1", id: "uncertainty" });
  const uncertaintyText = el("p", { class: "more" });
  return {
    exploration() {
      if (strategy.value === "thompson") return { thompson: { seed, scale: Number(strength.value) } };
      if (strategy.value === "upper") return { upperConfidence: { beta: Number(strength.value) } };
      return undefined;
    },
    draw(answer) {
      const share = answer?.uncertainty;
      uncertainty.value = share ?? 1;
      uncertaintyText.textContent = share === undefined
        ? "This model does not tell, or nobody is chosen."
        : `${number(100 * share)} % of what is open about a new user is open still.`;
    },
    node: el("div", { class: "card" }, el("h2", {}, "Order"),
      el("label", { for: "strategy" }, "Explore"), strategy,
      el("label", { for: "strength" }, "Strength"), " ", strengthText, strength, again,
      el("h2", {}, "Uncertainty"),
      el("label", { for: "uncertainty" }, "How little is known"), uncertainty, uncertaintyText),
  };
}

// like adds an item to the history, or sends it as an event.
async function like(ui, state, id) {
  complain(null);
  try {
    if (state.user && ui.history.real()) await api.observe({ userId: state.user, itemId: id });
    else state.history.push(id);
  } catch (error) {
    complain(error);
    return;
  }
  ui.refresh();
}

// ask asks for the list. Null: there is nobody to make one for.
async function ask(ui, state, signal) {
  const entries = state.history.map((itemId) => ({ itemId }));
  if (!state.user && !entries.length) return null;
  const subject = !state.user ? { history: { entries } }
    : { userId: state.user, ...(entries.length ? { extraHistory: { entries } } : {}) };
  const [answer, energy] = await Promise.all([
    api.recommend({
      ...subject, pageSize: listSize, explain: explainedItems, exploration: ui.controls.exploration(),
    }, signal),
    api.spectrum(subject, signal),
  ]);
  answer.energy = energy;
  const ids = answer.items.flatMap((item) =>
    [item.itemId, ...(item.explanation?.contributions ?? []).map((c) => c.itemId)]);
  await items.learn([...ids, ...state.history]);
  if (signal.aborted) throw new DOMException("a newer list is asked for", "AbortError");
  return answer;
}

// draw shows an answer.
function draw(ui, state, answer) {
  complain(null);
  ui.history.draw();
  ui.controls.draw(answer);
  ui.spectrum.replaceChildren(answer ? spectrum(answer.energy)
    : el("p", { class: "more" }, "What the model sees in a history, and what it makes of it."));
  const focused = [...ui.items.querySelectorAll("button")].indexOf(document.activeElement);
  const list = answer?.items ?? [];
  const added = list.filter((item) => !state.before.includes(item.itemId)).length;
  ui.status.textContent = answer ? told(state, answer, added) : "Like an item, or load a stored user.";
  const top = Math.max(...list.map((item) => Math.abs(item.score)), 1e-12);
  ui.items.replaceChildren(...list.map((item, at) => row(ui, state, item, at, top)));
  state.before = list.map((item) => item.itemId);
  if (focused >= 0) { // the row that was liked is gone: the next one has its place
    const buttons = ui.items.querySelectorAll("button");
    buttons[Math.min(focused, buttons.length - 1)]?.focus();
  }
}

// told says in a sentence what has happened to the list.
function told(state, answer, added) {
  const popular = answer.items.some((item) => item.source === "RESULT_SOURCE_POPULAR");
  const whose = state.user ? `${state.user}, revision ${answer.userRevision}` : `${state.history.length} likes`;
  const why = answer.degradations.map((d) => d.replace("DEGRADATION_", "").replaceAll("_", " ").toLowerCase());
  return `${answer.items.length} ${popular ? "popular " : ""}items for ${whose}` +
    (state.before.length ? `; ${added} were not on the list before` : "") +
    `${why.length ? ` (${why.join(", ")})` : ""}.`;
}

// row is an entry of the list with its explanation.
function row(ui, state, item, at, top) {
  const id = item.itemId, name = items.title(id);
  const was = state.before.indexOf(id);
  const moved = !state.before.length || was === at ? "" : was < 0 ? "new" : was > at ? `▲ ${was - at}` : `▼ ${at - was}`;
  const details = item.explanation ? el("details", {
    open: state.opened.has(id),
    ontoggle: (event) => state.opened[event.target.open ? "add" : "delete"](id),
  }, el("summary", { "aria-label": `Why ${name}` }, "Why"), explanation(item)) : null;
  return el("li", { class: moved === "new" ? "fresh" : null },
    el("div", { class: "entry" },
      el("span", { class: "name" }, items.describe(id)),
      el("span", { class: "moved" }, moved),
      el("meter", { min: "0", max: String(top), value: String(Math.max(item.score, 0)), "aria-label": `Score of ${name}` }),
      el("span", { class: "score" }, number(item.score),
        item.scoreStddev === undefined ? null : el("span", { class: "more" }, ` ± ${number(item.scoreStddev)}`)),
      button("Like", () => ui.like(id), `Like ${name}`)),
    details);
}
