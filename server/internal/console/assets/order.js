// What changes a list: its kind, a category, and the order.
import { button, el, number } from "./dom.js";
import { choice, slider } from "./form.js";
import * as items from "./items.js";

// controlBox makes the controls. refresh is called when one has changed.
export function controlBox(refresh) {
  let seed = "1";
  const kind = choice("kind", [["", "For this history"],
    ["LIST_KIND_WITHOUT_TRENDS", "For this history, without trends"],
    ["LIST_KIND_TOGETHER", "What goes with all of it, as with a basket"],
    ["LIST_KIND_BECAUSE", "Because of the newest like"],
    ["LIST_KIND_TRENDING", "Trending: taken more often than before"],
    ["LIST_KIND_POPULAR", "Popular now, for anybody"]]);
  const category = choice("category", [["", "All categories"]]);
  const categoryRow = el("div", { hidden: true }, el("label", { for: "category" }, "Only"), category);
  const mode = choice("strategy", [["", "By score"], ["thompson", "Explore: a draw of the taste"],
    ["upper", "Explore: score + β·σ"], ["diverse", "Vary: unlike each other"]]);
  const strength = slider("strength", "Exploration", { max: "5", step: "0.1", value: "1" }, (x) => x, onChange);
  const unlike = slider("diversity", "Diversity", { max: "1", step: "0.05", value: "0.5" },
    (x) => `${Math.round(100 * x)} %`, onChange);
  const perCategory = slider("per-category", "Most of one category", { max: "10", step: "1", value: "0" },
    (x) => (x === "0" ? "any number" : x), onChange);
  const again = button("Draw anew", () => {
    seed = String(1 + Math.floor(Math.random() * 2 ** 31));
    refresh();
  }, null, { class: "quiet" });
  function show() {
    const foreseen = kind.selectedIndex < 2; // the others are no draw of a taste
    for (const option of mode.options) option.disabled = !foreseen && ["thompson", "upper"].includes(option.value);
    if (mode.selectedOptions[0].disabled) mode.value = "";
    strength.node.hidden = !["thompson", "upper"].includes(mode.value);
    again.hidden = mode.value !== "thompson";
    unlike.node.hidden = perCategory.node.hidden = mode.value !== "diverse";
  }
  function onChange() {
    show();
    refresh();
  }
  for (const choice of [kind, category, mode]) choice.addEventListener("change", onChange);
  show();
  const uncertainty = uncertaintyBox();
  return {
    // parts are the fields of a request.
    parts() {
      return {
        ...(kind.value ? { list: kind.value } : {}),
        ...(category.value ? { filter: { anyCategories: [category.value] } } : {}),
        ...order(mode.value, seed, { strength, unlike, perCategory }),
      };
    },
    draw(answer) {
      uncertainty.draw(answer);
      offer(category, items.categories());
      categoryRow.hidden = category.length < 2;
    },
    node: el("div", { class: "card" }, el("h2", {}, "What is listed"),
      el("label", { for: "kind" }, "The list is"), kind, categoryRow,
      el("label", { for: "strategy" }, "In the order"), mode,
      strength.node, again, unlike.node, perCategory.node, uncertainty.node),
  };
}

// order is what a request says of the order.
function order(mode, seed, { strength, unlike, perCategory }) {
  switch (mode) {
    case "thompson": return { exploration: { thompson: { seed, scale: strength.value() } } };
    case "upper": return { exploration: { upperConfidence: { beta: strength.value() } } };
    case "diverse": return { diversity: { lambda: 1 - unlike.value(), maxPerCategory: perCategory.value() } };
    default: return {};
  }
}

// offer adds the names that a choice does not have yet, and keeps what is chosen.
function offer(choice, names) {
  const has = new Set([...choice.options].map((o) => o.value));
  const more = names.filter((name) => !has.has(name));
  if (!more.length) return;
  const chosen = choice.value;
  const all = [...has, ...more].filter(Boolean).sort();
  choice.replaceChildren(choice.options[0], ...all.map((name) => el("option", { value: name }, name)));
  choice.value = chosen;
}

// uncertaintyBox shows how little is known of a taste.
function uncertaintyBox() {
  const meter = el("meter", { min: "0", max: "1", id: "uncertainty", "aria-label": "How little is known" });
  const text = el("p", { class: "more" });
  return {
    draw(answer) {
      const share = answer?.uncertainty;
      meter.hidden = share === undefined;
      meter.value = share ?? 1;
      text.textContent = share !== undefined ? `${number(100 * share)} % of what is open about a new user is open still.`
        : answer?.personal ? "This model does not tell how little it knows."
          : "How little is known of a taste, once there is one.";
    },
    node: el("div", {}, el("h2", {}, "Uncertainty"), meter, text),
  };
}
