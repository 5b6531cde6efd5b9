// Puts the page together.

const THEMES = { auto: "Light or dark as the system", light: "Light", dark: "Dark" };
const THEME_KEY = "gpumatrix-theme";

function remembered() {
  try {
    return localStorage.getItem(THEME_KEY);
  } catch {
    return null; // a page from a disk may have no storage
  }
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = { auto: "◐", light: "☼", dark: "☾" }[theme];
  byId("theme").setAttribute("aria-label", `Colours: ${THEMES[theme]}`);
  byId("theme").title = `Colours: ${THEMES[theme]}`;
  forgetColours();
}

function nextTheme() {
  const names = Object.keys(THEMES);
  const theme = names[(names.indexOf(document.documentElement.dataset.theme) + 1) % names.length];
  try {
    localStorage.setItem(THEME_KEY, theme);
  } catch {
    // then it holds for this page alone
  }
  setTheme(theme);
  draw();
}

function drawFrame() {
  byId("matrix").replaceChildren(
    make("ul", { id: "legend", class: "legend", tabindex: "0", "aria-label": "Legend" }),
    make("div", { id: "bar", class: "bar" }),
    make(
      "div",
      { class: "body" },
      make(
        "div",
        { id: "grid", class: "grid", role: "grid", "aria-label": "Tests by devices" },
        make("div", { id: "heads", class: "heads", role: "row", "aria-rowindex": "1" }),
        make(
          "div",
          { id: "scroller", class: "scroller", role: "presentation" },
          make("div", { id: "lines", class: "lines", role: "rowgroup" }),
        ),
        make("p", { id: "empty", class: "empty" }, ROWS ? "No test passes these filters." : "No test has been run."),
      ),
      make(
        "div",
        { id: "strip", class: "strip", role: "img", "aria-label": `All ${count(ROWS, "test")} at a glance` },
        make("canvas", { id: "strip-canvas" }),
        make("span", { id: "strip-frame", class: "frame" }),
      ),
    ),
  );
}

function listen() {
  let waiting = false;
  const soon = () => {
    if (!waiting) requestAnimationFrame(() => ((waiting = false), draw()));
    waiting = true;
  };
  addEventListener("scroll", soon, { passive: true });
  new ResizeObserver(() => measure()).observe(byId("grid"));
  addEventListener("resize", soon);
  addEventListener("keydown", onKey);
  addEventListener("hashchange", () => restore());
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => (forgetColours(), draw()));
  byId("grid").addEventListener("keydown", onGridKey);
  byId("lines").addEventListener("click", onGridClick);
  byId("lines").addEventListener("pointerover", tell);
  byId("scroller").addEventListener("scroll", () => (byId("heads").scrollLeft = byId("scroller").scrollLeft));
  byId("heads").addEventListener("scroll", () => (byId("scroller").scrollLeft = byId("heads").scrollLeft));
  byId("strip-canvas").addEventListener("pointerdown", onStripPoint);
  byId("strip-canvas").addEventListener("pointermove", onStripPoint);
  byId("theme").addEventListener("click", nextTheme);
  byId("help-button").addEventListener("click", openHelp);
  addEventListener("pointerdown", ({ target }) => {
    for (const facet of document.querySelectorAll(".facet[open]")) if (!facet.contains(target)) facet.open = false;
  });
}

/** A cell's words as its tooltip, made when the pointer comes. */
function tell({ target }) {
  if (target.title || !target.matches(".cell, .label *, .message")) return;
  target.title = target.getAttribute("aria-label") ?? (target.closest(".label") ?? target).textContent;
}

function print(starts) {
  grid.printing = starts;
  draw();
  const more = grid.lines.length - MOST_PRINTED;
  byId("lines").dataset.more = starts && more > 0 ? `and ${more.toLocaleString("en")} more lines` : "";
}

/** The view that the address asks for. */
function restore() {
  fromAddress();
  const cell = state.cell;
  arrange();
  showState();
  if (!cell) return byId("panel").hidden || closePanel();
  const line = grid.lines.indexOf(cell[0]);
  if (line >= 0) {
    setActive(line, cell[1] < 0 ? 0 : shownDevices().indexOf(cell[1]) + 1);
    reveal(line);
  }
  openPanel(cell, false);
}

byId("app").hidden = false;
setTheme(Object.hasOwn(THEMES, remembered()) ? remembered() : "auto");
drawVerdict();
drawRed();
drawFrame();
measureNames();
drawTables();
drawLegend();
drawBar();
drawFoot();
listen();
restore();
performance.mark("interactive");
