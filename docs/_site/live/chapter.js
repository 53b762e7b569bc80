// Makes a chapter's page live: each cell becomes an editor whose code runs in this page.
// The page has the cells as the notebook has them (docs/_ext/live.py), and shows, until a cell is
// run here, what it showed when the page was built.

import { editor } from "./editor.js";
import { show, showResult } from "./output.js";
import { connect } from "./tutor-client.js";
import { read, write } from "./store.js";

const SECONDS = 600; // a cell of chapter 8 trains for a minute or two, on a slow machine for longer
const SAVED = 300; // milliseconds after the last key

const { chapter, cells } = JSON.parse(document.getElementById("live-cells").textContent);
const places = [...document.querySelectorAll("article div.cell:has(> .cell_input)")];

if (places.length !== cells.length) {
  throw new Error(`the page shows ${places.length} cells, the chapter has ${cells.length}`);
}

function element(name, { text, ...about } = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(about)) made.setAttribute(key, value);
  if (text) made.append(text);
  made.append(...children);
  return made;
}

function button(text, label, onClick) {
  const made = element("button", { type: "button", text, title: label, "aria-label": label });
  made.addEventListener("click", onClick);
  return made;
}

// ---- the bar above the chapter -------------------------------------------------------------------

const status = element("span", { class: "live-status", role: "status" });
const stop = button("Stop", "Stop what runs", () => python.stop());
const words = {
  off: "Python is not loaded yet: it is loaded with the first cell that you run.",
  starting: "Python is being loaded (24 MB the first time) ...",
  ready: "Python is ready.",
  running: "Python is running ...",
  failed: "Python could not be loaded: run a cell to try again.",
};

function say(text) {
  status.textContent = text;
}

const python = connect({
  folder: true,
  onState(state) {
    document.documentElement.dataset.python = state;
    stop.disabled = state !== "running";
    if (words[state]) say(words[state]);
  },
  onTrouble: say,
});

function bar() {
  const file = element("input", { type: "file", accept: ".zip", hidden: "" });
  file.setAttribute("aria-label", "A file that this page has exported");
  file.addEventListener("change", () => file.files[0] && bringIn(file.files[0]));
  return element(
    "div",
    { class: "live-bar", role: "region", "aria-label": "Python in this page" },
    status,
    element(
      "span",
      { class: "live-buttons" },
      stop,
      button("Restart", "Restart Python, and forget what was run", restart),
      button("Export", "Export my_tutor and your progress as a zip file", takeOut),
      button("Import", "Import my_tutor and your progress from a zip file", () => file.click()),
      file,
    ),
  );
}

function restart() {
  python.restart();
  for (const cell of live) cell.state("");
}

async function takeOut() {
  const bytes = await python.pack();
  if (!bytes) return;
  const link = element("a", { download: "my_tutor.zip" });
  link.href = URL.createObjectURL(new Blob([bytes], { type: "application/zip" }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  say("my_tutor.zip has your library and your progress: unpack it beside the chapters.");
}

async function bringIn(file) {
  const question = `Put what ${file.name} has in place of your library and progress in this browser?`;
  if (!confirm(question)) return;
  const answer = await python.unpack(new Uint8Array(await file.arrayBuffer()));
  if (answer.names) say(`${answer.names.length} files are here now. Run the first cell again.`);
  else say(answer.error ?? "It was stopped; nothing has changed.");
}

// ---- the cells -----------------------------------------------------------------------------------

class Cell {
  constructor(place, { id, code, about }, number) {
    Object.assign(this, { place, id, code, number });
    this.name = `<cell ${number} of ${chapter}>`;
    this.label = `cell ${number}${about ? `, ${about}` : ""}`;
    this.area = element("textarea");
    this.area.value = code;
    const input = place.querySelector(":scope > .cell_input");
    input.replaceChildren(this.area);
    editor(this.area, {
      label: `Code of ${this.label}`,
      onRun: (advance) => {
        this.run();
        if (advance) live[number]?.area.focus(); // live counts from 0: the next one
      },
      onChange: () => this.changed(),
    });
    this.mark = element("span", { class: "live-mark" });
    this.back = button("Original", `Original code of ${this.label}: put it back`, () => this.restore());
    this.back.hidden = true;
    input.append(
      element(
        "div",
        { class: "live-cell-bar" },
        button("Run", `Run ${this.label}`, () => this.run()),
        button("Run to here", `Run to here: all cells up to ${this.label}`, () => runTo(number)),
        this.back,
        this.mark,
      ),
    );
    this.output = place.querySelector(":scope > .cell_output") ?? place.appendChild(element("div"));
    this.output.className = "cell_output docutils container";
  }

  set(text) {
    this.area.value = text;
    this.area.redraw();
    this.back.hidden = text === this.code;
  }

  changed() {
    this.back.hidden = this.area.value === this.code;
    clearTimeout(this.saving);
    this.saving = setTimeout(() => this.flush(), SAVED);
  }

  /** Keep at once what still waits for the last key: a page that goes away does not wait. */
  async flush() {
    if (!this.saving) return;
    clearTimeout(this.saving);
    this.saving = 0;
    await this.save();
  }

  save() {
    const key = `${chapter}/${this.id}`;
    const entries = this.back.hidden ? [] : [[key, this.area.value]];
    return write("cells", entries, this.back.hidden ? [key] : []).catch((error) =>
      say(`What you write is not kept in this browser (${error?.message ?? error}).`),
    );
  }

  restore() {
    this.set(this.code);
    this.save();
    this.area.focus();
  }

  state(text) {
    this.mark.textContent = text;
    this.place.dataset.live = text;
  }

  async run() {
    this.state("waiting");
    const saved = this.flush(); // a cell that is done is kept
    const old = this.output;
    let begun = false;
    const begin = () => {
      if (begun) return;
      begun = true;
      old.style.minHeight = `${old.offsetHeight}px`; // nothing jumps while it runs
      old.replaceChildren();
    };
    const onOutput = (item) => {
      begin();
      show(this.output, item);
    };
    const result = await python.run(this.area.value, { name: this.name, seconds: SECONDS, onOutput });
    begin();
    showResult(this.output, result);
    old.style.minHeight = "";
    await saved;
    const seconds = result.seconds < 0.1 ? "" : ` in ${result.seconds.toFixed(1)} s`;
    this.state(result.stopped ? "stopped" : result.ok ? `done${seconds}` : "error");
    if (python.state === "ready") say(`${this.label}: ${this.mark.textContent}.`);
    return result;
  }
}

/** Run all cells up to this one, until one fails. */
async function runTo(number) {
  for (const cell of live.slice(0, number)) {
    const { ok } = await cell.run();
    if (!ok) break;
  }
}

const live = places.map((place, n) => new Cell(place, cells[n], n + 1));

// ---- from here on the page is live ---------------------------------------------------------------

const title = document.querySelector("article h1");
title?.after(bar());
document.documentElement.dataset.live = "begun"; // live.css kept its place
say(words.off);
stop.disabled = true;

try {
  const edited = await read("cells", `${chapter}/`);
  for (const cell of live) {
    const text = edited.get(`${chapter}/${cell.id}`);
    if (text !== undefined && cell.area.value === cell.code) cell.set(text);
  }
} catch (error) {
  say(`What you write is not kept in this browser (${error?.message ?? error}).`);
}
addEventListener("pagehide", () => live.forEach((cell) => cell.flush()));

// Who has been here before has Python at hand: then it is there when the first cell is run.
if (navigator.serviceWorker?.controller) python.start();
// Somebody who goes to a cell is about to run it.
for (const cell of live) cell.area.addEventListener("focus", () => python.start(), { once: true });
document.documentElement.dataset.live = "ready";
