// A page's way to Python, which runs in a worker of its own:
//
//   const python = connect({ onState(state) {} });
//   const result = await python.run("1 + 1", { onOutput(item) {} });
//   result.value.text === "2"
//
// An item is {kind: "text", stream, text}, {kind: "html", html, text, id} (the same id again: in its
// place) or {kind: "clear"}. A result is {ok, value, error, stopped, seconds}: value null or
// {html, text}, error null or {name, message, text}, stopped false, "stop" or "time".

const PATIENCE = 2000; // milliseconds that a cell which was interrupted is given to end
const CONTROL = 3000; // milliseconds that the service worker is given to take over

/** The site's address. Not for a module whose text was handed over: see framed.js. */
const root = () => new URL("../", import.meta.url);

/** The worker of this page, which reads the site's files by itself. */
async function ownWorker() {
  await controlled();
  return new Worker(new URL("./tutor-worker.js", import.meta.url), { type: "module" });
}

/** Have the service worker of the site, without which nothing works offline; false: there is none. */
export async function controlled() {
  if (!("serviceWorker" in navigator)) return false;
  try {
    await navigator.serviceWorker.register(new URL("sw.js", root()), { scope: root().pathname });
    const control = new Promise((resolve) => {
      if (navigator.serviceWorker.controller) resolve(true);
      navigator.serviceWorker.addEventListener("controllerchange", () => resolve(true));
    });
    const enough = new Promise((resolve) => setTimeout(() => resolve(false), CONTROL));
    return await Promise.race([control, enough]);
  } catch {
    return false; // a page from a file, or a browser that does not want one
  }
}

/** Have this page, its files and the other chapters kept for the time without a network. */
export async function keepForLater() {
  const ready = await navigator.serviceWorker?.getRegistration(root());
  const own = performance.getEntriesByType("resource").map((entry) => entry.name);
  const urls = [location.href.split("#")[0], ...own].filter((url) => url.startsWith(root().href));
  ready?.active?.postMessage({ type: "keep", urls });
}

class Python {
  constructor({ onState = () => {}, onTrouble = () => {}, folder = false, worker = ownWorker, given = {} }) {
    Object.assign(this, { onState, onTrouble, folder, newWorker: worker, given });
    this.state = "off";
    this.worker = null;
    this.kept = []; // the cells that ran, in order: they run again where Python had to be ended
    this.queue = []; // what is to be run, the first of it being run now
    this.next = 1;
    this.interrupt = null;
    this.seconds = 0; // that the last start took
  }

  /** Whether a cell can be interrupted without ending Python. */
  get interruptible() {
    return self.crossOriginIsolated === true;
  }

  become(state) {
    this.state = state;
    this.onState(state);
  }

  /** Load Python, if that has not begun. */
  start() {
    if (this.state !== "off" && this.state !== "failed") return;
    this.become("starting");
    if (this.interruptible) this.interrupt = new Uint8Array(new SharedArrayBuffer(1));
    this.starting = this.newWorker().then((worker) => {
      worker.onmessage = ({ data }) => this.take(worker, data);
      worker.onerror = (event) => {
        event.preventDefault();
        this.fail(event.message || "Python could not be loaded");
      };
      this.worker = worker;
      const { interrupt, folder, given } = this;
      worker.postMessage({ type: "start", interrupt, folder, ...given });
    });
  }

  /** Run code, after what was to be run before it. */
  run(code, { onOutput = () => {}, name = "<cell>", seconds = 120, fresh = false } = {}) {
    return this.ask({ type: "run", code, name, fresh }, { onOutput, seconds, keep: !fresh });
  }

  /** The learner's work as the bytes of a zip file. */
  async pack() {
    return (await this.ask({ type: "pack" })).bytes;
  }

  /** Put the work of a zip file in place of what there is: {names} or {error}. */
  unpack(bytes) {
    return this.ask({ type: "unpack", bytes });
  }

  ask(message, { onOutput = () => {}, seconds = 120, keep = false, silent = false } = {}) {
    this.start();
    return new Promise((resolve) => {
      const id = this.next++;
      this.queue.push({ id, message: { ...message, id }, onOutput, seconds, keep, silent, resolve });
      this.go();
    });
  }

  /** Begin with the first of the queue, if Python is free. */
  go() {
    const first = this.queue[0];
    if (!first || first.sent || !["ready", "running"].includes(this.state)) return;
    first.sent = true;
    this.become("running");
    if (this.interrupt) this.interrupt[0] = 0;
    this.worker.postMessage(first.message);
    first.limit = setTimeout(() => this.end("time"), first.seconds * 1000);
  }

  take(worker, message) {
    if (worker !== this.worker) return; // one that was ended
    const first = this.queue[0];
    if (message.type === "ready") {
      this.seconds = message.seconds;
      this.become("ready");
      if (this.newWorker === ownWorker) keepForLater();
      this.go();
    } else if (message.type === "output" && message.id === first?.id) {
      first.onOutput(message.item);
    } else if (message.type === "done" && message.id === first?.id) {
      this.done(first, message.result);
    } else if (message.type === "trouble") {
      this.onTrouble(message.message);
    } else if (message.type === "failed") {
      this.fail(message.message);
    }
  }

  done(entry, result) {
    clearTimeout(entry.limit);
    clearTimeout(entry.patience);
    this.queue.shift();
    if (entry.keep && result.ok) this.kept.push(entry.message);
    entry.resolve({ stopped: entry.stopped ?? false, ...result });
    this.become("ready");
    this.go();
  }

  /** Stop what runs, and what waits for it. */
  stop() {
    if (this.queue.length) this.end("stop");
  }

  end(why) {
    const [first, ...others] = this.queue;
    this.queue = [first];
    for (const entry of others) entry.resolve(ended(why));
    first.stopped = why;
    if (!first.sent) {
      this.queue = [];
      first.resolve(ended(why));
    } else if (this.interrupt) {
      this.interrupt[0] = 2; // KeyboardInterrupt, at the next line of Python
      first.patience ??= setTimeout(() => this.again(why), PATIENCE);
    } else {
      this.again(why);
    }
  }

  /** End Python, start it again, and let the cells kept so far run once more. */
  again(why, message = "") {
    const waiting = this.queue;
    const kept = this.kept;
    this.worker?.terminate();
    this.queue = [];
    this.kept = [];
    this.become("off");
    for (const entry of waiting) {
      clearTimeout(entry.limit);
      clearTimeout(entry.patience);
      entry.resolve(ended(why, message));
    }
    this.start();
    for (const { code, name, fresh } of kept) {
      this.ask({ type: "run", code, name, fresh }, { keep: true });
    }
  }

  /** Forget all that was run. */
  restart() {
    this.kept = [];
    this.again("stop");
  }

  /** Python is gone, and was not asked to be. */
  fail(message) {
    const alive = this.state === "running" || this.state === "ready";
    if (alive) {
      this.again(false, message);
      return;
    }
    this.worker?.terminate();
    this.become("failed");
    for (const entry of this.queue.splice(0)) entry.resolve(ended(false, message));
  }
}

/** The result of a run that came to no end of its own. */
function ended(stopped, message = "") {
  const text = `Python has ended, and is started again with the next cell: ${message}`;
  const error = stopped ? null : { name: "Ended", message, text };
  return { ok: false, value: null, error, stopped, seconds: 0 };
}

/** Python for this page. It is loaded at the first run, or at `start()`. */
export function connect(how = {}) {
  return new Python(how);
}
