// The report's data, and what is asked of it. Nothing here touches the document but to read the data.
const data = JSON.parse(document.getElementById("data").textContent);
const DEVICES = data.devices.length;
const ROWS = data.tests.length;
const detailOf = new Map(data.details);
const rankOf = new Map(data.ranks);
const textOf = (index) => data.strings[index] ?? "";

// The file of each row, and the first row of each file.
const fileOf = new Uint32Array(ROWS);
const firstRow = [];
data.files.reduce((start, [, count], file) => {
  firstRow.push(start);
  fileOf.fill(file, start, start + count);
  return start + count;
}, 0);

// What is of a test and not of a cell: "never-run", "metric", ...
const tagsOf = new Map();
for (const [row, tag, red] of data.tags) {
  tagsOf.set(row, [...(tagsOf.get(row) ?? []), { tag, red }]);
}

const nameOf = (row) => {
  const file = data.files[fileOf[row]][0];
  return file ? `${file}::${data.tests[row]}` : data.tests[row];
};
const kindOf = (row, device) => data.kinds[data.cells[row * DEVICES + device]];
const detailAt = (row, device) => detailOf.get(row * DEVICES + device) ?? {};
const tagsAt = (row) => tagsOf.get(row) ?? [];

/** Whether a row has a cell, or a tag, of which something holds. */
function rowHas(row, holdsOfKind, holdsOfTag) {
  for (let device = 0; device < DEVICES; device++) {
    if (holdsOfKind(kindOf(row, device))) return true;
  }
  return tagsAt(row).some(holdsOfTag);
}

const isRed = (row) =>
  rowHas(
    row,
    (kind) => kind.red,
    (item) => item.red,
  );
const isChanged = (row) =>
  rowHas(
    row,
    (kind) => kind.change,
    () => true,
  );
const isWorthALook = (row) => rankOf.has(row);

// Painted strongest first: of several cells the strip and a file's line show the first of these.
const LOOKS = ["bad", "unknown", "old", "xpass", "expected", "fits", "posed", "xfail", "pass", "skip", "absent"];
const LOOK_WORDS = {
  unknown: "not known",
  xpass: "unexpected pass",
  expected: "excused",
  fits: "compiled",
  posed: "passed, but not natively",
  xfail: "passed",
  pass: "passed",
  skip: "skipped",
  absent: "no result",
};
const lookWeight = new Map(LOOKS.map((look, place) => [look, LOOKS.length - place]));

/** What a cell says in words, for screen readers and as a tooltip. */
function cellWords(row, device) {
  const kind = kindOf(row, device);
  const parts = [data.devices[device].name, kind.words];
  if (kind.slow) parts.push("slow there");
  if (kind.expected) parts.push("excused by gpumatrix.yml");
  if (kind.change) parts.push(kind.red ? `${kind.change}, red` : kind.change);
  if (kind.cause) parts.push(kind.cause);
  return parts.join(", ");
}

/** The cell of a row that has most to tell: red, then bad, then changed. */
function tellingDevice(row, devices) {
  const weight = (kind) =>
    100 * kind.red + lookWeight.get(kind.look) * (kind.look === "bad" || kind.look === "unknown") + 5 * !!kind.change;
  return devices.reduce(
    (best, device) => (weight(kindOf(row, device)) > weight(kindOf(row, best)) ? device : best),
    devices[0],
  );
}

/** A number to four digits, as the rest of the report writes it; "nan" and "inf" come as words. */
function figure(value) {
  if (typeof value !== "number") return String(value);
  const size = Math.abs(value);
  if (value !== 0 && (size < 1e-4 || size >= 1e12)) return value.toExponential(3);
  if (size >= 1e4) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(4)));
}

function relative(base, head) {
  if (typeof base !== "number" || typeof head !== "number" || base === 0) return "";
  const change = (100 * (head - base)) / Math.abs(base);
  return `${change > 0 ? "+" : ""}${change.toFixed(1)}%`;
}

const seconds = (milliseconds) => (milliseconds < 1000 ? `${milliseconds} ms` : `${figure(milliseconds / 1000)} s`);
const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
const day = (time) => {
  const date = new Date(Number(time) * 1000);
  return Number.isNaN(date.getTime()) ? "" : date.toISOString().slice(0, 10);
};
