// What a cell prints, shows, gives and raises, as elements of the page.

function block(name, text = "") {
  const around = document.createElement("div");
  around.className = `output ${name}`;
  const inner = document.createElement("pre");
  inner.textContent = text;
  inner.tabIndex = 0; // a wide one can be scrolled with the keyboard
  inner.setAttribute("role", "group");
  inner.setAttribute("aria-label", name.includes("error") ? "error" : "text output");
  around.append(inner);
  return around;
}

/** Write an item of a running cell into an element. */
export function show(element, item) {
  if (item.kind === "clear") {
    element.replaceChildren();
  } else if (item.kind === "text") {
    const name = item.stream === "stderr" ? "stream stderr" : "stream";
    const last = element.lastElementChild;
    if (last?.className === `output ${name}`) last.firstChild.textContent += item.text;
    else element.append(block(name, item.text));
  } else {
    const before = item.id ? element.querySelector(`[data-display="${CSS.escape(item.id)}"]`) : null;
    const picture = before ?? document.createElement("div");
    picture.className = "output text_html output-html";
    if (item.id) picture.dataset.display = item.id;
    picture.innerHTML = item.html;
    if (!before) element.append(picture);
  }
}

/** Write what a cell came to. */
export function showResult(element, result) {
  if (result.value?.html) show(element, { kind: "html", ...result.value });
  else if (result.value) element.append(block("text_plain", result.value.text));
  if (result.stopped) {
    const why = { stop: "Stopped.", time: "Stopped: it took longer than its time." }[result.stopped];
    element.append(block("error", why));
  } else if (result.error?.text) {
    element.append(block("error", result.error.text));
  }
}
