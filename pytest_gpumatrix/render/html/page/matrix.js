// The matrix: only the lines in sight are elements. A line is a file's head or a test.

const SPARE = 8; // lines above and below what is in sight
const MOST_PRINTED = 500;

const grid = { passing: [], lines: [], made: new Map(), active: { line: 0, column: 0 }, height: 30, printing: false };

/** The lines of the rows that pass: for a file ``-1 - file``, for a test its row. */
function arrange() {
  const before = grid.lines[grid.active.line];
  grid.passing = passingRows();
  grid.lines = [];
  let file = -1;
  for (const row of grid.passing) {
    if (fileOf[row] !== file) grid.lines.push(-1 - (file = fileOf[row]));
    if (!state.folded.has(file)) grid.lines.push(row);
  }
  if (grid.active.line >= 0) grid.active.line = Math.max(0, grid.lines.indexOf(before));
  grid.active.column = Math.min(grid.active.column, shownDevices().length);
  redraw();
}

/** Makes all lines anew: after a filter, a fold or a change of the columns. */
function redraw() {
  const had = byId("grid").contains(document.activeElement);
  grid.made.clear();
  byId("lines").replaceChildren();
  byId("grid").style.setProperty("--columns", shownDevices().length);
  byId("grid").setAttribute("aria-rowcount", grid.lines.length + 1);
  byId("grid").setAttribute("aria-colcount", shownDevices().length + 2);
  byId("empty").hidden = grid.lines.length > 0;
  drawHeads();
  measure();
  if (had) focusActive();
}

function measure() {
  grid.height = parseFloat(getComputedStyle(byId("grid")).getPropertyValue("--line-height"));
  byId("lines").style.height = `${grid.lines.length * grid.height}px`;
  for (const [line, element] of grid.made) element.style.top = `${line * grid.height}px`;
  byId("matrix").style.setProperty("--bar", `${barHeight()}px`);
  draw();
}

/** How much of the window's head the bar keeps: nothing on a phone, where it scrolls away. */
const barHeight = () => (getComputedStyle(byId("bar")).position === "sticky" ? byId("bar").offsetHeight : 0);

/** First line in sight, and the one after the last. */
function inSight() {
  if (grid.printing) return [0, Math.min(grid.lines.length, MOST_PRINTED)];
  const top = byId("lines").getBoundingClientRect().top;
  const first = Math.floor((byId("heads").getBoundingClientRect().bottom - top) / grid.height);
  const last = Math.ceil((innerHeight - top) / grid.height);
  return [Math.max(0, first), Math.min(grid.lines.length, Math.max(0, last))];
}

function draw() {
  const [first, last] = inSight();
  const wanted = new Set();
  for (let line = Math.max(0, first - SPARE); line < Math.min(grid.lines.length, last + SPARE); line++)
    wanted.add(line);
  if (grid.lines.length) wanted.add(Math.max(0, grid.active.line)); // else focus would be lost by scrolling
  for (const [line, element] of grid.made) {
    if (!wanted.has(line)) {
      element.remove();
      grid.made.delete(line);
    }
  }
  let next = byId("lines").firstChild;
  for (const line of [...wanted].sort((one, other) => one - other)) {
    let element = grid.made.get(line);
    if (element === undefined) {
      element = makeLine(line);
      grid.made.set(line, element);
      byId("lines").insertBefore(element, next);
    }
    next = element.nextSibling;
  }
  drawStrip();
}

function makeLine(line) {
  const value = grid.lines[line];
  const element = value < 0 ? makeFileLine(-1 - value) : makeTestLine(value);
  element.setAttribute("aria-rowindex", line + 2);
  element.style.top = `${line * grid.height}px`;
  element.dataset.line = line;
  [...element.children].forEach((child, column) => {
    if (child.classList.contains("what")) return;
    child.dataset.column = column;
    child.tabIndex = line === grid.active.line && column === grid.active.column ? 0 : -1;
  });
  return element;
}

function makeTestLine(row) {
  const tags = tagsAt(row).map(({ tag, red }) => badge(tag, red));
  const devices = shownDevices();
  const cells = devices.map((device) => {
    const cell = swatch(kindOf(row, device), { role: "gridcell", "aria-label": cellWords(row, device) });
    cell.classList.add("cell");
    return cell;
  });
  const name = make("div", { role: "rowheader", class: "name" }, labelOf(data.tests[row]), tags);
  const line = make("div", { role: "row", class: "line" }, name, cells, whatOf(row, devices));
  if (state.cell?.[0] === row) markOpen(line, devices);
  return line;
}

/** A name whose parameters, which tell it from its like, give way last where it is too long. */
function labelOf(name) {
  const place = name.indexOf("[");
  const [stem, parameters] = place > 0 ? [name.slice(0, place), name.slice(place)] : [name, ""];
  return make(
    "span",
    { class: "label" },
    make("span", { class: "stem" }, stem),
    parameters && make("span", { class: "parameters" }, parameters),
  );
}

/** What a row has to say, in short: its change and the message of the cell that tells most. */
function whatOf(row, devices) {
  const what = make("div", { role: "gridcell", class: "what" });
  if (!devices.length) return what;
  const device = tellingDevice(row, devices);
  const kind = kindOf(row, device);
  if (kind.change) what.append(badge(kind.change, kind.red), make("span", { class: "scope" }, kind.scope));
  if (kind.cause) what.append(make("span", { class: "cause" }, kind.cause));
  what.append(make("span", { class: "message" }, textOf(detailAt(row, device).message).split("\n", 1)[0]));
  return what;
}

const fileSummaries = new Map();

/** For each device the strongest look among a file's cells, and how many are bad. */
function summarise(file) {
  if (!fileSummaries.has(file)) {
    const found = data.devices.map(() => ({ look: "absent", bad: 0 }));
    for (let row = firstRow[file]; row < firstRow[file] + data.files[file][1]; row++) {
      found.forEach((summary, device) => {
        const { look } = kindOf(row, device);
        if (lookWeight.get(look) > lookWeight.get(summary.look)) summary.look = look;
        summary.bad += look === "bad" || look === "old";
      });
    }
    fileSummaries.set(file, found);
  }
  return fileSummaries.get(file);
}

function makeFileLine(file) {
  const [name, tests] = data.files[file];
  const folded = state.folded.has(file);
  const cells = shownDevices().map((device) => {
    const { look, bad } = summarise(file)[device];
    const words = `${data.devices[device].name}: ${bad ? `${bad} bad of ${count(tests, "test")}` : LOOK_WORDS[look]}`;
    return make(
      "div",
      { role: "gridcell", class: "sum", "data-look": look, "aria-label": words },
      bad ? String(bad) : "",
    );
  });
  const label = labelOf(name || "(no file)");
  const head = make(
    "div",
    { role: "rowheader", class: "name", "aria-expanded": String(!folded) },
    make("span", { class: "fold", "aria-hidden": "true" }, folded ? "▸" : "▾"),
    label,
    make("span", { class: "count" }, tests.toLocaleString("en")),
  );
  return make(
    "div",
    { role: "row", class: "line file" },
    head,
    cells,
    make("div", { role: "gridcell", class: "what" }),
  );
}

function fold(file) {
  if (!state.folded.delete(file)) state.folded.add(file);
  arrange();
}

function markOpen(line, devices) {
  const column = devices.indexOf(state.cell[1]) + 1;
  line.classList.add("is-open");
  line.children[column]?.classList.add("is-open");
}

/** Shows which cell the panel is about. */
function showOpen() {
  for (const element of byId("lines").querySelectorAll(".is-open")) element.classList.remove("is-open");
  if (!state.cell) return;
  const element = grid.made.get(grid.lines.indexOf(state.cell[0]));
  if (element) markOpen(element, shownDevices());
}
