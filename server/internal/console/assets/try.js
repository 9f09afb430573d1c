// The view that shows how a list follows from what somebody likes.
import * as api from "./api.js";
import { spectrum } from "./chart.js";
import { button, complain, el, number } from "./dom.js";
import { explanation } from "./explanation.js";
import * as items from "./items.js";

const listSize = 20;
const explainedItems = 12; // of the history, in each explanation
const shownFound = 20; // of the items found
const shownEvents = 10; // of a stored history

// tryView fills a section and returns the view.
export function tryView(section) {
  const state = {
    user: "", // whose stored history the list is made of; empty: nobody's
    history: [], // ids that were liked here, the oldest first
    before: [], // ids of the list before this one
    opened: new Set(), // ids whose explanation is open
    model: "", // version of the model that made the list
  };
  const parts = build(state);
  section.append(parts.find, parts.list, parts.side);
  parts.search.onInput();
  return { show: parts.show, rest() {} };
}

function build(state) {
  const ui = {};
  const refresh = api.latest(async (signal) => {
    ui.items.setAttribute("aria-busy", "true"); // what is on the list will be replaced
    try {
      draw(ui, state, await ask(ui, state, signal));
    } finally {
      if (!signal.aborted) ui.items.removeAttribute("aria-busy");
    }
  });
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
    if (user && user !== state.user) ui.history.load(user);
    else ui.refresh();
    ui.search.onInput();
  };
  return ui;
}

// searchBox finds items by what their ids begin with, and by their titles. Those that the model
// knows come first, and among them those that many users have.
function searchBox(ui) {
  const field = el("input", {
    type: "search", id: "search", autocomplete: "off", spellcheck: "false", maxlength: "256",
  });
  const found = el("ul", { class: "found", "aria-label": "Items found" });
  const count = el("p", { role: "status", class: "more" });
  const run = api.latest(async (signal) => {
    const text = field.value.trim();
    const answer = await api.search(text, signal);
    if (signal.aborted) return;
    items.note(answer.items);
    const best = answer.items.sort((a, b) => b.inModel - a.inModel || b.trainUsers - a.trainUsers)
      .slice(0, shownFound);
    count.textContent = foundText(text, answer.items.length);
    found.replaceChildren(...best.map(({ item, inModel }) => el("li", {},
      el("span", {}, items.describe(item.itemId)),
      inModel ? button("Like", () => ui.like(item.itemId), `Like ${items.title(item.itemId)}`, { class: "quiet" })
        : el("span", { class: "more" }, "not in the model"))));
  });
  const onInput = () => run().catch((error) => {
    found.replaceChildren();
    if (error.status === 403) count.textContent = "The token may not look at items: type an id and press Enter.";
    else complain(error);
  });
  field.addEventListener("input", onInput);
  // Enter likes the item that is typed as a whole, or goes to the first that is found.
  const onEnter = async () => {
    const id = field.value.trim();
    await onInput();
    const first = found.querySelector("button");
    if (first && !items.isKnown(id)) first.focus();
    else if (id) ui.like(id);
  };
  const form = el("form", {
    onsubmit: (event) => {
      event.preventDefault();
      onEnter();
    },
  }, el("label", { for: "search" }, "Find items"), field);
  return { onInput, node: el("div", { class: "card" }, form, count, found) };
}

function foundText(text, n) {
  if (!text) return n ? "The most popular items; type to find others." : "There are no items yet.";
  if (!n) return `Nothing found. Enter likes “${text}” as the id of an item.`;
  if (n <= shownFound) return `${n} found`;
  return `${n < 100 ? n : "100 or more"} found, the most popular ${shownFound}:`;
}

// historyBox shows what the list is made of.
function historyBox(ui, state) {
  const liked = el("ul", { class: "found", "aria-label": "Liked items" });
  const stored = el("ul", { class: "found all", "aria-label": "Newest stored events" });
  const note = el("p", { class: "more" });
  const name = el("input", { id: "load-user", autocomplete: "off", spellcheck: "false" });
  const real = el("input", { type: "checkbox", id: "observe" });
  const realRow = el("div", { class: "row", hidden: true }, real,
    el("label", { for: "observe" }, "Send likes as events, for good"));
  const box = { real: () => real.checked };
  const clear = button("Start anew", () => box.load(""), null, { class: "quiet" });
  box.draw = (events) => {
    note.textContent = historyText(state);
    realRow.hidden = !state.user;
    clear.hidden = !state.user && !state.history.length;
    liked.replaceChildren(...state.history.map((id, at) => el("li", {},
      el("span", {}, items.describe(id)),
      button("Remove", () => {
        state.history.splice(at, 1);
        ui.refresh();
      }, `Remove ${items.title(id)}`, { class: "quiet" }))));
    stored.replaceChildren(...events.map(({ event }) => el("li", {}, el("span", {}, items.describe(event.itemId)))));
    for (const list of [liked, stored]) list.hidden = !list.childElementCount;
  };
  box.load = (user) => {
    state.user = user;
    state.history = [];
    state.before = [];
    real.checked = false;
    name.value = user;
    window.history.replaceState(null, "", user ? `#try/${encodeURIComponent(user)}` : "#try");
    ui.refresh();
  };
  const form = el("form", {
    class: "row",
    onsubmit: (event) => {
      event.preventDefault();
      box.load(name.value.trim());
    },
  }, el("label", { for: "load-user", class: "whole" }, "Stored user"), name, el("button", { type: "submit" }, "Load"));
  box.node = el("div", { class: "card" }, el("h2", {}, "History"), note, liked, stored, clear, form, realRow);
  return box;
}

function historyText({ user, history }) {
  if (user) return `The stored history of ${user}${history.length ? ", and what was liked here." : "."}`;
  return history.length ? "What was liked here; nothing is stored." : "Nothing is liked yet.";
}

// controlBox has what changes the order of the list: the scores alone, exploration or diversity.
function controlBox(ui) {
  let seed = "1";
  const mode = el("select", { id: "strategy" },
    el("option", { value: "" }, "By score"),
    el("option", { value: "thompson" }, "Explore: a draw of the taste"),
    el("option", { value: "upper" }, "Explore: score + β·σ"),
    el("option", { value: "diverse" }, "Vary: unlike each other"));
  const strength = slider("strength", "Exploration", { max: "5", step: "0.1", value: "1" }, (x) => x, onChange);
  const unlike = slider("diversity", "Diversity", { max: "1", step: "0.05", value: "0.5" },
    (x) => `${Math.round(100 * x)} %`, onChange);
  const category = slider("per-category", "Most of one category", { max: "10", step: "1", value: "0" },
    (x) => (x === "0" ? "any number" : x), onChange);
  const again = button("Draw anew", () => {
    seed = String(1 + Math.floor(Math.random() * 2 ** 31));
    ui.refresh();
  }, null, { class: "quiet" });
  function show() {
    strength.node.hidden = !["thompson", "upper"].includes(mode.value);
    again.hidden = mode.value !== "thompson";
    unlike.node.hidden = category.node.hidden = mode.value !== "diverse";
  }
  function onChange() {
    show();
    ui.refresh();
  }
  mode.addEventListener("change", onChange);
  show();
  const uncertainty = el("meter", { min: "0", max: "1", id: "uncertainty", "aria-label": "How little is known" });
  const uncertaintyText = el("p", { class: "more" });
  return {
    order() {
      const x = strength.value();
      switch (mode.value) {
        case "thompson": return { exploration: { thompson: { seed, scale: x } } };
        case "upper": return { exploration: { upperConfidence: { beta: x } } };
        case "diverse": return { diversity: { lambda: 1 - unlike.value(), maxPerCategory: category.value() } };
        default: return {};
      }
    },
    draw(answer) {
      const share = answer?.uncertainty;
      uncertainty.hidden = share === undefined;
      uncertainty.value = share ?? 1;
      uncertaintyText.textContent = !answer ? "How little is known of a taste, once there is a list."
        : share === undefined ? "This model does not tell how little it knows."
          : `${number(100 * share)} % of what is open about a new user is open still.`;
    },
    node: el("div", { class: "card" }, el("h2", {}, "Order"),
      el("label", { for: "strategy" }, "The list is ordered"), mode,
      strength.node, again, unlike.node, category.node,
      el("h2", {}, "Uncertainty"), uncertainty, uncertaintyText),
  };
}

// slider is a range with its label and its value in words.
function slider(id, label, range, words, onChange) {
  const input = el("input", { type: "range", id, min: "0", ...range });
  const text = el("output", { for: id }, words(input.value));
  input.addEventListener("input", () => {
    text.textContent = words(input.value);
    onChange();
  });
  return {
    value: () => Number(input.value),
    node: el("div", { class: "slider" }, el("label", { for: id }, label), text, input),
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
  const [answer, energy, events] = await Promise.all([
    api.recommend({
      ...subject, pageSize: listSize, explain: explainedItems, ...ui.controls.order(),
    }, signal),
    api.spectrum(subject, signal),
    state.user ? newest(state.user) : [],
  ]);
  answer.energy = energy;
  answer.events = events;
  if (state.model && answer.modelVersion !== state.model) items.forget(); // another model may know others
  const ids = answer.items.flatMap((item) =>
    [item.itemId, ...(item.explanation?.contributions ?? []).map((c) => c.itemId),
      ...(item.explanation?.likeItemIds ?? [])]);
  await items.learn([...ids, ...state.history, ...events.map(({ event }) => event.itemId)]);
  if (signal.aborted) throw new DOMException("a newer list is asked for", "AbortError");
  return answer;
}

// newest are the newest events of a stored user, none if the token may not see them.
async function newest(user) {
  try {
    return (await api.listEvents(user, shownEvents)).events;
  } catch (error) {
    if (error.status === 403 || error.status === 404) return [];
    throw error;
  }
}

// draw shows an answer.
function draw(ui, state, answer) {
  complain(null);
  ui.history.draw(answer?.events ?? []);
  ui.controls.draw(answer);
  ui.spectrum.replaceChildren(answer ? spectrum(answer.energy)
    : el("p", { class: "more" }, "What the model sees in a history, and what it makes of it."));
  const focused = [...ui.items.querySelectorAll("button")].indexOf(document.activeElement);
  const list = answer?.items ?? [];
  ui.status.textContent = answer ? told(state, answer) : "Like an item, or load a stored user.";
  const top = Math.max(...list.map((item) => Math.abs(item.score)), 1e-12);
  ui.items.replaceChildren(...list.map((item, at) => row(ui, state, item, at, top)));
  state.before = list.map((item) => item.itemId);
  if (answer && state.model && answer.modelVersion !== state.model) ui.search.onInput();
  if (answer) state.model = answer.modelVersion;
  if (focused >= 0) { // the row that was liked is gone: the next one has its place
    const buttons = ui.items.querySelectorAll("button");
    buttons[Math.min(focused, buttons.length - 1)]?.focus();
  }
}

const degradations = {
  DEGRADATION_UNKNOWN_USER: "unknown user",
  DEGRADATION_NO_USABLE_HISTORY: "the model knows nothing of this history",
  DEGRADATION_FILTER_TOO_NARROW: "there are no more",
  DEGRADATION_SHARE_NOT_MET: "fewer items of a set than wanted",
  DEGRADATION_NO_MODEL: "there is no model yet",
};

// told says in sentences what has happened to the list.
function told(state, answer) {
  const count = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;
  const popular = answer.items.some((item) => item.source === "RESULT_SOURCE_POPULAR");
  const whose = state.user ? `${state.user}, revision ${answer.userRevision}` : count(state.history.length, "like");
  const added = answer.items.filter((item) => !state.before.includes(item.itemId)).length;
  const why = answer.degradations.map((d) => degradations[d] ?? d);
  return (state.model && answer.modelVersion !== state.model ? "The model has changed. " : "") +
    `${count(answer.items.length, popular ? "popular item" : "item")} for ${whose}` +
    (state.before.length && added ? `; ${added} ${added === 1 ? "was" : "were"} not on the list before` : "") +
    (answer.unknownItemIds.length ? `; the model does not know ${answer.unknownItemIds.map(items.title).join(", ")}` : "") +
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
        item.scoreStddev === undefined ? null : el("span", { class: "more" }, `± ${number(Number(item.scoreStddev.toPrecision(2)))}`)),
      button("Like", () => ui.like(id), `Like ${name}`, { class: "quiet" })),
    details);
}
