// The service worker of the site. It keeps what was visited, so that the next visit needs no
// network, and it adds the two headers with which a running cell can be interrupted: static hosts
// do not send them.

const VERSION = "the build writes: VERSION"; // another one with every change of any file
const PYODIDE = "the build writes: PYODIDE";
const AHEAD = "the build writes: AHEAD"; // what is kept although it was not visited: the chapters

const SITE = `tutor-site-${VERSION}`;
const PYTHON = `tutor-pyodide-${PYODIDE}`; // large, and it stays the same from version to version
const ROOT = new URL("./", self.location).href;
const HEADERS = {
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Embedder-Policy": "require-corp",
  "Cross-Origin-Resource-Policy": "same-origin",
};

self.addEventListener("install", () => self.skipWaiting());

self.addEventListener("activate", (event) => {
  const clean = async () => {
    const old = (name) => name.startsWith("tutor-") && name !== SITE && name !== PYTHON;
    await Promise.all((await caches.keys()).filter(old).map((name) => caches.delete(name)));
    await self.clients.claim();
  };
  event.waitUntil(clean());
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method === "GET" && request.url.startsWith(ROOT)) event.respondWith(answer(request));
});

self.addEventListener("message", (event) => {
  if (event.data?.type === "keep") event.waitUntil(keep(event.data.urls));
});

const storeOf = (url) => caches.open(url.startsWith(`${ROOT}pyodide/`) ? PYTHON : SITE);

/** A file: as it is kept, or else from the network, and then kept. */
async function answer(request) {
  const url = request.url.split("#")[0];
  const store = await storeOf(url);
  const kept = (await store.match(url)) ?? (await store.match(url, { ignoreSearch: true }));
  if (kept) return isolated(kept);
  try {
    const found = await fetch(request);
    if (found.status === 200) await put(store, url, found.clone());
    return isolated(found);
  } catch (error) {
    const text = "This page was not visited before, and there is no network.";
    if (request.mode !== "navigate") throw error;
    return isolated(new Response(text, { status: 503, headers: { "Content-Type": "text/plain" } }));
  }
}

async function put(store, url, response) {
  try {
    await store.put(url, response);
  } catch {
    // no room is left: the page works all the same
  }
}

/** The same answer, with the headers. */
function isolated(response) {
  if (response.type === "opaque" || response.type === "opaqueredirect") return response;
  const headers = new Headers(response.headers);
  for (const [name, value] of Object.entries(HEADERS)) headers.set(name, value);
  const { status, statusText } = response;
  return new Response(response.body, { status, statusText, headers });
}

/** Have these files, and the chapters, for the time without a network. */
async function keep(urls) {
  for (const url of new Set([...urls, ...AHEAD.map((name) => ROOT + name)])) {
    const store = await storeOf(url);
    if (await store.match(url)) continue;
    try {
      const found = await fetch(url);
      if (found.status === 200) await put(store, url, found);
    } catch {
      return; // the network is gone
    }
  }
}
