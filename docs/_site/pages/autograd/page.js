// The page's controls: the expression, the film's steps, the numbers to drag, and which of the sixty
// lines does what is on the stage. All that is computed is computed by value.js.

import { parse, run } from "./expression.js";
import { Picture } from "./picture.js";
import { framesOf, nodesOf, sentence, short } from "./steps.js";

const EXAMPLES = {
  product: ["(x * w + b) ** 2", { x: 2, w: -3, b: 7 }],
  twice: ["x * x + x", { x: 3 }],
  neuron: ["(x * w + y * v + b).tanh()", { x: 1, w: 0.5, y: -2, v: 0.25, b: 0.3 }],
  paths: ["h = x * w\nh * h + h.relu()", { x: 2, w: 0.75 }],
  dead: ["(x * w + b).relu()", { x: 1, w: 2, b: -3 }],
  sigmoid: ["1 / (1 + (-x).exp())", { x: 0.5 }],
  loss: ["p = 1 / (1 + (-x * w).exp())\n-p.log()", { x: 2, w: 0.4 }],
};
const PAUSE = 1700; // ms that each step of the film is shown
const FLOW = 900; // ms that numbers are seen to flow, each way, after one was dragged
const LITTLE = 1e-4; // by how much a number grows, to try what its gradient says

const $ = (id) => document.getElementById(id);
const still = matchMedia("(prefers-reduced-motion: reduce)");
const state = { program: null, numbers: {}, nodes: [], frames: [], leaves: new Map(), at: 0, timer: 0, flow: 0 };
let picture = null;

// ---- the graph -------------------------------------------------------------------------------------

/** Read the expression. What is wrong is said, and the stage keeps what it had. */
function read() {
  try {
    state.program = parse($("expression").value);
    compute();
  } catch (error) {
    complain(error);
    return false;
  }
  const at = { ...state.numbers };
  state.numbers = Object.fromEntries(state.program.free.map((name) => [name, at[name] ?? 1]));
  rows();
  redraw();
  return true;
}

/** Compute with the numbers as they are. Raises what the Python would raise. */
function compute() {
  const { root, leaves, named } = run(state.program, state.numbers);
  state.nodes = nodesOf(root, leaves, named);
  state.frames = framesOf(state.nodes);
  state.leaves = leaves;
  $("error").textContent = "";
}

function complain(error) {
  $("error").textContent = `${error.name}: ${error.message}`;
}

function redraw() {
  picture = new Picture($("picture"), state.nodes, $("stage").clientWidth - 28);
  show(Math.min(state.at, state.frames.length - 1), false);
}

/** A number has changed: the same graph, other numbers. */
function set(name, value) {
  if (!Number.isFinite(value)) return;
  const before = state.numbers[name];
  state.numbers[name] = value;
  try {
    compute();
  } catch (error) { // as log of a negative number: leave the stage as it was
    complain(error);
    state.numbers[name] = before;
    compute();
    complain(error);
  }
  picture.nodes = state.nodes;
  show(state.at, false);
  flow(name);
  remember();
}

/** The new number runs forward through all that depends on it; then the gradients run back. */
function flow(name) {
  clearTimeout(state.flow);
  const id = state.nodes.findIndex((node) => node.value === state.leaves.get(name));
  if (id < 0) return;
  picture.flow("forward", id);
  state.flow = setTimeout(() => {
    picture.flow("backward");
    state.flow = setTimeout(() => show(state.at, false), FLOW);
  }, FLOW);
}

// ---- the film --------------------------------------------------------------------------------------

function show(at, moving) {
  clearTimeout(state.flow);
  state.at = at;
  const frame = state.frames[at];
  picture.paint(frame, moving && !still.matches);
  $("caption").textContent = sentence(frame, state.nodes);
  $("steps").max = state.frames.length - 1;
  $("steps").value = at;
  $("steps").setAttribute("aria-valuetext", `step ${at} of ${state.frames.length - 1}`);
  $("count").textContent = `${at} / ${state.frames.length - 1}`;
  $("back").disabled = at === 0;
  $("forth").disabled = at === state.frames.length - 1;
  light(frame);
  measured();
  table();
  $("picture").setAttribute("aria-label", `The graph: ${picture.words()}`);
}

function play() {
  if (state.at === state.frames.length - 1) show(0, false);
  $("play").textContent = "Pause";
  const next = () => {
    if (state.at >= state.frames.length - 1) { pause(); return; }
    show(state.at + 1, true);
    state.timer = setTimeout(next, PAUSE);
  };
  state.timer = setTimeout(next, 300);
}

function pause() {
  clearTimeout(state.timer);
  state.timer = 0;
  $("play").textContent = "Play";
}

function step(by) {
  pause();
  const at = Math.min(state.frames.length - 1, Math.max(0, state.at + by));
  if (at !== state.at) show(at, by > 0);
}

// ---- the sixty lines -------------------------------------------------------------------------------

const METHOD = { "+": "__add__", "*": "__mul__", "**": "__pow__" };
let lines = [];

/** Wrap each line of the code, once, so that it can be lit. */
function wrap() {
  const code = $("sixty");
  const text = code.textContent.replace(/\n$/, "").split("\n");
  code.replaceChildren(...text.map((line) => {
    const span = document.createElement("span");
    span.className = "line";
    span.textContent = line || " ";
    return span;
  }));
  lines = [...code.children];
}

/** The lines from the one that has `first` to the next blank one. */
function part(first) {
  const from = lines.findIndex((line) => line.textContent.includes(first));
  const length = lines.slice(from).findIndex((line) => !line.textContent.trim());
  return lines.slice(from, length < 0 ? undefined : from + length);
}

function light(frame) {
  for (const line of lines) line.classList.remove("forward", "backward");
  const op = frame.node === null ? "" : state.nodes[frame.node].value.op;
  if (frame.kind === "forward")
    part(`def ${METHOD[op] ?? (op.startsWith("**") ? "__pow__" : op)}(`).forEach((l) => l.classList.add("forward"));
  const walk = part("def backward(");
  if (frame.kind === "seed") walk[2].classList.add("backward");
  if (frame.kind === "backward") walk.slice(3).forEach((l) => l.classList.add("backward"));
  const lit = lines.find((line) => line.classList.contains("forward") || line.classList.contains("backward"));
  const box = $("sixty-pre"); // where it is too low to show all lines, it scrolls to those; the page stays
  if (!lit || box.scrollHeight <= box.clientHeight) return;
  const seen = Math.min(box.clientHeight, innerHeight - box.getBoundingClientRect().top);
  box.scrollTop += lit.getBoundingClientRect().top - box.getBoundingClientRect().top - seen / 3;
}

// ---- the numbers to drag ---------------------------------------------------------------------------

function element(name, attributes = {}, text = "") {
  const found = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
  found.textContent = text;
  return found;
}

function rows() {
  $("leaves").replaceChildren(...state.program.free.map((name) => {
    const value = state.numbers[name], id = `leaf-${name}`;
    const row = element("div", { class: "leaf-row" });
    const most = Math.max(5, 2 * Math.ceil(Math.abs(value)));
    const slider = element("input", { type: "range", id, min: -most, max: most, step: 0.05 });
    const exact = element("input", { type: "number", step: "any", "aria-label": `${name}, exactly` });
    slider.value = exact.value = value;
    slider.addEventListener("input", () => { exact.value = slider.value; done(); set(name, Number(slider.value)); });
    exact.addEventListener("input", () => { slider.value = exact.value; done(); set(name, exact.valueAsNumber); });
    row.append(element("label", { for: id }, name), slider, exact, element("p", { class: "tried", id: `tried-${name}` }));
    return row;
  }));
}

/** Whoever drags wants to see what comes of it: the film goes to its end. */
function done() {
  pause();
  state.at = state.frames.length - 1;
}

/** Beside each number: what its gradient says, and what trying says. */
function measured() {
  const end = state.frames.at(-1);
  for (const [name, value] of state.leaves) {
    const place = $(`tried-${name}`);
    const id = state.nodes.findIndex((node) => node.value === value);
    if (state.at < state.frames.length - 1 || id < 0) {
      place.textContent = id < 0 ? "the result does not depend on it" : "\u00a0";
      continue;
    }
    let tried;
    try {
      const at = (by) => run(state.program, { ...state.numbers, [name]: state.numbers[name] + by }).root.data;
      tried = short(Number(((at(LITTLE) - at(-LITTLE)) / (2 * LITTLE)).toPrecision(6)));
    } catch { tried = "an error"; }
    place.replaceChildren("gradient ", element("b", {}, short(end.grads.get(id) ?? 0)), `; tried, by a step of ${LITTLE}: ${tried}`);
  }
}

/** All numbers as a table, for whoever does not see the picture. */
function table() {
  const frame = state.frames[state.at];
  $("values").replaceChildren(...state.nodes.map((node) => {
    const row = element("tr");
    const from = node.inputs.map((i) => state.nodes[i].name || short(state.nodes[i].value.data)).join(", ");
    const name = node.kind === "op" ? `${node.value.op} of ${from}${node.name ? ` (${node.name})` : ""}` : node.name || "a constant";
    row.append(element("th", { scope: "row" }, name),
      element("td", {}, frame.known.has(node.id) ? short(node.value.data) : "not yet"),
      element("td", {}, frame.grads.has(node.id) ? short(frame.grads.get(node.id)) : "not yet"));
    return row;
  }));
}

/** Boxes of leaves are dragged sideways, too: 100 pixels are 2. */
function drag() {
  $("picture").addEventListener("pointerdown", (event) => {
    const node = picture.nodeOf(event.target);
    if (node?.kind !== "leaf") return;
    event.preventDefault();
    done();
    const name = node.name, from = state.numbers[name], x = event.clientX;
    const move = (e) => {
      const value = Math.round((from + (e.clientX - x) / 50) * 100) / 100;
      for (const input of $(`leaf-${name}`).parentElement.querySelectorAll("input")) input.value = value;
      set(name, value);
    };
    const stop = () => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", stop);
      removeEventListener("pointercancel", stop);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", stop);
    addEventListener("pointercancel", stop);
  });
}

// ---- the address -----------------------------------------------------------------------------------

/** The expression and its numbers stand in the address, so that a link shows the same. */
function remember() {
  const words = new URLSearchParams({ e: $("expression").value, ...state.numbers });
  history.replaceState(null, "", `#${words}`);
}

function fromAddress() {
  const words = new URLSearchParams(location.hash.slice(1));
  if (!words.has("e")) return false;
  $("expression").value = words.get("e");
  $("example").value = "own";
  state.numbers = {};
  for (const [name, value] of words)
    if (name !== "e" && Number.isFinite(Number(value))) state.numbers[name] = Number(value);
  return true;
}

function example(name) {
  const [expression, numbers] = EXAMPLES[name];
  pause();
  $("example").value = name;
  $("expression").value = expression;
  state.numbers = { ...numbers };
  state.at = 0;
  read();
}

function begin() {
  wrap();
  drag();
  $("example").addEventListener("change", (event) => {
    if (event.target.value === "own") { $("expression").focus(); return; }
    example(event.target.value);
    remember();
    start();
  });
  $("expression").addEventListener("input", () => {
    pause();
    $("example").value = "own";
    state.at = Infinity; // what is typed is shown as it ends
    if (read()) { show(state.frames.length - 1, false); remember(); }
  });
  $("play").addEventListener("click", () => (state.timer ? pause() : play()));
  $("back").addEventListener("click", () => step(-1));
  $("forth").addEventListener("click", () => step(1));
  $("steps").addEventListener("input", (event) => { pause(); show(Number(event.target.value), false); });
  $("stage").addEventListener("keydown", (event) => {
    if (event.target.matches("input, select, textarea, button, summary")) return;
    if (event.key === "ArrowRight") step(1);
    else if (event.key === "ArrowLeft") step(-1);
    else if (event.key === " ") { event.preventDefault(); $("play").click(); }
  });
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; redraw(); } });
  addEventListener("hashchange", () => { if (fromAddress()) { pause(); read(); } });

  const given = fromAddress();
  if (!given || !read()) example("product");
  if (given) show(state.frames.length - 1, false);
  else start();
}

/** The film runs once; whoever wants less motion sees its end. */
function start() {
  pause();
  if (still.matches) show(state.frames.length - 1, false);
  else play();
}

begin();
