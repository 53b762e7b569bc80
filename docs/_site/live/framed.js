// What runs in the frame that frame.js makes: Python in a worker, and what it shows.
// The frame cannot read a file, so nothing is imported here before it has come as a text.

let python = null;
let output = null;

/** Modules from their texts: each gets an address of this frame's own, and so do its imports. */
function linked(texts) {
  const addresses = {};
  for (const [name, text] of Object.entries(texts)) {
    const own = text.replaceAll(/"\.{1,2}\/([\w./-]+\.m?js)"/g, (path, last) => {
      const known = Object.keys(addresses).find((other) => other.endsWith(last));
      return known ? JSON.stringify(addresses[known]) : path;
    });
    addresses[name] = URL.createObjectURL(new Blob([own], { type: "text/javascript" }));
  }
  return addresses;
}

/** A worker of this frame. Chromium starts none from a module without an origin, so a classic one
    imports it, and is then what Pyodide refuses, unless it looks like the other kind. */
async function newWorker(address) {
  const text = `self.importScripts = undefined;
    self.onmessage = (event) => import("${address}").then(() => self.onmessage(event))
      .catch((error) => self.postMessage({ type: "failed", message: String(error) }));`;
  return new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
}

async function load({ modules, files }, onState) {
  const addresses = linked(modules);
  output = await import(addresses["live/output.js"]);
  const { connect } = await import(addresses["live/tutor-client.js"]);
  const worker = () => newWorker(addresses["live/tutor-worker.js"]);
  python = connect({ worker, given: { files, module: addresses["pyodide/pyodide.asm.mjs"] }, onState });
}

async function run({ id, code }, port) {
  const place = document.getElementById("output");
  place.replaceChildren();
  const result = await python.run(code, {
    name: "<playground>", fresh: true, onOutput: (item) => output.show(place, item),
  });
  output.showResult(place, result);
  const { ok, stopped, seconds } = result;
  port.postMessage({ type: "done", id, result: { ok, stopped, seconds, empty: !place.childElementCount } });
}

/** Called by the frame's first script, with the channel to the page. */
export function begin(_, port) {
  let loading = null;
  const onState = (state) => port.postMessage({ type: "state", state });
  const failed = (error) => {
    onState("failed");
    console.info(`Python could not be loaded: ${error?.message ?? error}`);
  };
  const ended = ({ id }) => { // Python never came: the page must not wait
    const result = { ok: false, stopped: false, seconds: 0, empty: true };
    port.postMessage({ type: "done", id, result });
  };
  port.onmessage = ({ data }) => {
    if (data.type === "theme") document.documentElement.dataset.theme = data.theme;
    else if (data.type === "files") loading = load(data, onState).catch(failed);
    else if (data.type === "run") loading.then(() => run(data, port)).catch(() => ended(data));
    else if (data.type === "stop") python?.stop();
    else if (data.type === "clear") document.getElementById("output").replaceChildren();
  };
  new ResizeObserver(() => {
    port.postMessage({ type: "height", height: document.body.scrollHeight });
  }).observe(document.body);
}
