// Elements. Whatever comes from the data becomes text, or the value of one of a few harmless attributes.

const HARMLESS =
  /^(class|id|role|type|name|value|for|title|tabindex|placeholder|open|scope|autocomplete|spellcheck|aria-[a-z]+|data-[a-z]+)$/;
const SVG_HARMLESS = /^(class|role|viewBox|preserveAspectRatio|aria-[a-z]+|d|points|x|y|x1|x2|y1|y2|width|height)$/;

const byId = (id) => document.getElementById(id);

/** An element with attributes and children; a string becomes a text node, nothing at all becomes nothing. */
function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, HARMLESS, children);
}

function makeSvg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, SVG_HARMLESS, children);
}

function fill(element, attributes, harmless, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (!harmless.test(name)) throw new Error(`attribute ${name} is not to be set from data`);
    element.setAttribute(name, value === true ? "" : value);
  }
  element.append(
    ...children.flat().filter((child) => child !== null && child !== undefined && child !== false && child !== ""),
  );
  return element;
}

function button(label, act, attributes = {}) {
  const made = make("button", { type: "button", ...attributes }, label);
  made.addEventListener("click", act);
  return made;
}

/** A small swatch, painted as a cell of such a kind. */
function swatch(kind, extra = {}) {
  return make(
    "span",
    {
      class: "mark",
      "data-look": kind.look,
      "data-evidence": kind.evidence,
      "data-change": kind.change || null,
      "data-red": kind.red || null,
      ...extra,
    },
    kind.mark || "",
  );
}

const badge = (text, red) => make("span", { class: red ? "badge is-red" : "badge" }, text);

/** Puts a text on the clipboard; a page opened from a disk may need the older way. */
async function copy(text, from) {
  const label = from.textContent;
  try {
    await navigator.clipboard.writeText(text);
    from.textContent = "Copied";
  } catch {
    from.textContent = "Select and copy by hand";
  }
  setTimeout(() => (from.textContent = label), 1500);
}

function copyable(text) {
  const copying = button("Copy", () => copy(text, copying), { class: "copy" });
  return make("div", { class: "command" }, make("code", {}, text), copying);
}
