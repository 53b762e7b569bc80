// Python in a worker: the page stays alive whatever a cell does.
//
// From the page:  {type: "start", interrupt, folder, files, module}, {type: "run", id, code, name, fresh},
//                 {type: "pack", id}, {type: "unpack", id, bytes}
// To the page:    {type: "ready", seconds}, {type: "failed", message}, {type: "output", id, item},
//                 {type: "done", id, result}, {type: "trouble", message}

import { loadPyodide } from "../pyodide/pyodide.mjs";
import { read, write } from "./store.js";

// A worker that was handed over as a text has no place on the site: its files are handed over, too.
const ROOT = import.meta.url.startsWith("blob:") ? "https://given.invalid/" : new URL("../", import.meta.url).href;
const PYTHON = `${ROOT}pyodide/`;
const SNAPSHOT = `${ROOT}tutor.snapshot`;
const LIBRARY = `${ROOT}tutor.zip`;
const NATIVE = `${ROOT}simd.wasm`; // the SIMD backend; empty if the site has none
const HOME = "/my-chapters"; // the folder in which cells run, as `make chapters` has one
const NOT_KEPT = /(^|\/)(\.lock|__pycache__)(\/|$)/;

let python = null;
let runCell = null;
let running = 0; // the id of the run that output belongs to
let folder = false; // whether HOME is kept in the browser
let waiting = Promise.resolve(); // messages are taken one after the other

self.onmessage = ({ data }) => {
  waiting = waiting.then(() => take(data));
};

async function take(message) {
  try {
    if (message.type === "start") await start(message);
    else if (message.type === "run") await run(message);
    else if (message.type === "pack") reply(message.id, { bytes: await pack() });
    else if (message.type === "unpack") reply(message.id, await unpack(message.bytes));
  } catch (error) {
    // Python itself has ended, for instance because the browser's stack was too small.
    self.postMessage({ type: "failed", message: String(error?.message ?? error) });
  }
}

function reply(id, result) {
  self.postMessage({ type: "done", id, result });
}

/** Answer what Python asks the site for by files that were given: {name: bytes, or null: not there}. */
function answerFrom(files) {
  self.fetch = async (address) => {
    const name = String(address).startsWith(ROOT) ? String(address).slice(ROOT.length) : "";
    const bytes = files[name];
    const type = name.endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
    return new Response(bytes ?? null, { status: bytes ? 200 : 404, headers: { "Content-Type": type } });
  };
}

async function start({ interrupt, folder: wanted, files, module }) {
  const began = performance.now();
  if (files) answerFrom(files);
  const library = fetch(LIBRARY).then((answer) => {
    if (!answer.ok) throw new Error(`${LIBRARY}: ${answer.status} ${answer.statusText}`);
    return answer.arrayBuffer();
  });
  library.catch(() => {}); // it is awaited below
  const native = fetch(NATIVE).then((answer) => (answer.ok ? answer.arrayBuffer() : null));
  native.catch(() => {}); // likewise
  python = await load(module);
  const packages = sitePackages();
  python.unpackArchive(new Uint8Array(await library), "zip", { extractDir: packages });
  const compiled = await native;
  if (compiled?.byteLength) {
    const place = `${packages}/tutor/backends/simd_cpp/_simd.so`;
    python.FS.writeFile(place, new Uint8Array(compiled));
  }
  python.FS.mkdirTree(HOME);
  python.FS.chdir(HOME);
  folder = wanted;
  if (folder) await pull();
  if (interrupt) python.setInterruptBuffer(interrupt);
  const send = (item) => self.postMessage({ type: "output", id: running, item: JSON.parse(item) });
  const { settle, serve } = python.pyimport("course.kernel");
  settle();
  runCell = serve(send, python._module._emscripten_stack_get_base());
  self.postMessage({ type: "ready", seconds: (performance.now() - began) / 1000 });
}

/** Python, with the memory it had after the imports, if the site has that; else from nothing. */
async function load(module) {
  const how = { indexURL: PYTHON };
  if (module) how.createPyodideModule = (await import(module)).default;
  const answer = await fetch(SNAPSHOT).catch(() => null);
  if (answer?.ok && "DecompressionStream" in self) {
    try {
      const stream = answer.body.pipeThrough(new DecompressionStream("gzip"));
      const memory = new Uint8Array(await new Response(stream).arrayBuffer());
      const found = await loadPyodide({ ...how, _loadSnapshot: memory });
      found.runPython("import random; random.seed()"); // else every visit had the same numbers
      return found;
    } catch (error) {
      console.info(`Python begins without its snapshot: ${error?.message ?? error}`);
    }
  }
  return loadPyodide(how);
}

function sitePackages() {
  return python.runPython("import site; site.getsitepackages()[0]");
}

async function run({ id, code, name, fresh }) {
  running = id;
  if (folder) await pull();
  const result = JSON.parse(runCell(code, name, fresh));
  if (folder) await push();
  reply(id, result);
}

// ---- the folder, which is kept in the browser ---------------------------------------------------
// Other tabs may write to it, too: what they have changed is read before a cell runs, and only what
// the cell has changed is written after it.

let known = new Map(); // path -> bytes, as the browser has them

const same = (a, b) => a?.length === b?.length && a.every((byte, n) => byte === b[n]);

async function pull() {
  try {
    const stored = await read("files");
    for (const [path, bytes] of stored) {
      if (same(known.get(path), bytes)) continue;
      const full = `${HOME}/${path}`;
      python.FS.mkdirTree(full.slice(0, full.lastIndexOf("/")));
      python.FS.writeFile(full, bytes);
    }
    for (const path of known.keys()) {
      const full = `${HOME}/${path}`;
      if (!stored.has(path) && python.FS.analyzePath(full).exists) python.FS.unlink(full);
    }
    known = stored;
  } catch (error) {
    notKept(error);
  }
}

async function push() {
  try {
    const now = new Map(files(HOME));
    const changed = [...now].filter(([path, bytes]) => !same(known.get(path), bytes));
    const removed = [...known.keys()].filter((path) => !now.has(path));
    if (changed.length || removed.length) await write("files", changed, removed);
    known = now;
  } catch (error) {
    notKept(error);
  }
}

function* files(where) {
  for (const name of python.FS.readdir(where)) {
    const full = `${where}/${name}`;
    const path = full.slice(HOME.length + 1);
    if (name === "." || name === ".." || NOT_KEPT.test(path)) continue;
    if (python.FS.isDir(python.FS.stat(full).mode)) yield* files(full);
    else yield [path, python.FS.readFile(full)];
  }
}

function notKept(error) {
  const message = `Your work is not kept in this browser (${error?.message ?? error}).`;
  self.postMessage({ type: "trouble", message: `${message} Export it before you leave.` });
}

// ---- one file out of the page, and into it -------------------------------------------------------

async function pack() {
  await pull();
  const made = python.runPython(`
from pathlib import Path
from course.packing import packed
packed(Path("${HOME}"))`);
  const bytes = made.toJs();
  made.destroy();
  return bytes;
}

async function unpack(bytes) {
  await pull();
  python.FS.writeFile("/tmp/work.zip", bytes);
  const answer = JSON.parse(
    python.runPython(`
import json
from pathlib import Path
from course.packing import unpack
from tutor.errors import TutorError
try:
    answer = {"names": unpack(Path("${HOME}"), Path("/tmp/work.zip").read_bytes())}
except TutorError as error:
    answer = {"error": str(error)}
json.dumps(answer)`),
  );
  await push();
  return answer;
}
