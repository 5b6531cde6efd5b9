// The heads of the matrix: a column for each device, with its results as a bar.

/** The names' column is as wide as nearly all of them need. */
function measureNames() {
  const lengths = data.tests.map((name, row) => name.length + 8 * tagsAt(row).length).sort((one, other) => one - other);
  const most = lengths[Math.floor(0.95 * (ROWS - 1))] ?? 0;
  byId("grid").style.setProperty("--name", `minmax(12rem, ${Math.min(30, Math.max(14, 0.48 * most + 3))}rem)`);
}

function drawHeads() {
  const heads = shownDevices().map((device, place) => {
    const head = makeHead(device);
    head.dataset.column = place + 1;
    return head;
  });
  const first = make(
    "div",
    { role: "columnheader", class: "name", "data-column": "0" },
    button(state.folded.size ? "Unfold all" : "Fold all", foldAll, { class: "quiet" }),
  );
  byId("heads").replaceChildren(
    first,
    ...heads,
    make("div", { role: "columnheader", class: "what" }, "change and message"),
  );
  for (const opener of byId("heads").querySelectorAll("button")) opener.tabIndex = -1; // arrow keys come here
}

function makeHead(device) {
  const { name, capability, architecture, evidence, missing, counts } = data.devices[device];
  const bar = make("span", { class: "share", "aria-hidden": "true" });
  for (const [, , number, standing] of counts) {
    const part = make("span", { "data-standing": standing });
    part.style.flexGrow = number;
    bar.append(part);
  }
  const about = [capability, architecture].filter(Boolean).join(" ");
  const opener = button([], () => openPanel([-1, device], true), {
    class: "head",
    title: [name, about, missing || evidence].filter(Boolean).join(", "),
  });
  opener.append(
    make("span", { class: "device" }, name),
    make("span", { class: "facts" }, about),
    make("span", { class: missing ? "known is-missing" : "known" }, missing ? "missing" : evidence),
    bar,
  );
  return make("div", { role: "columnheader" }, opener);
}

function foldAll() {
  if (state.folded.size) state.folded.clear();
  else data.files.forEach((_, file) => state.folded.add(file));
  arrange();
  move(-1, 0);
}
