// The playground: an editor, Python in a frame, what comes of it, and an address that has the code.
// Nothing runs before somebody presses Run, and wherever the code came from, it runs in a frame that
// has no access to this page or to what was done in the chapters: ../live/frame.js.

import { pack, unpack } from "./address.js";

const FIRST = "walk";
const $ = (id) => document.getElementById(id);
const SAID = {
  off: "Python is loaded with the first run: 24 MB, once.",
  starting: "Python is being loaded …",
  ready: "Ready.",
  running: "Running …",
  failed: "Python could not be loaded. Is this page served by a web server?",
};
let python = null, running = false, writing = 0, own = "";

// ---- Python, where this copy of the site has it ------------------------------------------------------

/** What `make site` puts beside this page. In a copy made without it, code can be read and shared. */
async function begin() {
  await fromAddress(); // first: what is typed while Python's frame is made must stay
  try {
    const [framing, editing] = await Promise.all(
      ["frame.js", "editor.js"].map((name) => import(`../live/${name}`)));
    const style = Object.assign(document.createElement("link"), { rel: "stylesheet", href: "live/live.css" });
    document.head.prepend(style); // the page's own rules come later, and count
    python = await framing.frame($("output"), { onState });
    editing.editor($("code"), { label: "Python", onRun: run, onChange: changed });
    onState("off");
  } catch {
    $("state").textContent = "This copy of the site has no Python: `make site` builds one that has.";
    $("code").addEventListener("input", changed);
  }
}

function onState(state) {
  $("state").textContent = SAID[state] ?? state;
  running = state === "running" || (running && state === "starting");
  $("run").disabled = running;
  $("stop").disabled = !running;
}

async function run() {
  if (!python || running) return;
  running = true;
  $("run").disabled = true;
  $("stop").disabled = false;
  const place = $("output");
  place.setAttribute("aria-busy", "true");
  const result = await python.run($("code").value);
  place.setAttribute("aria-busy", "false");
  running = false;
  $("run").disabled = false;
  $("stop").disabled = true;
  const why = { stop: "Stopped. ", time: "Stopped, after two minutes. " }[result.stopped];
  if (why) $("state").textContent = why + (SAID[python.state] ?? "");
  else if (!result.ok) $("state").textContent = result.message ?? "It ended in an error.";
  else if (result.empty) $("state").textContent = "It ran, and had nothing to show.";
  else $("state").textContent = `Done in ${result.seconds.toFixed(result.seconds < 10 ? 1 : 0)} s.`;
}

// ---- the code ----------------------------------------------------------------------------------------

function put(code) {
  const area = $("code");
  area.value = code;
  if (area.redraw) area.redraw();
  else area.rows = Math.max(12, code.split("\n").length);
}

async function example(name) {
  const found = await fetch(`playground/examples/${name}.py`);
  if (!found.ok) return;
  $("example").value = name;
  put(await found.text());
}

/** The address always has what stands in the editor. */
function changed() {
  $("example").value = "own";
  own = $("code").value;
  clearTimeout(writing);
  writing = setTimeout(async () => history.replaceState(null, "", `#${await pack($("code").value)}`), 300);
}

async function fromAddress() {
  const code = await unpack(location.hash);
  const name = /^#example=(\w+)$/.exec(location.hash)?.[1];
  if (code !== null) {
    $("example").value = "own";
    own = code;
    put(code);
  } else {
    const known = [...$("example").options].some((option) => option.value === name && name !== "own");
    if (location.hash.length > 1 && !known)
      $("state").textContent = "This address has no code that can be read: was a part of it cut off?";
    await example(known ? name : FIRST);
  }
}

async function share() {
  clearTimeout(writing);
  history.replaceState(null, "", `#${await pack($("code").value)}`);
  try {
    await navigator.clipboard.writeText(location.href);
    $("shared").textContent = "The address is copied. Whoever opens it sees this code.";
  } catch { // not allowed, as without https
    $("shared").textContent = "Copy the address above: it has this code.";
  }
}

$("run").addEventListener("click", run);
$("stop").addEventListener("click", () => python?.stop());
$("share").addEventListener("click", share);
$("example").addEventListener("change", async (event) => {
  const name = event.target.value;
  if (name === "own") { put(own); return; }
  await example(name);
  history.replaceState(null, "", `#example=${name}`);
  python?.clear();
});
addEventListener("hashchange", fromAddress);
begin();
