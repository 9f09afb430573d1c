// What the catalogue has of items, kept while the page is open.
import { getItems } from "./api.js";
import { el } from "./dom.js";

const known = new Map();
let refused = false; // the token lacks the role to look at items: ids have to do

// note keeps items that another answer came with.
export function note(found) {
  for (const k of found) known.set(k.item.itemId, k);
}

const longest = 8000; // bytes of ids in one address; the server takes 16 KiB

// learn asks for the items that are not known yet, in calls that the server takes.
export async function learn(ids) {
  const missing = [...new Set(ids)].filter((id) => !known.has(id));
  while (missing.length && !refused) {
    let n = 1, size = encodeURIComponent(missing[0]).length;
    while (n < Math.min(missing.length, 100) &&
      (size += 10 + encodeURIComponent(missing[n]).length) < longest) n++;
    try {
      note((await getItems(missing.splice(0, n))).items);
    } catch (error) {
      if (error.status !== 403) throw error;
      refused = true;
    }
  }
}

// again lets items be asked for by another token.
export function again() {
  refused = false;
}

// forget lets all items be asked for again, such as when another model may know them.
export function forget() {
  known.clear();
}

// isKnown tells whether an item has been seen by this very id.
export function isKnown(id) {
  return known.has(id);
}

// title is the name of an item for people: its title, or its id.
export function title(id) {
  return known.get(id)?.item.title || id;
}

// of is what is known of an item: itself, whether the model knows it, and its users.
export function of(id) {
  return known.get(id);
}

// describe are the nodes that show an item: its title, and below it the id and the categories.
export function describe(id) {
  const item = known.get(id)?.item ?? {};
  const more = [
    item.title ? el("span", { class: "id" }, id) : null,
    item.hidden ? el("span", { class: "chip off" }, "hidden") : null,
    ...chips(item.categories ?? []),
  ].filter(Boolean);
  return [
    el("span", { class: "title", title: id }, item.title || id),
    more.length ? el("span", { class: "more chips" }, more) : null,
  ];
}

const shownChips = 4, hues = 8;

// chips are categories, each always in the same of a few colours.
function chips(categories) {
  const shown = categories.slice(0, shownChips).map((name) =>
    el("span", { class: `chip hue${hue(name)}`, title: name }, name));
  const rest = categories.length - shown.length;
  return rest > 0 ? [...shown, el("span", { title: categories.slice(shownChips).join(", ") }, `+${rest}`)] : shown;
}

function hue(name) {
  let hash = 0;
  for (const c of name) hash = (hash * 31 + c.codePointAt(0)) % 9973;
  return hash % hues;
}

// categories are those of all items that were seen, in the order of their names.
export function categories() {
  return [...new Set([...known.values()].flatMap((k) => k.item.categories ?? []))].sort();
}
