// The whole matrix in one narrow picture beside it: devices from left to right, all tests from top to bottom.

const FEWEST = 60; // tests: fewer are seen at a glance as they are
const GUTTER = 8; // pixels left of the devices, for the ticks of what is red

let stripColours = null;

/** The colours that the style sheet gives to the looks, as a canvas takes them. */
function colours() {
  if (stripColours) return stripColours;
  const probe = make("span");
  byId("strip").append(probe);
  stripColours = new Map(
    [...LOOKS, "red", "ink", "paper"].map((look) => {
      probe.style.color = `var(--strip-${look})`;
      return [look, getComputedStyle(probe).color];
    }),
  );
  probe.remove();
  return stripColours;
}

function forgetColours() {
  stripColours = null;
  painted = "";
}

let painted = "";

/** Paints all tests when something changed, and moves the frame that shows what is in sight. */
function drawStrip() {
  const strip = byId("strip");
  strip.hidden = ROWS < FEWEST || !grid.lines.length;
  if (strip.hidden) return;
  const canvas = byId("strip-canvas");
  const size = [canvas.clientWidth, canvas.clientHeight, devicePixelRatio];
  const key = [
    size,
    [...state.devices],
    state.view,
    state.text,
    JSON.stringify(Object.values(state.chosen).map((values) => [...values])),
  ].join();
  if (key !== painted && size[0] && size[1]) {
    painted = key;
    paint(canvas, size);
  }
  moveFrame();
}

function paint(canvas, [width, height, ratio]) {
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  const devices = shownDevices();
  const wide = (width - GUTTER) / Math.max(1, devices.length);
  const shown = new Uint8Array(ROWS);
  for (const row of grid.passing) shown[row] = 1;
  const steps = Math.min(ROWS, Math.round(height));
  const tall = height / steps;
  for (let step = 0; step < steps; step++) {
    const [from, to] = [Math.floor((step * ROWS) / steps), Math.floor(((step + 1) * ROWS) / steps)];
    paintStep(context, { devices, wide, tall, top: step * tall, rows: [from, to], shown });
  }
}

/** A few tests as one line of the picture: on each device the strongest look among them, red ones ticked besides. */
function paintStep(context, { devices, wide, tall, top, rows: [from, to], shown }) {
  const any = shown.subarray(from, to).some(Boolean);
  context.globalAlpha = any ? 1 : 0.35;
  let red = false;
  devices.forEach((device, place) => {
    let look = "absent";
    for (let row = from; row < to; row++) {
      const kind = kindOf(row, device);
      if (lookWeight.get(kind.look) > lookWeight.get(look)) look = kind.look;
      red ||= kind.red;
    }
    context.fillStyle = colours().get(look);
    context.fillRect(GUTTER + place * wide, top, wide - 0.5, Math.max(tall - (tall > 3 ? 0.5 : 0), 0.5));
  });
  for (let row = from; row < to && !red; row++) red = tagsAt(row).some((item) => item.red);
  if (!red) return;
  context.globalAlpha = 1;
  context.fillStyle = colours().get("red");
  context.fillRect(0, top + tall / 2 - 1, GUTTER - 2, 2);
}

function moveFrame() {
  const [first, last] = inSight();
  const tests = grid.lines.slice(first, last).filter((value) => value >= 0);
  const frame = byId("strip-frame");
  frame.hidden = !tests.length;
  if (!tests.length) return;
  const height = byId("strip-canvas").clientHeight;
  frame.style.top = `${(tests[0] / ROWS) * height}px`;
  frame.style.height = `${Math.max(((tests.at(-1) - tests[0] + 1) / ROWS) * height, 4)}px`;
}

/** Scrolls to the shown test nearest to a place of the picture. */
function onStripPoint(event) {
  if (event.type === "pointermove" && !event.buttons) return;
  const box = byId("strip-canvas").getBoundingClientRect();
  const row = Math.floor(((event.clientY - box.top) / box.height) * ROWS);
  let nearest = 0;
  grid.lines.forEach((value, line) => {
    if (value >= 0 && (grid.lines[nearest] < 0 || Math.abs(value - row) < Math.abs(grid.lines[nearest] - row)))
      nearest = line;
  });
  const middle = (innerHeight + byId("heads").getBoundingClientRect().bottom) / 2;
  scrollBy(0, byId("lines").getBoundingClientRect().top + nearest * grid.height - middle);
}
