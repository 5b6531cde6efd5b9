// Which tests and devices are shown, kept in the address so that a link opens the same view.

const VIEWS = {
  red: { label: "Red", holds: isRed },
  changed: { label: "Changed", holds: isChanged },
  look: { label: "Worth a look", holds: isWorthALook },
  all: { label: "All", holds: () => true },
};
// Facets of a cell; one of "change" may be of its test.
const FACETS = {
  change: { label: "Change", of: (kind) => kind.change },
  scope: { label: "Scope", of: (kind) => kind.scope },
  cause: { label: "Cause", of: (kind) => kind.cause },
  outcome: { label: "Outcome", of: (kind) => kind.outcome },
  evidence: { label: "Evidence", of: (kind) => (kind.outcome ? kind.evidence : "") },
};
const LONGEST_NAME_IN_ADDRESS = 300;

// Of each view, which rows are in it (1) and how many.
const inView = Object.fromEntries(
  Object.entries(VIEWS).map(([view, { holds }]) => [view, Uint8Array.from({ length: ROWS }, (_, row) => holds(row))]),
);
const viewCounts = Object.fromEntries(
  Object.entries(inView).map(([view, rows]) => [view, rows.reduce((sum, one) => sum + one, 0)]),
);
const firstView = ROWS > 100 && viewCounts.look > 0 ? "look" : "all";

const state = { view: firstView, text: "", chosen: {}, devices: new Set(), folded: new Set(), cell: null };
const noneChosen = () => Object.fromEntries(Object.keys(FACETS).map((facet) => [facet, new Set()]));
state.chosen = noneChosen();

/** For each facet its values and how many tests have one. */
const facetValues = Object.fromEntries(
  Object.entries(FACETS).map(([facet, { of }]) => {
    const tests = new Map();
    const values = data.kinds.map(of);
    for (let row = 0; row < ROWS; row++) {
      const own = new Set(facet === "change" ? tagsAt(row).map((item) => item.tag) : []);
      for (let device = 0; device < DEVICES; device++) own.add(values[data.cells[row * DEVICES + device]]);
      for (const value of own) if (value) tests.set(value, (tests.get(value) ?? 0) + 1);
    }
    return [facet, [...tests].sort((one, other) => other[1] - one[1])];
  }),
);

const shownDevices = () =>
  [...data.devices.keys()].filter((device) => !state.devices.size || state.devices.has(device));

let haystacks = null;

/** All that the text filter looks through, by row: the name, messages, causes and notes. Made when first asked for. */
function haystack(row) {
  haystacks ??= new Array(ROWS);
  haystacks[row] ??= [
    nameOf(row),
    ...data.devices.map((_, device) => {
      const { message, cause, note, slow } = detailAt(row, device);
      const found = data.causes[cause];
      return [
        textOf(message),
        found?.category,
        found?.reason,
        found?.evidence,
        textOf(note),
        ...(slow ?? []).map(textOf),
      ].join(" ");
    }),
  ]
    .join(" ")
    .toLowerCase();
  return haystacks[row];
}

/** The rows that pass every filter. */
function passingRows() {
  const chosen = Object.entries(state.chosen).filter(([, values]) => values.size);
  const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
  const devices = shownDevices();
  const passes = data.kinds.map((kind) => chosen.every(([facet, values]) => values.has(FACETS[facet].of(kind))));
  const onlyTags = chosen.length === 1 && state.chosen.change.size > 0;
  const found = [];
  for (let row = 0; row < ROWS; row++) {
    if (!inView[state.view][row]) continue;
    const cell = !chosen.length || devices.some((device) => passes[data.cells[row * DEVICES + device]]);
    const tag = onlyTags && tagsAt(row).some((item) => state.chosen.change.has(item.tag));
    if ((cell || tag) && words.every((word) => haystack(row).includes(word))) found.push(row);
  }
  return found;
}

const isFiltered = () =>
  state.text !== "" || state.devices.size > 0 || Object.values(state.chosen).some((values) => values.size);

function toAddress() {
  const address = new URLSearchParams();
  if (state.view !== firstView) address.set("view", state.view);
  if (state.text) address.set("text", state.text);
  for (const [facet, values] of Object.entries(state.chosen)) for (const value of values) address.append(facet, value);
  for (const device of state.devices) address.append("device", data.devices[device].name);
  if (state.cell) {
    const [row, device] = state.cell;
    const name = nameOf(row);
    address.set("test", name.length <= LONGEST_NAME_IN_ADDRESS ? name : `#${row}`);
    if (device >= 0) address.set("on", data.devices[device].name);
  }
  const hash = address.toString();
  if (hash !== location.hash.slice(1)) history.replaceState(null, "", hash ? `#${hash}` : "#");
}

/** Reads the address. A value that this report has not matches no test, so that a link to it does not show others. */
function fromAddress() {
  const address = new URLSearchParams(location.hash.slice(1));
  const deviceNamed = (name) => data.devices.findIndex((device) => device.name === name);
  state.view = Object.hasOwn(VIEWS, address.get("view")) ? address.get("view") : firstView;
  state.text = address.get("text") ?? "";
  state.chosen = noneChosen();
  for (const facet in FACETS) {
    for (const value of address.getAll(facet)) state.chosen[facet].add(value);
  }
  state.devices = new Set(
    address
      .getAll("device")
      .map(deviceNamed)
      .filter((device) => device >= 0),
  );
  state.cell = null;
  const test = address.get("test");
  if (test === null) return;
  const row = /^#\d+$/.test(test) ? Number(test.slice(1)) : data.tests.findIndex((_, other) => nameOf(other) === test);
  if (row >= 0 && row < ROWS) state.cell = [row, deviceNamed(address.get("on"))];
}
