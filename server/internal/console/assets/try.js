// The view that shows how a list follows from what somebody likes.
import * as api from "./api.js";
import { spectrum } from "./chart.js";
import { button, complain, el } from "./dom.js";
import { finder, likeButton } from "./find.js";
import * as items from "./items.js";
import { nobody, row, told } from "./list.js";
import { controlBox } from "./order.js";

const listSize = 20;
const explainedItems = 12; // of the history, in each explanation
const shownEvents = 10; // of a stored history
const longestAddress = 2000; // characters of likes that an address can share

// tryView fills a section and returns the view.
export function tryView(section) {
  const state = {
    user: "", // whose stored history the list is made of; empty: nobody's
    history: [], // ids that were liked here, the oldest first
    before: [], // ids of the list before this one
    opened: new Set(), // ids whose explanation is open
    model: "", // version of the model that made the list
    whose: "", // whose list it was
    address: "", // that leads to this user and these likes
  };
  const ui = build(state);
  section.append(ui.finder.node, ui.list, ui.side);
  return {
    // show begins with a user and likes, or goes on with those of before.
    show(user = "", ...likes) {
      if ((user || likes.length) && location.hash !== state.address) ui.begin(user, likes.filter(Boolean));
      ui.refresh();
      ui.finder.onInput();
    },
    rest: ui.rest,
  };
}

function build(state) {
  const ui = {};
  const refresh = api.latest(async (signal) => {
    ui.items.setAttribute("aria-busy", "true"); // what is on the list will be replaced
    share(state);
    ui.liked.draw();
    try {
      draw(ui, state, await ask(ui, state, signal));
    } finally {
      if (!signal.aborted) ui.items.removeAttribute("aria-busy");
    }
  });
  ui.refresh = () => refresh().catch((error) => complain(error));
  ui.rest = refresh.abort;
  ui.like = (id) => like(ui, state, id);
  ui.begin = (user, likes = []) => {
    Object.assign(state, { user, history: likes, before: [] });
    ui.whose.begin(user);
  };
  ui.finder = finder({
    id: "search", label: "Find items to like", act: (k) => likeButton(k, ui.like), onWhole: ui.like,
    nothing: (text) => `Enter likes “${text}” as the id of an item.`,
  });
  ui.whose = whoseBox(ui, state);
  ui.controls = controlBox(ui.refresh);
  ui.status = el("p", { role: "status", "aria-live": "polite", id: "list-status" });
  ui.liked = likedBox(ui, state);
  ui.items = el("ol", { class: "list", "aria-labelledby": "list-title" });
  ui.list = el("div", { class: "column wide" },
    el("h2", { id: "list-title" }, "The list"), ui.liked.node, ui.status, ui.items);
  ui.spectrum = el("div", {});
  ui.side = el("div", { class: "column" }, ui.whose.node, ui.controls.node,
    el("details", { class: "card curious" }, el("summary", {}, "For the curious: energy by frequency"), ui.spectrum));
  return ui;
}

// share keeps the address such that it leads to this user and these likes again.
function share(state) {
  if (document.getElementById("try").hidden) return; // the address is of another view
  const likes = state.history.map(encodeURIComponent).join("/");
  const parts = ["#try", encodeURIComponent(state.user), likes.length <= longestAddress ? likes : ""];
  state.address = parts.join("/").replace(/\/+$/, "");
  window.history.replaceState(null, "", state.address);
}

// likedBox shows what was liked here, each to be taken back.
function likedBox(ui, state) {
  const liked = el("ul", { class: "liked", "aria-label": "Liked items" });
  const example = button("Show an example", () => showExample(ui, state), null, { class: "quiet" });
  const clear = button("Start anew", () => {
    ui.begin("");
    ui.refresh();
    document.getElementById("search").focus();
  }, null, { class: "quiet" });
  return {
    draw() {
      const bare = !state.user && !state.history.length;
      example.hidden = !bare;
      clear.hidden = bare;
      liked.hidden = !state.history.length;
      liked.replaceChildren(...state.history.map((id, at) => el("li", {},
        el("span", { class: "title", title: id }, items.title(id)),
        button("×", () => {
          state.history.splice(at, 1);
          ui.refresh();
          document.getElementById("search").focus();
        }, `Remove ${items.title(id)}`, { class: "quiet" }))));
    },
    node: el("div", { class: "likes" }, liked, example, clear),
  };
}

// showExample likes a popular item and two that are like it.
async function showExample(ui, state) {
  complain(null);
  try {
    const found = (await api.search("")).items.filter((k) => k.inModel).slice(0, 20);
    if (!found.length) throw new Error("The model knows no item yet.");
    const first = found[Math.floor(Math.random() * found.length)].item.itemId;
    const like = await api.similar(first, 2);
    if (state.user || state.history.length) return; // somebody was quicker
    ui.begin("", [first, ...like.items.map((item) => item.itemId)]);
  } catch (error) {
    complain(error);
    return;
  }
  ui.refresh();
}

// whoseBox chooses the user whose stored history a list is made of.
function whoseBox(ui, state) {
  const stored = el("ul", { class: "found all", "aria-label": "Newest stored events" });
  const note = el("p", { class: "more" });
  const name = el("input", { id: "load-user", autocomplete: "off", spellcheck: "false" });
  const real = el("input", { type: "checkbox", id: "observe" });
  const realRow = el("div", { class: "row", hidden: true }, real,
    el("label", { for: "observe" }, "Keep likes as events of this user, for good"));
  const form = el("form", {
    class: "row",
    onsubmit: (event) => {
      event.preventDefault();
      ui.begin(name.value.trim());
      ui.refresh();
    },
  }, el("label", { for: "load-user", class: "whole" }, "Stored user"), name, el("button", { type: "submit" }, "Load"));
  return {
    real: () => real.checked,
    begin(user) {
      real.checked = false;
      name.value = user;
    },
    draw(events) {
      note.textContent = whoseText(state);
      realRow.hidden = !state.user;
      stored.replaceChildren(...events.map(({ event }) => el("li", {}, el("span", {}, items.describe(event.itemId)))));
      stored.hidden = !stored.childElementCount;
    },
    node: el("div", { class: "card" }, el("h2", {}, "Whose list"), note, stored, form, realRow),
  };
}

function whoseText({ user, history }) {
  if (user) return `The stored history of ${user}${history.length ? ", and what was liked here." : "."}`;
  return history.length ? "What was liked here; nothing is stored."
    : "Nobody's yet: like an item, and the list follows.";
}

// like adds an item to the history, or sends it as an event.
async function like(ui, state, id) {
  complain(null);
  try {
    if (state.user && ui.whose.real()) await api.observe({ userId: state.user, itemId: id });
    else state.history.push(id);
  } catch (error) {
    complain(error);
    return;
  }
  ui.refresh();
}

// ask asks for the list, and for what is shown beside it.
async function ask(ui, state, signal) {
  const entries = state.history.map((itemId) => ({ itemId }));
  const personal = Boolean(state.user || entries.length);
  const subject = state.user ? { userId: state.user, ...(entries.length ? { extraHistory: { entries } } : {}) }
    : entries.length ? { history: { entries } } : nobody;
  const [answer, energy, events] = await Promise.all([
    api.recommend({ ...subject, pageSize: listSize, explain: explainedItems, ...ui.controls.parts() }, signal),
    personal ? api.spectrum(subject, signal) : null,
    state.user ? newest(state.user) : [],
  ]);
  Object.assign(answer, { personal, energy, events });
  const whose = state.user || (personal ? "likes" : nobody);
  if (whose !== state.whose) state.model = ""; // which may be of another arm
  state.whose = whose;
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
  ui.liked.draw();
  ui.whose.draw(answer.events);
  ui.controls.draw(answer);
  ui.spectrum.replaceChildren(answer.energy ? spectrum(answer.energy)
    : el("p", { class: "more" }, "What the model sees in a history, and what it makes of it."));
  const focused = [...ui.items.querySelectorAll("button")].indexOf(document.activeElement);
  const list = answer.items;
  ui.status.textContent = told(state, answer);
  const top = Math.max(...list.map((item) => Math.abs(item.score)), 1e-12);
  ui.items.replaceChildren(...list.map((item, at) => row(item, at, top, { ...state, like: ui.like })));
  state.before = list.map((item) => item.itemId);
  if (state.model && answer.modelVersion !== state.model) ui.finder.onInput();
  state.model = answer.modelVersion;
  if (focused >= 0) { // the row that was liked is gone: the next one has its place
    const buttons = ui.items.querySelectorAll("button");
    buttons[Math.min(focused, buttons.length - 1)]?.focus();
  }
}
