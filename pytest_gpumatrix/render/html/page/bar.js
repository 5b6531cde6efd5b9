// The bar above the matrix: views, facets, devices, text.

function viewChoices() {
  return Object.entries(VIEWS).map(([view, { label }]) => {
    const input = make("input", { type: "radio", name: "view", value: view });
    input.addEventListener("change", () => {
      state.view = view;
      refilter();
    });
    return make(
      "label",
      { class: "view" },
      input,
      make("span", {}, label, make("span", { class: "count" }, viewCounts[view].toLocaleString("en"))),
    );
  });
}

function drawBar() {
  const text = make("input", {
    id: "text",
    type: "search",
    placeholder: "Filter by text  /",
    "aria-label": "Filter by text",
    autocomplete: "off",
    spellcheck: "false",
  });
  text.addEventListener("input", () => {
    state.text = text.value;
    refilter();
  });
  const facets = Object.entries(FACETS).map(([facet, { label }]) =>
    facetOf(facet, label, facetValues[facet], () => state.chosen[facet]),
  );
  const devices = facetOf(
    "device",
    "Device",
    data.devices.map((device, place) => [place, null]),
    () => state.devices,
  );
  byId("bar").replaceChildren(
    make("fieldset", { class: "views" }, make("legend", {}, "Tests"), viewChoices()),
    text,
    make("div", { class: "facets" }, facets, devices),
    button("Clear", clearFilters, { id: "clear", class: "quiet" }),
    make("output", { id: "shown", class: "dim", role: "status" }),
  );
}

/** A facet unfolds into its values, each with the number of its tests. */
function facetOf(facet, label, values, chosen) {
  const boxes = values.map(([value, tests]) => {
    const input = make("input", { type: "checkbox", name: facet, value: String(value) });
    input.addEventListener("change", () => {
      if (input.checked) chosen().add(value);
      else chosen().delete(value);
      refilter();
    });
    const words = facet === "device" ? data.devices[value].name : value;
    return make(
      "label",
      {},
      input,
      make("span", {}, words),
      tests === null ? "" : make("span", { class: "count" }, tests.toLocaleString("en")),
    );
  });
  const summary = make("summary", {}, label, make("span", { class: "chosen" }));
  const found = make(
    "details",
    { class: "facet", "data-facet": facet },
    summary,
    make("div", { class: "values", role: "group", "aria-label": label }, boxes),
  );
  found.hidden = values.length < 1;
  found.addEventListener("toggle", () => {
    if (found.open)
      for (const other of document.querySelectorAll(".facet[open]")) if (other !== found) other.open = false;
  });
  return found;
}

/** Lets the controls show the state, wherever it came from. */
function showState() {
  for (const input of byId("bar").querySelectorAll("input[name=view]")) input.checked = input.value === state.view;
  if (byId("text").value !== state.text) byId("text").value = state.text;
  for (const facet of byId("bar").querySelectorAll(".facet")) {
    const chosen = facet.dataset.facet === "device" ? state.devices : state.chosen[facet.dataset.facet];
    const known = new Set([...chosen].map(String));
    for (const input of facet.querySelectorAll("input")) input.checked = known.has(input.value);
    facet.querySelector(".chosen").textContent = chosen.size ? String(chosen.size) : "";
    facet.classList.toggle("is-chosen", chosen.size > 0);
  }
  byId("clear").hidden = !isFiltered();
  byId("shown").textContent = count(grid.passing.length, "test");
}

function clearFilters() {
  state.text = "";
  state.chosen = noneChosen();
  state.devices.clear();
  refilter();
  byId("text").focus();
}

function refilter() {
  arrange();
  showState();
  showOpen();
  toAddress();
}

/** Tells a screen reader, and whoever looks at the bar. */
function say(words) {
  byId("shown").textContent = words;
}
