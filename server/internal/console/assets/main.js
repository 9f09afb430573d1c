import { setToken } from "./api.js";
import { catalogueView } from "./catalogue.js";
import { complain } from "./dom.js";
import { watch } from "./health.js";
import * as items from "./items.js";
import { metricsView } from "./metrics.js";
import { modelsView } from "./models.js";
import { rulesView } from "./rules.js";
import { tryView } from "./try.js";
import { usersView } from "./users.js";

const views = {
  try: tryView(document.getElementById("try")),
  items: catalogueView(document.getElementById("items")),
  rules: rulesView(document.getElementById("rules")),
  users: usersView(document.getElementById("users")),
  models: modelsView(document.getElementById("models")),
  metrics: metricsView(document.getElementById("metrics")),
};

// show shows the view that the address names, as VIEW/ARGUMENT/ARGUMENT. The others rest.
function show() {
  const [wanted, ...rest] = location.hash.slice(1).split("/");
  const name = Object.hasOwn(views, wanted) ? wanted : "try";
  for (const other of Object.keys(views)) {
    const shown = other === name;
    document.getElementById(other).hidden = !shown;
    const link = document.getElementById(`nav-${other}`);
    if (shown) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
    if (!shown) views[other].rest();
  }
  complain(null);
  views[name].show(...rest.map(decoded));
}

// decoded is what stands in an address, which somebody may have typed.
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

addEventListener("hashchange", show);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address says which view is shown
  document.getElementById("view").focus();
});
document.getElementById("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const field = document.getElementById("token");
  setToken(field.value);
  field.value = "";
  items.again();
  document.getElementById("access").open = false;
  show();
});
show();
watch(show);
