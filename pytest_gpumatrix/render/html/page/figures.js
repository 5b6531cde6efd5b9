// Parts of the panel that measure: metrics against the base, and what earlier runs say.

function metricsPart(metrics) {
  const rows = metrics.map(([name, unit, head, base, moved, noise]) => {
    const change = base === null ? "" : relative(base, head);
    const words = moved
      ? make(
          "span",
          { class: `moved is-${moved}`, title: textOf(noise) },
          `${change} ${moved === "better" ? "better" : "worse"}`,
        )
      : change;
    const label = make("th", { scope: "row" }, textOf(name), make("span", { class: "dim" }, ` ${textOf(unit)}`));
    const cells = [figure(head), base === null ? "" : figure(base)].map((cell) =>
      make("td", { class: "number" }, cell),
    );
    return make("tr", {}, label, cells, make("td", {}, words));
  });
  const heads = ["metric", "head", "base", "change"].map((head) => make("th", { scope: "col" }, head));
  return part(
    "Metrics",
    make(
      "div",
      { class: "scroll" },
      make("table", {}, make("thead", {}, make("tr", {}, heads)), make("tbody", {}, rows)),
    ),
  );
}

function historyPart(history) {
  const lines = [];
  if (history.since) lines.push(`Fails since ${textOf(history.since[0])} (${day(history.since[1])})`);
  lines.push(
    history.flakes
      ? `Flaky: ${history.flakes} of ${count(history.of, "result")}, ${history.rate}`
      : `${count(history.of, "result")}, none flaky`,
  );
  return part(
    "History",
    lines.map((line) => make("p", {}, line)),
    history.results.length ? pastResults(history.results) : null,
    history.trends.map(([name, points]) => trend(textOf(name), points)),
  );
}

/** The newest results, oldest first: a bar for each, tall where it is bad. */
function pastResults(results) {
  const bad = new Set(["failed", "error", "crashed", "timeout"]);
  const bars = results.map(([commit, time, outcome, reruns]) => {
    const words = `${textOf(commit)} ${day(time)}: ${outcome}${reruns ? `, ${count(reruns, "rerun")}` : ""}`;
    return make("span", {
      class: "past",
      "data-bad": bad.has(outcome),
      "data-good": outcome === "passed" || outcome === "xfailed",
      title: words,
    });
  });
  const failed = results.filter(([, , outcome]) => bad.has(outcome)).length;
  return make(
    "div",
    { class: "pasts", role: "img", "aria-label": `${failed} of the last ${count(results.length, "result")} bad` },
    bars,
  );
}

/** A metric over the commits, as a line with its last point and its range. */
function trend(name, points) {
  const values = points.filter(Number.isFinite); // "nan" and "inf" come as words
  if (!values.length) return null;
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const x = (place) => (values.length > 1 ? (place / (values.length - 1)) * 236 + 2 : 120);
  const y = (value) => (high > low ? 36 - ((value - low) / (high - low)) * 32 : 20);
  const line = values.map((value, place) => `${x(place).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  const last = values.at(-1);
  const words = `${name}: ${figure(last)} now, from ${figure(low)} to ${figure(high)} over ${count(values.length, "commit")}`;
  const picture = makeSvg(
    "svg",
    { class: "trend", viewBox: "0 0 240 40", preserveAspectRatio: "none", role: "img", "aria-label": words },
    makeSvg("polyline", { points: line }),
    makeSvg("path", { class: "last", d: `M${x(values.length - 1).toFixed(1)} ${y(last).toFixed(1)}h0` }),
  );
  return make("figure", {}, picture, make("figcaption", {}, words));
}
