// Moving through the matrix: one cell of it has the focus, arrow keys move it.

function setActive(line, column) {
  const old = activeElement();
  if (old) old.tabIndex = -1;
  grid.active = {
    line: Math.min(Math.max(-1, line), grid.lines.length - 1), // -1: the heads
    column: Math.min(Math.max(0, column), shownDevices().length),
  };
}

/** What may have the focus: a cell of a line, or the button in a head. */
function activeElement() {
  const { line, column } = grid.active;
  return line < 0 ? byId("heads").children[column]?.querySelector("button") : grid.made.get(line)?.children[column];
}

/** Brings the active cell into sight and gives it the focus. */
function focusActive() {
  if (grid.active.line >= 0) reveal(grid.active.line);
  draw();
  const cell = activeElement();
  if (!cell) return;
  cell.tabIndex = 0;
  cell.focus({ preventScroll: true });
  cell.scrollIntoView({ block: "nearest", inline: "nearest" });
}

/** Scrolls as little as it takes for a line to stand below the heads and above the panel. */
function reveal(line) {
  const top = byId("lines").getBoundingClientRect().top + line * grid.height;
  const ceiling = barHeight() + byId("heads").offsetHeight;
  const floor = innerHeight - sheetHeight() - grid.height;
  if (top < ceiling) scrollBy(0, top - ceiling - grid.height);
  else if (top > floor) scrollBy(0, top - floor + grid.height);
}

function move(line, column) {
  setActive(line, column);
  focusActive();
  if (state.cell) followActive();
}

/** The open panel shows the cell that the arrow keys come to. */
function followActive() {
  const value = grid.lines[grid.active.line];
  if (value >= 0) openPanel([value, activeDevice()], false);
}

const activeDevice = () => (grid.active.column ? shownDevices()[grid.active.column - 1] : -1);

function pageOfLines() {
  const [first, last] = inSight();
  return Math.max(1, last - first - 2);
}

const MOVES = {
  ArrowDown: ({ line, column }) => [line + 1, column],
  ArrowUp: ({ line, column }) => [line - 1, column],
  ArrowRight: ({ line, column }) => [line, column + 1],
  ArrowLeft: ({ line, column }) => [line, column - 1],
  PageDown: ({ line, column }) => [line + pageOfLines(), column],
  PageUp: ({ line, column }) => [line - pageOfLines(), column],
  Home: ({ line }, far) => [far ? 0 : line, 0],
  End: ({ line }, far) => [far ? grid.lines.length - 1 : line, shownDevices().length],
};

function onGridKey(event) {
  if (event.altKey || event.metaKey) return;
  const far = event.ctrlKey;
  if (event.key in MOVES && (!far || event.key === "Home" || event.key === "End")) {
    event.preventDefault();
    move(...MOVES[event.key](grid.active, far));
  } else if (grid.active.line >= 0 && (event.key === "Enter" || event.key === " ")) {
    event.preventDefault();
    openActive(true);
  }
}

/** Opens the active cell, or folds the active file. */
function openActive(focus) {
  const value = grid.lines[grid.active.line];
  if (value === undefined) return;
  if (value < 0) fold(-1 - value);
  else openPanel([value, activeDevice()], focus);
}

function onGridClick(event) {
  const cell = event.target.closest("[data-column]");
  const line = event.target.closest("[data-line]");
  if (!line) return;
  const what = event.target.closest(".what");
  const devices = shownDevices();
  const row = grid.lines[line.dataset.line];
  const told = what && row >= 0 && devices.length ? devices.indexOf(tellingDevice(row, devices)) + 1 : 0;
  setActive(Number(line.dataset.line), cell ? Number(cell.dataset.column) : told);
  focusActive();
  openActive(matchMedia("(max-width: 700px)").matches);
}

/** Goes to the next (1) or previous (-1) red cell, or red test, of the lines that are shown. */
function goToRed(step) {
  const devices = shownDevices();
  const stops = ({ line, column }) => {
    const row = grid.lines[line];
    if (row < 0) return false;
    return column ? kindOf(row, devices[column - 1]).red : tagsAt(row).some((item) => item.red);
  };
  const width = devices.length + 1;
  const total = grid.lines.length * width;
  let place = Math.max(0, grid.active.line) * width + grid.active.column;
  for (let tried = 0; tried < total; tried++) {
    place = (place + step + total) % total;
    const found = { line: Math.floor(place / width), column: place % width };
    if (stops(found)) return move(found.line, found.column);
  }
  return say("No red test among those that are shown");
}

function isTyping(event) {
  return (
    event.target.matches("input, textarea, select") && event.target.type !== "checkbox" && event.target.type !== "radio"
  );
}

function onKey(event) {
  if (event.key === "Escape") return onEscape(event);
  if (event.ctrlKey || event.altKey || event.metaKey || isTyping(event) || byId("help").open) return;
  const acts = { "/": () => byId("text").focus(), "?": openHelp, n: () => goToRed(1), p: () => goToRed(-1) };
  if (event.key in acts) {
    event.preventDefault();
    acts[event.key]();
  }
}

function onEscape(event) {
  if (byId("help").open) return; // the browser closes it
  const facet = document.querySelector(".facet[open]");
  if (facet) {
    facet.open = false;
    facet.querySelector("summary").focus();
  } else if (!byId("panel").hidden) {
    closePanel();
  } else if (event.target === byId("text") && state.text) {
    byId("text").value = state.text = "";
    refilter();
  }
}
