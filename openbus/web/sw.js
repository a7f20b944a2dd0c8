// The service worker: an offline shell, and notifications that come and go.
//
// Only the page's own files are kept, never an answer of the API. The network is asked first, so a
// page is as new as its service; the kept copy serves when the service does not answer.

const SHELL = "openbus-shell-1";
const FILES = [
  "/", "/app.css", "/app.js", "/lib.js", "/api.js", "/store.js", "/words.js", "/deck.js", "/pane.js",
  "/screen.js", "/session.js", "/spark.js", "/sessions.js", "/shadow.js", "/notify.js",
  "/settings.js", "/timeline.js", "/icon.svg", "/icon-192.png", "/vendor/preact.js",
  "/vendor/hooks.js", "/vendor/htm.js", "/vendor/signals.js", "/vendor/signals-core.js",
];
const PATIENCE = 3000;

self.addEventListener("install", (event) => {
  event.waitUntil(
    caches.open(SHELL)
      .then((cache) => Promise.all(FILES.map((path) => cache.add(path).catch(() => {}))))
      .then(() => self.skipWaiting()),
  );
});

self.addEventListener("activate", (event) => {
  event.waitUntil(
    caches.keys()
      .then((names) => Promise.all(names.filter((name) => name !== SHELL).map((name) => caches.delete(name))))
      .then(() => self.clients.claim()),
  );
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== location.origin) return;
  const page = request.mode === "navigate";
  if (page ? url.pathname !== "/" : !known(url.pathname)) return;
  event.respondWith(page ? shell(request) : fresh(request));
});

function known(path) {
  return FILES.includes(path) || path.startsWith("/vendor/") || path.endsWith(".png");
}

// A refused page (not paired) is shown as the service says it.
async function shell(request) {
  try {
    return await keep("/", await patiently(fetch(request)));
  } catch {
    return (await caches.match("/", { ignoreSearch: true })) ?? Response.error();
  }
}

async function fresh(request) {
  try {
    return await keep(request.url, await fetch(request));
  } catch {
    return (await caches.match(request.url)) ?? Response.error();
  }
}

async function keep(name, answer) {
  if (answer.ok && answer.type === "basic" && !answer.redirected) {
    const copy = answer.clone();
    const cache = await caches.open(SHELL);
    await cache.put(name, copy).catch(() => {});
  }
  return answer;
}

function patiently(promise) {
  return Promise.race([
    promise,
    new Promise((_, reject) => { setTimeout(() => reject(new Error("slow")), PATIENCE); }),
  ]);
}

// ---------------------------------------------------------------- notifications

self.addEventListener("push", (event) => {
  event.waitUntil(received(event.data));
});

async function received(data) {
  let said;
  try { said = data.json(); } catch { said = null; }
  if (said?.type === "close") return withdraw(said.tag);
  if (said?.type !== "show") return undefined;
  const panes = Array.isArray(said.panes) ? said.panes : [];
  return self.registration.showNotification(String(said.title ?? "OpenBus"), {
    body: String(said.body ?? ""),
    tag: String(said.tag ?? "openbus"),
    renotify: Boolean(said.renotify),
    silent: Boolean(said.silent),
    timestamp: Number(said.at) || Date.now(),
    icon: "/icon-192.png",
    badge: "/icon-192.png",
    data: { key: panes.length === 1 ? panes[0].key : null },
  });
}

async function withdraw(tag) {
  for (const shown of await self.registration.getNotifications({ tag })) shown.close();
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data?.key ?? null));
});

async function open(key) {
  const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const page = pages.find((one) => one.visibilityState === "visible") ?? pages[0];
  if (page) {
    if (key) page.postMessage({ type: "open", key });
    return page.focus();
  }
  return self.clients.openWindow(key ? `/#/pane/${encodeURIComponent(key)}` : "/");
}
