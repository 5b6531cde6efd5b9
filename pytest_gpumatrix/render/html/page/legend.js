// What the marks, patterns and corners mean, and which keys there are.

const CORNERS = [
  [["new-failure", "new-test-failing", "first-run-failing"], "newly bad", "bad", "✗"],
  [["fixed"], "fixed", "pass", "✓"],
  [["coverage-lost", "removed"], "coverage lost", "absent", ""],
  [["flaky"], "flaky", "pass", "✓"],
  [["unexpected-pass"], "unexpected pass", "xpass", "X"],
];

const KEYS = [
  ["← ↑ → ↓", "move in the matrix"],
  ["Home End PgUp PgDn", "move far; with Ctrl to the first or last test"],
  ["Enter", "open the cell, or fold the file"],
  ["Esc", "close the panel, or clear the filter"],
  ["n  p", "next and previous red cell"],
  ["/", "filter by text"],
  ["?", "this help"],
];

/** The marks that occur, each with its words; then what the patterns and corners mean. */
function drawLegend() {
  const used = [
    ...new Map(
      data.kinds
        .filter((kind) => kind.outcome && !kind.change && !kind.slow)
        .map((kind) => [`${kind.look} ${kind.evidence} ${kind.words}`, kind]),
    ).values(),
  ];
  const changed = data.kinds.filter((kind) => kind.change);
  const shown = [...used, ...changed.filter((kind) => !used.some((other) => other.words === kind.words))];
  const unique = [...new Map(shown.map((kind) => [kind.words + kind.expected, kind])).values()];
  unique.sort((one, other) => lookWeight.get(other.look) - lookWeight.get(one.look));
  const plain = unique.map((kind) =>
    make("li", {}, swatch({ ...kind, change: "" }), kind.expected ? `${kind.words}, excused` : kind.words),
  );
  const corners = CORNERS.filter(([changes]) => changed.some((kind) => changes.includes(kind.change))).map(
    ([changes, words, look, mark]) =>
      make("li", {}, swatch({ look, evidence: "native", change: changes[0], mark }), words),
  );
  byId("legend").replaceChildren(...plain, ...corners);
}

function openHelp() {
  const rows = KEYS.map(([keys, words]) =>
    make("tr", {}, make("th", { scope: "row" }, make("kbd", {}, keys)), make("td", {}, words)),
  );
  byId("help").replaceChildren(
    make("h2", { id: "help-title" }, "Keys"),
    make("table", {}, make("tbody", {}, rows)),
    button("Close", () => byId("help").close(), { class: "copy" }),
  );
  byId("help").showModal();
}
