// The box that finds items, by what their ids begin with and by their titles.
import * as api from "./api.js";
import { button, el } from "./dom.js";
import * as items from "./items.js";

const shownFound = 20; // of the items found

// finder makes the box. act makes the button of a found item, null for none; onWhole is called with
// the text when it is entered and is the id of an item, or nothing is found.
export function finder({ id, label, act, onWhole, nothing }) {
  const field = el("input", { type: "search", id, autocomplete: "off", spellcheck: "false", maxlength: "256" });
  const found = el("ul", { class: "found", "aria-label": "Items found" });
  const status = el("p", { role: "status", class: "more" });
  const run = api.latest(async (signal) => {
    const text = field.value.trim();
    const answer = await api.search(text, signal);
    if (signal.aborted) return;
    items.note(answer.items);
    // Those that the model knows come first, and among them those that many users have.
    const best = answer.items.sort((a, b) => b.inModel - a.inModel || b.trainUsers - a.trainUsers)
      .slice(0, shownFound);
    status.textContent = foundText(text, answer.items.length, nothing);
    found.replaceChildren(...best.map((k) => el("li", {},
      el("span", {}, items.describe(k.item.itemId)), act(k))));
  });
  // onInput tells whether what is typed could be looked up, or may not be.
  const onInput = () => run().then(() => true, (error) => {
    found.replaceChildren();
    const refused = error.status === 403;
    status.textContent = refused ? "The token may not look at items: type an id and press Enter." : error.message;
    return refused;
  });
  field.addEventListener("input", onInput);
  // Enter takes the item that is typed as a whole, or goes to the first that is found.
  const onEnter = async () => {
    const text = field.value.trim();
    if (!await onInput()) return;
    const first = found.querySelector("button, a");
    if (first && !items.isKnown(text)) first.focus();
    else if (text) onWhole(text);
  };
  const form = el("form", {
    onsubmit: (event) => {
      event.preventDefault();
      onEnter();
    },
  }, el("label", { for: id }, label), field);
  return { onInput, node: el("div", { class: "card" }, form, status, found) };
}

function foundText(text, n, nothing) {
  if (!text) return n ? "The most popular items; type to find others." : "There are no items yet.";
  if (!n) return `Nothing found. ${nothing(text)}`;
  if (n <= shownFound) return `${n} found`;
  return `${n < 100 ? n : "100 or more"} found, the most popular ${shownFound}:`;
}

// likeButton is the button of a found item in the view that tries lists.
export function likeButton(k, like) {
  if (!k.inModel) return el("span", { class: "more" }, "not in the model");
  return button("Like", () => like(k.item.itemId), `Like ${items.title(k.item.itemId)}`, { class: "quiet" });
}
