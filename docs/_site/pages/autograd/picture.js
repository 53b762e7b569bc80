// The moving picture: one SVG, drawn anew for each graph, and painted for each frame.

import { arrange } from "./layout.js";
import { called, short } from "./steps.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDE = 94, TALL = 66, MARGIN = 14; // a box, and the room around all
const ACROSS = { gap: 52, lane: 24 }; // between layers, and between the boxes of one, from left to right
const DOWN = { gap: 46, lane: 14 }; // the same on a narrow page, from top to bottom
const SECONDS = 0.7; // that a pulse takes along an edge

function make(name, attributes = {}, parent = null) {
  const found = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
  parent?.append(found);
  return found;
}

export class Picture {
  /** Draw into `svg`. `room` is the page's width: where the graph would not fit, it stands upright. */
  constructor(svg, nodes, room) {
    this.svg = svg;
    this.nodes = nodes;
    this.running = new Set();
    this.labels = [];
    const places = arrange(nodes);
    const width = (layers) => layers * WIDE + (layers - 1) * ACROSS.gap + 2 * MARGIN;
    this.upright = 0.85 * width(places.layers) > room && places.slots < places.layers + 1;
    const spot = (place) => this.upright
      ? { x: MARGIN + WIDE / 2 + place.slot * (WIDE + DOWN.lane), y: MARGIN + TALL / 2 + place.layer * (TALL + DOWN.gap) }
      : { x: MARGIN + WIDE / 2 + place.layer * (WIDE + ACROSS.gap), y: MARGIN + TALL / 2 + place.slot * (TALL + ACROSS.lane) };
    this.at = places.at.map(spot);
    const far = [...this.at, ...[...places.bends.values()].flat().map(spot)];
    this.width = Math.max(...far.map((p) => p.x)) + WIDE / 2 + MARGIN;
    this.height = Math.max(...far.map((p) => p.y)) + TALL / 2 + MARGIN;
    svg.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    svg.setAttribute("width", this.width);
    svg.setAttribute("height", this.height);
    // Narrower than it is, but never so narrow that the letters are too small: then it scrolls.
    svg.style.width = "100%";
    svg.style.maxWidth = `${this.width * 1.25}px`;
    svg.style.minWidth = `${this.width * 0.8}px`;
    svg.style.height = "auto";
    svg.replaceChildren();

    this.edges = new Map();
    const below = make("g", {}, svg);
    for (const node of nodes) {
      const paths = node.inputs.map((input, i) => [this.side(input, 1), ...places.bends.get(`${node.id}:${i}`).map(spot)]);
      const across = (i) => (this.upright ? paths[i].at(-1).x : paths[i].at(-1).y);
      const order = paths.map((_, i) => i).sort((a, b) => across(a) - across(b)); // so that they do not cross
      paths.forEach((points, i) => {
        const end = this.side(node.id, -1, order.indexOf(i), order.length);
        this.edges.set(`${node.id}:${i}`, this.edge([...points, end], below));
      });
    }
    this.boxes = nodes.map((node) => this.box(node, svg));
    this.above = make("g", { "aria-hidden": "true" }, svg);
  }

  /** The middle of a box's side where arrows leave (1) or arrive (-1); arrivals stand side by side. */
  side(id, which, nth = 0, count = 1) {
    const { x, y } = this.at[id], shift = (nth - (count - 1) / 2) * 20;
    return this.upright ? { x: x + shift, y: y + which * TALL / 2 } : { x: x + which * WIDE / 2, y: y + shift };
  }

  edge(points, parent) {
    const end = points.at(-1), tip = 8;
    const stop = this.upright ? { x: end.x, y: end.y - tip } : { x: end.x - tip, y: end.y };
    const line = [...points.slice(0, -1), stop];
    let d = `M${line[0].x} ${line[0].y}`;
    for (let k = 1; k < line.length; k++) {
      const [a, b] = [line[k - 1], line[k]];
      const half = this.upright ? (b.y - a.y) / 2 : (b.x - a.x) / 2;
      d += this.upright ? `C${a.x} ${a.y + half} ${b.x} ${b.y - half} ${b.x} ${b.y}` : `C${a.x + half} ${a.y} ${b.x - half} ${b.y} ${b.x} ${b.y}`;
    }
    const path = make("path", { d, class: "edge" }, parent);
    const corners = this.upright
      ? [[end.x, end.y], [end.x - 5, end.y - 9], [end.x + 5, end.y - 9]]
      : [[end.x, end.y], [end.x - 9, end.y - 5], [end.x - 9, end.y + 5]];
    return { path, tip: make("polygon", { points: corners.map((c) => c.join(",")).join(" "), class: "tip" }, parent) };
  }

  box(node, parent) {
    const { x, y } = this.at[node.id], left = x - WIDE / 2, top = y - TALL / 2;
    const group = make("g", { class: node.kind, "data-node": node.id }, parent);
    make("rect", { class: "box", x: left, y: top, width: WIDE, height: TALL, rx: node.kind === "op" ? 12 : 4 }, group);
    if (node.kind === "op")
      make("path", { class: "head", d: `M${left + 1} ${top + 22}v-10a11 11 0 0 1 11 -11h${WIDE - 24}a11 11 0 0 1 11 11v10z` }, group);
    const title = make("text", { class: "title", x, y: top + 16 }, group);
    title.textContent = node.kind === "op" ? node.value.op + (node.name ? ` → ${node.name}` : "") : node.kind === "leaf" ? node.name : "";
    const number = make("text", { class: "number", x, y: top + 40 }, group);
    const grad = make("text", { class: "grad", x, y: top + 58 }, group);
    return { group, number, grad };
  }

  /** Show a frame; with `moving`, what goes along the edges of this step is seen to go. */
  paint(frame, moving) {
    this.calm();
    for (const node of this.nodes) {
      const { group, number, grad } = this.boxes[node.id];
      const known = frame.known.has(node.id), g = frame.grads.get(node.id);
      const now = frame.node === node.id ? ` now ${frame.kind === "forward" ? "forward" : "backward"}` : "";
      group.setAttribute("class", `${node.kind}${known ? "" : " unknown"}${now}`);
      number.textContent = known ? short(node.value.data) : "?";
      grad.textContent = g === undefined || node.kind === "constant" ? "" : `grad ${short(g)}`;
    }
    for (const { path, tip } of this.edges.values()) {
      path.setAttribute("class", "edge");
      tip.setAttribute("class", "tip");
    }
    if (frame.kind !== "forward" && frame.kind !== "backward") return;
    const node = this.nodes[frame.node];
    node.inputs.forEach((_, i) => {
      const { path, tip } = this.edges.get(`${node.id}:${i}`);
      path.classList.add(frame.kind);
      if (frame.kind === "forward") tip.classList.add("forward");
      if (moving) this.pulse(path, frame.kind);
    });
    if (frame.kind === "backward") this.label(frame);
  }

  /** What each input is handed, written on its edge. */
  label(frame) {
    const taken = [];
    for (const share of frame.shares) {
      if (this.nodes[share.to].kind === "constant") continue;
      const { path } = this.edges.get(`${frame.node}:${share.edge}`);
      const middle = path.getPointAtLength(path.getTotalLength() / 2);
      const words = short(share.share), wide = 8 * words.length + 14;
      while (taken.some((t) => Math.abs(t.y - middle.y) < 24 && Math.abs(t.x - middle.x) < 60)) middle.y += 12;
      taken.push({ x: middle.x, y: middle.y });
      const group = make("g", { class: "label" }, this.above);
      make("rect", { x: middle.x - wide / 2, y: middle.y - 11, width: wide, height: 22, rx: 11 }, group);
      make("text", { x: middle.x, y: middle.y + 4 }, group).textContent = words;
    }
  }

  /** A dot that runs along an edge, forward or back. */
  pulse(path, kind) {
    const dot = make("circle", { r: 7, class: `pulse ${kind}` }, this.above);
    const length = path.getTotalLength(), began = performance.now();
    const run = { dot };
    const step = (time) => {
      const share = Math.min(1, Math.max(0, (time - began) / 1000 / SECONDS));
      const eased = share * share * (3 - 2 * share);
      const { x, y } = path.getPointAtLength(length * (kind === "forward" ? eased : 1 - eased));
      dot.setAttribute("cx", x);
      dot.setAttribute("cy", y);
      if (share < 1) run.id = requestAnimationFrame(step);
      else { dot.remove(); this.running.delete(run); }
    };
    this.running.add(run);
    step(began);
  }

  /** While a number is dragged: what flows from its box forward, or from the result back to all. */
  flow(kind, id) {
    const reached = new Set(kind === "forward" ? [id] : this.nodes.filter((n) => n.kind !== "constant").map((n) => n.id));
    for (const node of this.nodes) // each stands behind its inputs
      node.inputs.forEach((input, i) => {
        const { path } = this.edges.get(`${node.id}:${i}`);
        path.classList.remove("flow", "forward", "backward");
        if (!reached.has(input)) return;
        path.classList.add("flow", kind);
        reached.add(node.id);
      });
  }

  calm() {
    for (const run of this.running) cancelAnimationFrame(run.id);
    this.running.clear();
    this.above.replaceChildren();
  }

  /** The node whose box was pressed, or null. */
  nodeOf(target) {
    const group = target.closest?.("[data-node]");
    return group ? this.nodes[Number(group.dataset.node)] : null;
  }

  /** The picture in words, for its label. */
  words() {
    return this.nodes.map((n) => `${called(n)}${n.inputs.length ? ` from ${n.inputs.map((i) => called(this.nodes[i])).join(" and ")}` : ""}`).join("; ");
  }
}
