// The panel: all that the report has to tell of a cell, a test or a device. Beside the matrix, or a sheet on a phone.

let openedFrom = null; // what had the focus when the panel was opened by key or button

/** Opens the panel for ``[row, device]``; device -1 is the whole test, row -1 the device. */
function openPanel(cell, focus) {
  const [row, device] = cell;
  const panel = byId("panel");
  if (panel.hidden || focus) openedFrom = document.activeElement;
  state.cell = row >= 0 ? cell : null;
  const parts = row < 0 ? devicePanel(device) : device < 0 ? testPanel(row) : cellPanel(row, device);
  const close = button("×", closePanel, { class: "quiet close", "aria-label": "Close" });
  panel.replaceChildren(close, ...parts);
  panel.hidden = false;
  panel.scrollTop = 0;
  document.body.classList.add("has-panel");
  measure();
  const line = grid.lines.indexOf(row);
  if (row >= 0 && line >= 0) reveal(line);
  showOpen();
  toAddress();
  if (focus) byId("panel-title").focus({ preventScroll: true });
}

function closePanel() {
  const panel = byId("panel");
  const inside = panel.contains(document.activeElement);
  panel.hidden = true;
  panel.replaceChildren();
  state.cell = null;
  document.body.classList.remove("has-panel");
  measure();
  showOpen();
  toAddress();
  if (!inside) return;
  if (openedFrom?.isConnected && !byId("lines").contains(openedFrom)) openedFrom.focus();
  else focusActive();
}

/** How much of the window's foot a sheet covers. */
function sheetHeight() {
  const panel = byId("panel");
  const box = panel.getBoundingClientRect();
  return panel.hidden || box.left > 0 ? 0 : box.height;
}

const title = (...children) => make("h2", { id: "panel-title", tabindex: "-1" }, ...children);
const part = (name, ...children) => make("section", { class: "part" }, make("h3", {}, name), ...children);

function listPart(name, texts) {
  return part(
    name,
    make(
      "ul",
      {},
      texts.map((text) => make("li", {}, text)),
    ),
  );
}

function facts(pairs) {
  const shown = pairs.filter(([, value]) => value);
  return shown.length
    ? make(
        "dl",
        { class: "facts" },
        shown.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]),
      )
    : null;
}

function testTitle(row, ...before) {
  const file = data.files[fileOf[row]][0];
  return title(...before, make("span", { class: "file" }, file), make("span", { class: "test" }, data.tests[row]));
}

function cellPanel(row, device) {
  const kind = kindOf(row, device);
  const detail = detailAt(row, device);
  const words = make(
    "p",
    { class: "state" },
    swatch(kind),
    make("strong", {}, data.devices[device].name),
    make("span", {}, kind.words),
  );
  if (kind.change) words.append(badge(kind.change, kind.red), make("span", { class: "scope" }, kind.scope));
  return [
    testTitle(row),
    words,
    cellFacts(detail, data.seconds[row * DEVICES + device]),
    detail.message && make("pre", { class: "text", tabindex: "0" }, textOf(detail.message)),
    detail.cause && causePart(data.causes[detail.cause], textOf(detail.message)),
    detail.command && part("Reproduce", copyable(textOf(detail.command))),
    detail.slow && listPart("Slow on the device itself", detail.slow.map(textOf)),
    detail.metrics && metricsPart(detail.metrics),
    detail.history && historyPart(detail.history),
    detail.contradiction &&
      listPart(
        "Files that contradict each other",
        detail.contradiction.map(([file, outcome]) => `${textOf(file)}: ${outcome}`),
      ),
    detail.weaker && listPart("Weaker evidence, not counted", detail.weaker.map(brief)),
    detail.details && part("Details", make("pre", { class: "text", tabindex: "0" }, textOf(detail.details))),
    elsewherePart(row, device),
  ].filter(Boolean);
}

const cellFacts = (detail, ran) =>
  facts([
    ["before", detail.before && brief(detail.before)],
    ["renamed from", textOf(detail.renamed)],
    ["excused by", textOf(detail.expected)],
    ["note", textOf(detail.note)],
    ["numeric drift", textOf(detail.drift)],
    ["requires", textOf(detail.requires)],
    ["at", textOf(detail.place)],
    ["reruns", detail.reruns && String(detail.reruns)],
    ["took", ran ? seconds(ran) : ""],
  ]);

const brief = ([, words, message]) => [words, textOf(message)].filter(Boolean).join(": ");

function causePart(cause, message) {
  const decided = [`confidence ${cause.confidence}`, `rule ${cause.rule}`].join(", ");
  return part(
    "Cause",
    make(
      "p",
      {},
      make("span", { class: "cause" }, cause.category),
      cause.reason ? ` (${cause.reason})` : "",
      " → ",
      make("span", { class: "cause" }, cause.action),
    ),
    cause.advice && make("p", {}, cause.advice),
    cause.note && make("p", { class: "warn" }, cause.note),
    cause.evidence &&
      !message.includes(cause.evidence) &&
      make("pre", { class: "text", tabindex: "0" }, cause.evidence),
    make(
      "p",
      { class: "dim" },
      cause.infra ? `${decided}; the machine is at fault, so nothing is known of the code` : decided,
    ),
  );
}

function elsewherePart(row, device) {
  const others = [...data.devices.keys()].filter((other) => other !== device);
  if (!others.length) return null;
  return part(
    device < 0 ? "Devices" : "On other devices",
    make(
      "ul",
      { class: "others" },
      others.map((other) => make("li", {}, otherDevice(row, other))),
    ),
  );
}

function otherDevice(row, device) {
  const kind = kindOf(row, device);
  const opens = button([], () => openPanel([row, device], true), { class: "quiet other" });
  opens.append(
    swatch(kind),
    make("span", { class: "device" }, data.devices[device].name),
    make("span", { class: "dim" }, kind.words),
    kind.change ? badge(kind.change, kind.red) : "",
  );
  return opens;
}

function testPanel(row) {
  const tags = tagsAt(row);
  const telling = tellingDevice(row, [...data.devices.keys()]);
  const command = telling === undefined ? 0 : detailAt(row, telling).command;
  return [
    testTitle(row),
    tags.length
      ? make(
          "p",
          { class: "state" },
          tags.map(({ tag, red }) => badge(tag, red)),
        )
      : null,
    command ? part("Reproduce", copyable(textOf(command))) : null,
    elsewherePart(row, -1),
  ].filter(Boolean);
}

function devicePanel(device) {
  const { name, capability, architecture, evidence, require, missing, counts } = data.devices[device];
  const rows = counts.map(([mark, words, number]) =>
    make(
      "tr",
      {},
      make("td", {}, mark),
      make("th", { scope: "row" }, words),
      make("td", { class: "number" }, number.toLocaleString("en")),
    ),
  );
  return [
    title(name),
    facts([
      ["capability", capability],
      ["architecture", architecture],
      ["evidence", evidence],
      ["required", require],
      ["missing", missing],
    ]),
    rows.length ? part("Results", make("table", {}, make("tbody", {}, rows))) : make("p", {}, "No results."),
  ];
}
