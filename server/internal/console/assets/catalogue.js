// The view of the items: found, changed, hidden, and what is like them.
import * as api from "./api.js";
import { complain, count, el, facts } from "./dom.js";
import { finder } from "./find.js";
import { field, lines, list } from "./form.js";
import * as items from "./items.js";

const similarItems = 10;

// catalogueView fills a section and returns the view.
export function catalogueView(section) {
  const status = el("p", { role: "status", class: "saved" });
  const detail = el("div", { class: "column" });
  const box = finder({
    id: "find-item", label: "Find items", onWhole: go,
    act: (k) => el("a", { href: address(k.item.itemId), "aria-label": `Open ${items.title(k.item.itemId)}` }, "Open"),
    nothing: (text) => `Enter adds “${text}” to the catalogue.`,
  });
  section.append(box.node, el("div", { class: "column" }, status, detail));
  let shown = null; // the id of the item whose page is there; edits of it stay
  const open = api.latest(async (signal, id, note) => {
    complain(null);
    shown = null;
    detail.replaceChildren();
    status.textContent = "";
    const [item, alike] = id ? await Promise.all([stored(id, signal), like(id, signal), items.learn([id])]) : [];
    if (signal.aborted) return;
    shown = id;
    detail.replaceChildren(...(id ? page(id, item, alike, saved) : [hint()]));
    status.textContent = note;
    detail.querySelector("h2")?.focus(); // what was asked for may be below what is seen
  });
  const saved = (id, note) => {
    if (shown !== id) return; // another item was opened meanwhile
    items.forget();
    box.onInput();
    open(id, note).catch(complain);
  };
  return {
    show(...parts) {
      const id = parts.join("/"); // an id may have them
      box.onInput();
      if (id !== shown) open(id, "").catch(complain);
    },
    rest: open.abort,
  };
}

function hint() {
  return el("p", { class: "card more" }, "Open an item to see who knows it and what is like it, ",
    "to change its title and categories, or to hide it.");
}

const address = (id) => `#items/${encodeURIComponent(id)}`;

function go(id) {
  location.hash = address(id);
}

// stored is what the catalogue has of an item, null if it has nothing.
async function stored(id, signal) {
  try {
    return (await api.getItem(id, signal)).item;
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
}

// like are the items that are like one, none if the model does not know it or the token may not ask.
async function like(id, signal) {
  try {
    const found = (await api.similar(id, similarItems, signal)).items.map((item) => item.itemId);
    await items.learn(found);
    return found;
  } catch (error) {
    if (error.status === 404 || error.status === 403) return [];
    throw error;
  }
}

// page is all of an item.
function page(id, item, alike, saved) {
  const known = items.of(id);
  return [
    el("div", { class: "card" }, el("h2", { tabindex: "-1" }, item?.title || id),
      facts([["Id", id], ["In the catalogue", item ? (item.hidden ? "yes, hidden" : "yes") : "no"],
        ["Known to the model", known?.inModel ? "yes" : "no"],
        ["Training users", count(known?.trainUsers ?? 0, "user")],
        ...(item?.availableFrom ? [["From", item.availableFrom]] : []),
        ...(item?.availableUntil ? [["Until", item.availableUntil]] : [])]),
      known?.inModel ? el("p", {}, el("a", { href: `#try//${encodeURIComponent(id)}` }, "See the list of somebody who likes it")) : null),
    editor(id, item, saved),
    el("div", { class: "card" }, el("h2", {}, "Like it"), alike.length
      ? el("ul", { class: "found all" }, alike.map((other) => el("li", {},
        el("span", {}, items.describe(other)),
        el("a", { href: address(other), "aria-label": `Open ${items.title(other)}` }, "Open"))))
      : el("p", { class: "more" }, "The model does not know what is like it.")),
  ];
}

// editor is the form that changes an item. It writes what was changed; times and embeddings stay.
function editor(id, item, saved) {
  const form = {
    title: el("input", { id: "item-title", maxlength: "512", value: item?.title ?? "" }),
    categories: lines("item-categories", item?.categories ?? []),
    labels: lines("item-labels", item?.labels ?? []),
    numbers: lines("item-numbers",
      Object.entries(item?.numbers ?? {}).map(([name, value]) => `${name}=${value}`)),
    hidden: el("input", { type: "checkbox", id: "item-hidden", checked: Boolean(item?.hidden) }),
  };
  const written = (name) => (name === "hidden" ? form.hidden.checked : form[name].value);
  const before = Object.fromEntries(Object.keys(form).map((name) => [name, written(name)]));
  return el("form", {
    class: "card fields",
    onsubmit: async (event) => {
      event.preventDefault();
      complain(null);
      try {
        const changed = Object.keys(form).filter((name) => written(name) !== before[name]);
        if (changed.length || !item) await api.upsert(...change(id, changed, form, item?.numbers ?? {}));
        saved(id, changed.length || !item ? "Saved: it holds for the next list." : "Nothing was changed.");
      } catch (error) {
        complain(error);
      }
    },
  }, el("h2", {}, item ? "Change it" : "Add it to the catalogue"), field("Title", form.title),
  field("Categories, one a line", form.categories), field("Labels, one a line", form.labels),
  field("Numbers, such as price=12.5, one a line", form.numbers),
  el("div", { class: "row" }, form.hidden, el("label", { for: "item-hidden" }, "Hidden: on no list")),
  el("div", { class: "row" }, el("button", { type: "submit" }, item ? "Save" : "Add"),
    el("button", { type: "reset", class: "quiet" }, "Undo")));
}

// change is an item with what was changed, and the mask that says so. Numbers are named one by one,
// so that those of somebody else stay.
function change(id, changed, form, before) {
  const item = { itemId: id }, mask = changed.filter((name) => name !== "numbers");
  for (const name of mask) {
    item[name] = name === "title" ? form.title.value : name === "hidden" ? form.hidden.checked : list(form[name]);
  }
  if (changed.includes("numbers")) {
    const now = numbersOf(list(form.numbers));
    const names = [...new Set([...Object.keys(now), ...Object.keys(before)])].filter((n) => now[n] !== before[n]);
    item.numbers = Object.fromEntries(names.filter((n) => n in now).map((n) => [n, now[n]]));
    mask.push(...names.map((n) => `numbers.${camel(n)}`));
  }
  return [item, mask.join(",") || undefined];
}

// camel writes the name of a field as masks of JSON do.
const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());

// numbersOf reads lines of name=value.
function numbersOf(texts) {
  const numbers = {};
  for (const line of texts) {
    const at = line.lastIndexOf("=");
    const name = line.slice(0, at).trim(), value = line.slice(at + 1).trim();
    if (!/^[a-z][a-z0-9]*(_[a-z][a-z0-9]*)*$/.test(name) || value === "" || !Number.isFinite(Number(value))) {
      throw new Error(`The number “${line}” is not of the form name=value, such as price=12.5 or unit_price=3.`);
    }
    if (Object.hasOwn(numbers, name)) throw new Error(`The number ${name} is given twice.`);
    numbers[name] = Number(value);
  }
  return numbers;
}
