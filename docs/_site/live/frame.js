// Python for code that came by a link, in a frame that can compute and show, and nothing else.
//
// `sandbox` gives the frame an origin of its own: neither Python nor the HTML that it shows can reach
// this page, or what a learner has done in this browser (store.js). Such a frame has no service worker,
// and may read no file of the site, so this page reads them, and hands them over. What the page's
// Content-Security-Policy forbids is forbidden in the frame as well: scripts in HTML, and other hosts.
//
//   const python = await frame(place, { onState(state) {} });
//   const result = await python.run("1 + 1");   // {ok, stopped, seconds, empty}; the frame shows the rest

import { controlled, keepForLater } from "./tutor-client.js";

const ROOT = new URL("../", import.meta.url);
// Each imports only those before it: see `linked` in framed.js.
const MODULES = ["live/store.js", "pyodide/pyodide.mjs", "pyodide/pyodide.asm.mjs",
  "live/tutor-worker.js", "live/tutor-client.js", "live/output.js"];
const FILES = ["pyodide/pyodide.asm.wasm", "pyodide/python_stdlib.zip", "pyodide/pyodide-lock.json",
  "tutor.zip", "tutor.snapshot", "simd.wasm"];
const STYLES = ["live/live.css", "pages.css", "playground/playground.css"];
const HIGHEST = 30_000; // pixels

/** The one script that the page's policy lets into the frame, by its SHA-256 (playground.html). */
export const BOOT = 'addEventListener("message",({data,ports})=>import(URL.createObjectURL(' +
  'new Blob([data.first],{type:"text/javascript"}))).then((m)=>m.begin(data,ports[0])),{once:true})';

async function read(name, kind) {
  const answer = await fetch(new URL(name, ROOT));
  if (answer.ok) return answer[kind]();
  if (name === "tutor.snapshot" || name === "simd.wasm") return null; // a site may be without
  throw new Error(`${name}: ${answer.status} ${answer.statusText}`);
}

async function all(names, kind) {
  const found = await Promise.all(names.map((name) => read(name, kind)));
  return Object.fromEntries(names.map((name, n) => [name, found[n]]));
}

const failure = (message) => ({ ok: false, stopped: false, seconds: 0, empty: true, message });

class Frame {
  constructor(port, element, onState) {
    Object.assign(this, { port, element, onState, runs: new Map(), next: 1, state: "off" });
    this.files = false; // whether they were handed over
    this.lost = ""; // why nothing can run any more
    port.onmessage = ({ data }) => this.take(data);
    const root = document.documentElement;
    const theme = () => port.postMessage({ type: "theme", theme: root.dataset.theme });
    new MutationObserver(theme).observe(root, { attributeFilter: ["data-theme"] });
    theme();
    element.addEventListener("load", () => this.leave()); // the first is over: this is another page
  }

  /** The frame shows another page: what ran has led it there, and is gone. */
  leave() {
    this.become("failed");
    this.lost = "What ran has left its frame. Load this page again to run anything else.";
    for (const resolve of this.runs.values()) resolve(failure(this.lost));
  }

  /** What the frame says is data, whatever runs in it: numbers and texts. */
  take({ type, state, height, id, result }) {
    if (type === "state") this.become(String(state));
    else if (type === "height") this.element.style.height = `${Math.min(Number(height) || 0, HIGHEST)}px`;
    else if (type === "done") {
      this.runs.get(id)?.(result);
      this.runs.delete(id);
    }
  }

  become(state) {
    this.state = state;
    this.onState(state);
    if (state === "ready") keepForLater();
  }

  /** Run code in a namespace of its own. Python is loaded with the first run. */
  async run(code) {
    if (this.lost) return failure(this.lost);
    if (!this.files) {
      this.become("starting");
      try {
        await controlled(); // so that the service worker keeps what is read
        const [modules, files] = await Promise.all([all(MODULES, "text"), all(FILES, "arrayBuffer")]);
        this.port.postMessage({ type: "files", modules, files });
        this.files = true;
      } catch (error) {
        this.become("failed");
        return failure(String(error?.message ?? error));
      }
    }
    return new Promise((resolve) => {
      this.runs.set(this.next, resolve);
      this.port.postMessage({ type: "run", id: this.next++, code });
    });
  }

  stop() {
    this.port.postMessage({ type: "stop" });
  }

  clear() {
    this.port.postMessage({ type: "clear" });
  }
}

/** Make a frame of this element (an iframe that is empty so far). */
export async function frame(element, { onState = () => {} } = {}) {
  const [first, styles] = await Promise.all([read("live/framed.js", "text"), all(STYLES, "text")]);
  const loaded = new Promise((resolve) => element.addEventListener("load", resolve, { once: true }));
  element.setAttribute("sandbox", "allow-scripts");
  element.setAttribute("allow", "cross-origin-isolated"); // for Stop, where the page has it
  element.srcdoc = `<!DOCTYPE html><html lang="en"><title>Output</title><style>${Object.values(styles).join("\n")}` +
    `</style><body><main id="output" class="cell_output"></main><script>${BOOT}</script></body></html>`;
  await loaded;
  const { port1, port2 } = new MessageChannel();
  element.contentWindow.postMessage({ first }, "*", [port2]); // "*": the frame's origin has no name
  return new Frame(port1, element, onState);
}
