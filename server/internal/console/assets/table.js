// Tables whose rows become cards where the screen is narrow.
import { el } from "./dom.js";

// cards makes a table with the names of its columns. head is the column that names a row. Roles are
// spelled out, since browsers take them from tables that are laid out as something else.
export function cards(names, rows, head) {
  return el("table", { class: "cards", role: "table" },
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" },
      names.map((name) => el("th", { scope: "col", role: "columnheader" }, name)))),
    el("tbody", { role: "rowgroup" }, rows.map((cells) => row(names, cells, head))));
}

// row is a row of such a table.
export function row(names, cells, head) {
  return el("tr", { role: "row" }, cells.map((cell, i) => (i === head
    ? el("th", { scope: "row", role: "rowheader" }, cell)
    : el("td", { "data-label": names[i], role: "cell" }, cell))));
}
