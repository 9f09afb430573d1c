// What the catalogue has of items, kept while the page is open.
import { getItems } from "./api.js";
import { el } from "./dom.js";

const known = new Map();
let refused = false; // the token lacks the role to look at items: ids have to do

// note keeps items that another answer came with.
export function note(found) {
  for (const k of found) known.set(k.item.itemId, k);
}

// learn asks for the items that are not known yet, a hundred at a time.
export async function learn(ids) {
  const missing = [...new Set(ids)].filter((id) => !known.has(id));
  for (let at = 0; at < missing.length && !refused; at += 100) {
    try {
      note((await getItems(missing.slice(at, at + 100))).items);
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

// title is the name of an item for people: its title, or its id.
export function title(id) {
  return known.get(id)?.item.title || id;
}

// describe are the nodes that show an item: title, id and categories.
export function describe(id) {
  const item = known.get(id)?.item ?? {};
  const more = [...(item.title ? [id] : []), ...(item.categories ?? [])];
  if (item.hidden) more.push("hidden");
  return [
    el("span", { class: "title" }, item.title || id),
    more.length ? el("span", { class: "more" }, more.join(" · ")) : null,
  ];
}
