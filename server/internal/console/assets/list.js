// The rows of a list, and what is told of it.
import { button, count, el } from "./dom.js";
import { explanation } from "./explanation.js";
import * as items from "./items.js";

// row is an entry of a list with its explanation. before are the ids of the list before this one;
// opened are those whose explanation is open.
export function row(item, at, top, { before, opened, like }) {
  const id = item.itemId, name = items.title(id);
  const moved = move(before, id, at);
  const details = item.explanation ? el("details", {
    open: opened.has(id),
    ontoggle: (event) => opened[event.target.open ? "add" : "delete"](id),
  }, el("summary", { "aria-label": `Why ${name}` }, "Why"), explanation(item)) : null;
  return el("li", { class: moved === "new" ? "fresh" : null },
    el("div", { class: "entry" },
      el("span", { class: "name" }, items.describe(id)),
      el("span", { class: "moved" }, moved),
      el("meter", { min: "0", max: String(top), value: String(Math.max(item.score, 0)), "aria-label": `Score of ${name}` }),
      button("Like", () => like(id), `Like ${name}`, { class: "quiet" })),
    details);
}

// nobody is a history that the model does not know: what anybody gets. It is no user, since a token
// may be bound to one.
export const nobody = { history: { entries: [{ itemId: "(nobody)" }] } };

// move says where an item was before.
export function move(before, id, at) {
  const was = before.indexOf(id);
  if (!before.length || was === at) return "";
  if (was < 0) return "new";
  return was > at ? `▲ ${was - at}` : `▼ ${at - was}`;
}

const degradations = {
  DEGRADATION_UNKNOWN_USER: "unknown user",
  DEGRADATION_NO_USABLE_HISTORY: "the model knows nothing of this history",
  DEGRADATION_FILTER_TOO_NARROW: "there are no more",
  DEGRADATION_SHARE_NOT_MET: "fewer items of a set than wanted",
  DEGRADATION_NO_MODEL: "there is no model yet",
  DEGRADATION_NO_TRENDS: "there are no trends now",
};

// told says in sentences what has happened to the list.
export function told(state, answer) {
  const popular = answer.items.some((item) => item.source === "RESULT_SOURCE_POPULAR");
  const whose = state.user ? `${state.user}, revision ${answer.userRevision}`
    : state.history.length ? count(state.history.length, "like") : "anybody";
  const added = state.before.length ? answer.items.filter((item) => !state.before.includes(item.itemId)).length : 0;
  const why = answer.degradations.filter((d) => answer.personal || d !== "DEGRADATION_NO_USABLE_HISTORY")
    .map((d) => degradations[d] ?? d);
  return (state.model && answer.modelVersion !== state.model ? "The model has changed. " : "") +
    `${count(answer.items.length, popular ? "popular item" : "item")} for ${whose}` +
    (added ? `; ${added} ${added === 1 ? "was" : "were"} not on the list before` : "") +
    (answer.personal && answer.unknownItemIds.length ? `; the model does not know ${answer.unknownItemIds.map(items.title).join(", ")}` : "") +
    `${why.length ? ` (${why.join(", ")})` : ""}.`;
}
