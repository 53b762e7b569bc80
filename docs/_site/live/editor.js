// A text area for Python: it grows with its text and has colours, which lie behind it.
// Shift+Enter and Ctrl+Enter run, Tab indents, Escape and then Tab leaves.

const KEYWORDS = new Set(
  ("False None True and as assert async await break class continue def del elif else except " +
    "finally for from global if import in is lambda nonlocal not or pass raise return try while " +
    "with yield").split(" "),
);
const TOKEN = new RegExp(
  [
    /(?<comment>#[^\n]*)/,
    /(?<string>\b[rbfu]{0,2}(?:"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)|"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)/,
    /(?<number>\b(?:0[xob][\da-f_]+|\d[\d_]*(?:\.[\d_]*)?(?:e[+-]?\d+)?j?|\.\d+)\b)/,
    /(?<name>[^\W\d]\w*)/,
  ]
    .map((part) => part.source)
    .join("|"),
  "giu",
);
const CLASS = { comment: "c1", string: "s2", number: "mi" }; // as Pygments calls them

/** Fill an element with coloured Python. */
export function colour(element, text) {
  const parts = [];
  let done = 0;
  for (const match of text.matchAll(TOKEN)) {
    const kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
    const name = kind === "name" ? (KEYWORDS.has(match[0]) ? "k" : "") : CLASS[kind];
    if (!name) continue;
    const span = document.createElement("span");
    span.className = name;
    span.textContent = match[0];
    parts.push(text.slice(done, match.index), span);
    done = match.index + match[0].length;
  }
  element.replaceChildren(...parts, text.slice(done) + "\n");
}

let described = 0;

/** Make an editor of a text area that is in the page; gives the element around it. */
export function editor(area, { label, onRun = () => {}, onChange = () => {} }) {
  const around = document.createElement("div");
  around.className = "live-editor highlight";
  const behind = document.createElement("div"); // no pre: the theme makes those focusable
  behind.className = "live-behind";
  behind.setAttribute("aria-hidden", "true");
  const help = document.createElement("span");
  help.className = "live-hidden";
  help.id = `live-help-${++described}`;
  help.textContent = "Shift+Enter runs it. Tab indents; Escape and then Tab leaves the editor.";
  area.replaceWith(around);
  around.append(behind, area, help);
  area.setAttribute("aria-label", label);
  area.setAttribute("aria-describedby", help.id);
  Object.assign(area, { spellcheck: false, autocomplete: "off", rows: 1 });
  for (const name of ["autocapitalize", "autocorrect"]) area.setAttribute(name, "off");

  let leaving = false; // Escape was pressed: Tab leaves
  const draw = () => {
    colour(behind, area.value);
    area.rows = area.value.split("\n").length;
  };
  area.addEventListener("input", () => {
    draw();
    onChange(area.value);
  });
  area.addEventListener("scroll", () => (behind.scrollLeft = area.scrollLeft));
  area.addEventListener("blur", () => (leaving = false));
  area.addEventListener("keydown", (event) => {
    const { key, shiftKey, ctrlKey, metaKey } = event;
    if (key === "Enter" && (shiftKey || ctrlKey || metaKey)) {
      event.preventDefault();
      onRun(shiftKey);
    } else if (key === "Tab" && !shiftKey && !ctrlKey && !metaKey && !leaving) {
      event.preventDefault();
      type(area, "    ");
    } else if (key === "Enter") {
      event.preventDefault();
      type(area, "\n" + indentation(area));
    }
    if (key !== "Tab" && key !== "Shift") leaving = key === "Escape";
  });
  area.redraw = draw;
  draw();
  return around;
}

/** Enter text as if it were typed, so that the browser's undo knows of it. */
function type(area, text) {
  if (!document.execCommand("insertText", false, text)) {
    area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");
    area.dispatchEvent(new Event("input"));
  }
}

/** The blanks that the next line begins with. */
function indentation(area) {
  const line = area.value.slice(0, area.selectionStart).split("\n").pop();
  const blanks = line.match(/^ */)[0];
  return line.trimEnd().endsWith(":") ? blanks + "    " : blanks;
}
