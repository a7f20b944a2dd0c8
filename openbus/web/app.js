// The frame: where one is, how the connection is, what the keys do.

import { html, render, signal, effect, useEffect, useSignal, useRef } from "./lib.js";
import { Deck, choose, href, nextNeeding, query, step, summary } from "./deck.js";
import { Pane } from "./pane.js";
import {
  announced, clockOff, connection, me, minute, needsYou, newVersion, refreshMe, selected, start,
  storageBlocked,
} from "./store.js";
import { longSpan, span } from "./words.js";

const route = signal(parse());

function parse() {
  const [name = "", ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  let parts;
  try { parts = rest.map(decodeURIComponent); } catch { parts = []; }
  return { name, parts };
}

function moved() {
  route.value = parse();
  const { name, parts } = route.value;
  selected.value = name === "pane" ? parts[0] ?? null : null;
}

// Sections that are loaded when one goes there; each appears only when the service has it.
const SECTIONS = [
  ["sessions", "Sessions", "sessions", () => import("./sessions.js")],
  ["timeline", "Timeline", "timeline", () => import("./timeline.js")],
  ["notifications", "Notifications", "push", () => import("./notify.js")],
  ["shadow", "Shadow", "shadow", () => import("./shadow.js")],
  ["settings", "Settings", null, () => import("./settings.js")],
];

function App() {
  const { name, parts } = route.value;
  const section = SECTIONS.find(([known]) => known === name);
  const onDeck = !section;
  return html`
    <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); document.getElementById("main").focus(); }}>Skip to the panes</a>
    <header class="head">
      <h1><a href="#/">OpenBus</a></h1>
      <p class="sum" aria-hidden="true">${summary()}</p>
      <${Badge} />
    </header>
    <${Nav} current=${section ? name : "panes"} />
    <${Notices} />
    <main id="main" tabindex="-1" class=${selected.value ? "split" : section ? "page" : "list"}>
      ${onDeck && html`<${Deck} hidden=${Boolean(selected.value)} />`}
      ${onDeck && selected.value && html`<${Pane} key=${selected.value} id=${selected.value} />`}
      ${section && html`<${Lazy} key=${name} load=${section[3]} parts=${parts} />`}
    </main>
    <p class="sr" role="status" aria-live="polite">${announced.value}</p>
    <${Help} />`;
}

function Nav({ current }) {
  const features = me.value?.features ?? [];
  const items = [["", "panes", "Panes"], ...SECTIONS
    .filter(([, , feature]) => feature === null || features.includes(feature))
    .map(([name, words]) => [name, name, words])];
  return html`<nav aria-label="Sections"><ul>${items.map(([path, name, words]) => html`<li key=${name}>
    <a href=${`#/${path}`} aria-current=${current === name ? "page" : undefined}>${words}</a></li>`)}</ul></nav>`;
}

function Lazy({ load, parts }) {
  const loaded = useSignal(null);
  const trouble = useSignal("");
  useEffect(() => {
    load().then((module) => { loaded.value = module.default; },
      () => { trouble.value = "This section could not be loaded. Reload when the service is back."; });
  }, []);
  if (trouble.value) return html`<p class="trouble" role="alert">${trouble.value}</p>`;
  const Section = loaded.value;
  return Section ? html`<${Section} parts=${parts} />` : html`<p class="quiet">Opening…</p>`;
}

// What is true about the line to the service, in a word.
function Badge() {
  minute.value;
  const { state } = connection.value;
  const words = {
    connecting: "connecting", live: "live", lost: "not connected", offline: "offline",
    unpaired: "not paired",
  }[state];
  return html`<p class=${`badge ${state}`} role="status" id="connection">
    <span class="lamp" aria-hidden="true"></span>${words}</p>`;
}

function Notices() {
  minute.value;
  const { state, since } = connection.value;
  const notices = [];
  if (state === "lost") {
    notices.push(["lost", html`The service does not answer for ${span(Date.now() - since)}. What you see is from
      then; it goes on by itself.`]);
  }
  if (state === "offline") {
    notices.push(["offline", "This device is offline. What you see is from before; it goes on by itself."]);
  }
  if (state === "unpaired") {
    notices.push(["unpaired", html`This browser is not paired any more. In a terminal run
      <code>openbus pair</code> and open the link here. <button class="link" onClick=${() => location.reload()}>Try again</button>`]);
  }
  if (newVersion.value) {
    notices.push(["version", html`The service has another version now.
      <button class="link" onClick=${() => location.reload()}>Load it</button>`]);
  }
  if (Math.abs(clockOff.value) > 60000) {
    notices.push(["clock", `The clock of this device is off by ${longSpan(Math.abs(clockOff.value))}; ages are by the service's clock.`]);
  }
  if (storageBlocked.value) {
    notices.push(["storage", "This browser keeps nothing for this page: what you have seen and chosen is forgotten when you leave."]);
  }
  return notices.map(([name, words]) => html`<p class=${`notice ${name}`} key=${name} role="status">${words}</p>`);
}

// ---------------------------------------------------------------- keys

const helpOpen = signal(false);
const KEYS = [
  ["j  k", "next and previous pane"], ["Enter", "open the pane"], ["n", "next pane that needs you"],
  ["/", "search"], ["a", "all panes, no filter"], ["Esc", "back"], ["?", "this list"],
];

function Help() {
  const box = useRef(null);
  const open = helpOpen.value;
  useEffect(() => {
    if (open && !box.current.open) box.current.showModal();
    if (!open && box.current.open) box.current.close();
  }, [open]);
  return html`<dialog ref=${box} class="help" aria-labelledby="help-title" onClose=${() => { helpOpen.value = false; }}>
    <h2 id="help-title">Keys</h2>
    <dl>${KEYS.map(([key, words]) => html`<div key=${key}><dt>${key.split("  ").map((one) => html`<kbd>${one}</kbd> `)}</dt><dd>${words}</dd></div>`)}</dl>
    <button onClick=${() => { helpOpen.value = false; }}>Close</button>
  </dialog>`;
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (event.key === "Escape") {
    if (helpOpen.value) return;
    if (typing) { if (query.value) query.value = ""; event.target.blur(); } else if (route.value.name) location.hash = "#/";
    return;
  }
  if (typing || helpOpen.value) return;
  const act = {
    j: () => step(1), k: () => step(-1), n: goNext,
    "/": () => focusSearch(), "?": () => { helpOpen.value = true; }, a: () => { query.value = ""; choose("all"); },
  }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

function goNext() {
  const next = nextNeeding();
  if (next) location.hash = href(next);
}

function focusSearch() {
  if (route.value.name) location.hash = "#/";
  requestAnimationFrame(() => document.getElementById("search")?.focus());
}

// ---------------------------------------------------------------- start

window.addEventListener("hashchange", moved);
window.addEventListener("keydown", onKey);
effect(() => {
  const waiting = needsYou.value.length;
  document.title = waiting ? `(${waiting}) OpenBus` : "OpenBus";
  if (navigator.setAppBadge) (waiting ? navigator.setAppBadge(waiting) : navigator.clearAppBadge()).catch(() => {});
});
moved();
document.getElementById("app").replaceChildren();
render(html`<${App} />`, document.getElementById("app"));
start();

if ("serviceWorker" in navigator) {
  navigator.serviceWorker.register("/sw.js").catch(() => {});
  navigator.serviceWorker.addEventListener("message", (event) => {
    if (event.data?.type === "open" && typeof event.data.key === "string") location.hash = href(event.data.key);
  });
}
// What the browser was told about us may have changed while the page slept.
document.addEventListener("visibilitychange", () => { if (!document.hidden) refreshMe(); });
