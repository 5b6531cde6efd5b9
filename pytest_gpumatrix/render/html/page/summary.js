// What stands above the matrix: the answer, what is red, what is not known, and tables that unfold.

const ICONS = { ok: "✓", regression: "✗", incomplete: "?" };
const WORDS = { ok: "OK", regression: "Regression", incomplete: "Incomplete" };

function drawVerdict() {
  const { word, before, devices, after } = data.answer;
  const named = devices.flatMap((name, place) => [place ? ", " : "", make("b", {}, name)]);
  byId("title").textContent = data.title === "gpumatrix" ? "" : data.title;
  byId("verdict").dataset.conclusion = data.conclusion;
  byId("verdict").replaceChildren(
    make("span", { class: "icon", "aria-hidden": "true" }, ICONS[data.conclusion]),
    make(
      "div",
      {},
      make(
        "p",
        { class: "question" },
        make("span", { class: "conclusion" }, WORDS[data.conclusion]),
        "Did this change break a device?",
      ),
      make("h1", { id: "answer" }, make("span", { class: "word" }, `${word}:`), " ", before, named, after, "."),
      make("p", { class: "headline" }, data.headline),
      noticeList(),
    ),
  );
}

const MOST_NOTICES = 5;

/** What keeps the verdict from knowing; what is more than a few lines unfolds. */
function noticeList() {
  const { rows, total } = data.notices;
  const lines = rows.map(([kind, what, why]) =>
    make(
      "li",
      { "data-kind": kind },
      make("span", { class: "kind" }, kind),
      what ? make("b", {}, what) : "",
      make("span", {}, why),
    ),
  );
  const more = total - Math.min(total, MOST_NOTICES);
  const rest = more
    ? make(
        "details",
        {},
        make("summary", {}, `and ${more.toLocaleString("en")} more`),
        make("ul", { class: "notices" }, lines.slice(MOST_NOTICES)),
      )
    : null;
  return total ? make("div", {}, make("ul", { class: "notices" }, lines.slice(0, MOST_NOTICES)), rest) : null;
}

const MOST_BLOCKS = 6;

function drawRed() {
  const { rows, total } = data.red;
  const blocks = rows.map(redBlock);
  const list = make("ol", { class: "blocks" }, blocks.slice(0, MOST_BLOCKS));
  const rest =
    blocks.length > MOST_BLOCKS
      ? make(
          "details",
          {},
          make("summary", {}, `and ${count(blocks.length - MOST_BLOCKS, "more kind")}`),
          make("ol", { class: "blocks" }, blocks.slice(MOST_BLOCKS)),
        )
      : "";
  byId("red").hidden = !total;
  byId("red").replaceChildren(
    make("h2", {}, "What is red"),
    list,
    rest,
    total > rows.length
      ? make(
          "p",
          { class: "dim" },
          `${count(total - rows.length, "more kind")} not listed: filter the matrix by scope and cause`,
        )
      : "",
  );
}

function redBlock(block) {
  const head = make(
    "p",
    { class: "state" },
    badge(block.change, true),
    make("strong", {}, block.scope),
    [block.devices, `${block.devices} only`].includes(block.scope) ? "" : make("span", { class: "dim" }, block.devices),
  );
  const why = make(
    "p",
    { class: "why" },
    block.cause ? make("span", { class: "cause" }, block.cause) : "",
    block.advice ? make("span", {}, block.advice) : "",
    block.confidence && block.confidence !== "high"
      ? make("span", { class: "dim" }, `(confidence ${block.confidence})`)
      : "",
  );
  const show = button(
    `${count(block.tests, "test")} in the matrix`,
    () => showOnly({ change: block.change, scope: block.scope, cause: block.cause }),
    { class: "link" },
  );
  return make(
    "li",
    { class: "block" },
    head,
    make(
      "p",
      { class: "example" },
      testLink(block.first),
      block.message ? make("span", { class: "message" }, block.message) : "",
    ),
    why,
    show,
  );
}

/** Filters the matrix to the cells of one block, and goes there. */
function showOnly(values) {
  state.view = "red";
  state.chosen = noneChosen();
  state.devices.clear();
  state.text = "";
  for (const [facet, value] of Object.entries(values)) if (value) state.chosen[facet].add(value);
  refilter();
  byId("matrix").scrollIntoView();
  move(
    grid.lines.findIndex((value) => value >= 0),
    0,
  );
}

function testLink({ text, row, device }) {
  if (row === undefined) return make("span", { class: "test" }, text);
  return button(text, () => openPanel([row, device], true), { class: "link test" });
}

const cellOf = (cell) => (typeof cell === "string" ? cell : testLink(cell));

/** A row of buttons, one for each table; the one that is pressed shows its table below. One with red rows is open. */
function drawTables() {
  const region = make("div", { class: "table", id: "table", role: "region", tabindex: "-1" });
  const show = (place) => {
    const table = place === null ? null : data.tables[place];
    openers.forEach((opener, other) => opener.setAttribute("aria-expanded", String(other === place)));
    region.hidden = !table;
    region.setAttribute("aria-label", table?.title ?? "");
    region.replaceChildren(...(table ? tableOf(table) : []));
    measure();
  };
  const openers = data.tables.map((table, place) => {
    const opener = button(table.title, () => show(opener.getAttribute("aria-expanded") === "true" ? null : place), {
      class: "opener",
      "aria-expanded": "false",
      "aria-controls": "table",
    });
    opener.append(make("span", { class: "count" }, table.total.toLocaleString("en")));
    return opener;
  });
  byId("tables").hidden = !openers.length;
  byId("tables").replaceChildren(make("div", { class: "openers" }, openers), region);
  const red = data.tables.findIndex((table) => table.open);
  show(red < 0 ? null : red);
}

function tableOf({ heads, rows, total }) {
  const head = make(
    "thead",
    {},
    make(
      "tr",
      {},
      heads.map((word) => make("th", { scope: "col" }, word)),
    ),
  );
  const body = make(
    "tbody",
    {},
    rows.map((row) =>
      make(
        "tr",
        {},
        row.map((cell) => make("td", {}, cellOf(cell))),
      ),
    ),
  );
  const more =
    total > rows.length
      ? make("p", { class: "dim" }, `and ${(total - rows.length).toLocaleString("en")} more: the JSON report has them`)
      : null;
  return [make("div", { class: "scroll" }, make("table", {}, head, body)), more].filter(Boolean);
}

function drawFoot() {
  const cut = data.cut.length
    ? make("p", {}, `Left out to keep this page small: ${data.cut.join("; ")}. The JSON report has all of it.`)
    : "";
  byId("foot").replaceChildren(
    cut,
    make(
      "p",
      { class: "dim" },
      `${count(ROWS, "test")} on ${count(DEVICES, "device")}. This page asks nothing of any server.`,
    ),
  );
}
