// The view of what is held of a user, with what the rights of people about their data need.
import * as api from "./api.js";
import { button, complain, count, el, facts, number } from "./dom.js";
import * as items from "./items.js";
import { cards, row } from "./table.js";

// usersView fills a section and returns the view.
export function usersView(section) {
  const name = el("input", { id: "user", autocomplete: "off", spellcheck: "false", required: true });
  const status = el("p", { role: "status", class: "more" },
    "Look a user up to see what is held, to export it, to take events back or to erase all.");
  const held = el("div", { class: "held" });
  const look = api.latest(async (signal, user) => {
    complain(null);
    held.replaceChildren();
    try {
      const { user: found } = await api.getUser(user, signal);
      if (signal.aborted) return;
      status.textContent = `${count(found.eventCount, "event")} of ${user}.`;
      held.append(summary(found), actions(user, status, held), events(user, () => look(user)));
    } catch (error) {
      if (signal.aborted) return;
      status.textContent = "";
      if (error.reason === "USER_NOT_FOUND") status.textContent = `Nothing is held of ${user}.`;
      else complain(error);
    }
  });
  section.append(el("form", {
    class: "row card",
    onsubmit: (event) => {
      event.preventDefault();
      const wanted = `#users/${encodeURIComponent(name.value.trim())}`;
      if (location.hash === wanted) look(name.value.trim());
      else location.hash = wanted;
    },
  }, el("label", { for: "user" }, "User"), name, el("button", { type: "submit" }, "Look up")), status, held);
  return {
    show(...parts) {
      const user = parts.join("/"); // an id may have them
      if (!user) return;
      name.value = user;
      look(user);
    },
    rest() {},
  };
}

const day = (time) => (time ? new Date(time).toISOString().slice(0, 16).replace("T", " ") : "–");

// summary says what is held.
function summary(user) {
  return el("div", { class: "card" }, facts([
    ["Revision", user.revision], ["Events", user.eventCount],
    ["On items that the model does not know", user.pendingEventCount],
    ["From", day(user.firstEventTime)], ["To", day(user.lastEventTime)],
    ...(user.uncertainty === undefined ? [] : [["Uncertainty", `${number(100 * user.uncertainty)} %`]]),
    ...(user.eventTypes ?? []).map((t) => [`Events of type ${t.eventType}, weight ${number(t.weight)}`, t.eventCount]),
  ]));
}

// actions are what can be done with a user.
function actions(user, status, held) {
  const confirmation = el("input", { id: "forget-id", autocomplete: "off", spellcheck: "false" });
  const erase = el("button", { type: "submit", class: "danger", disabled: true }, "Erase for good");
  confirmation.addEventListener("input", () => { erase.disabled = confirmation.value !== user; });
  const form = el("form", {
    class: "row",
    onsubmit: async (event) => {
      event.preventDefault();
      if (confirmation.value !== user) return;
      try {
        const { deletedEventCount } = await api.forget(user);
        held.replaceChildren();
        status.textContent = `${user} is erased, with ${deletedEventCount} events.`;
      } catch (error) {
        complain(error);
      }
    },
  }, el("label", { for: "forget-id" }, `To erase this user, type the id ${user}`), confirmation, erase);
  return el("div", { class: "card" },
    el("div", { class: "row" },
      el("a", { href: `#try/${encodeURIComponent(user)}` }, "See the list of this user"),
      button("Export all that is held", () => save(user).catch(complain), null, { class: "quiet" })),
    form);
}

// save lets the browser keep the export as a file, a line of JSON for each part. An export that has
// broken off is none: its connection ends, or its last line is the error.
async function save(user) {
  let text;
  try {
    text = await (await api.exportUser(user)).text();
  } catch (error) {
    throw error instanceof api.ApiError ? error : new Error("The export broke off. Try again.");
  }
  const { error } = JSON.parse(text.trimEnd().split("\n").at(-1));
  if (error) throw new Error(`The export broke off: ${error.message}`);
  const address = URL.createObjectURL(new Blob([text], { type: "application/x-ndjson" }));
  const link = el("a", { href: address, download: `${user.replaceAll(/[^\w.-]/g, "_")}.jsonl` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

const columns = ["Revision", "Item", "Type", "Time (UTC)", "Undo"];

// events lists the history, the newest first, page by page.
function events(user, changed) {
  const table = cards(columns, [], 1);
  const more = button("Show older events", () => load().catch(complain), null, { class: "quiet" });
  let page = "";
  const load = async () => {
    const answer = await api.listEvents(user, 50, page);
    await items.learn(answer.events.map((e) => e.event.itemId)).catch(complain);
    table.tBodies[0].append(...answer.events.map(({ event, revision }) => row(columns, [
      revision, items.describe(event.itemId), event.eventType, day(event.eventTime),
      button("Retract", async () => {
        try {
          await api.retract(user, [event.eventId]);
          changed();
        } catch (error) {
          complain(error);
        }
      }, `Retract event ${revision} on ${items.title(event.itemId)}`, { class: "quiet" })], 1)));
    page = answer.nextPageToken;
    more.hidden = !page;
  };
  load().catch(complain);
  return el("div", { class: "card scroll", tabindex: "0", role: "region", "aria-label": "Events" },
    table, more);
}
