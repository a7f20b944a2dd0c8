// What the page knows: panes by key, the connection, what was seen on this device.
//
// Each pane is a signal of its own, so an event redraws one card. Events are gathered and applied
// once a frame. After a `reset` the old panes stay until the snapshot is complete: no flicker.

import { signal, computed, batch } from "./lib.js";
import * as api from "./api.js";
import { ATTENTION } from "./words.js";

const QUIET = 25000; // the service sends something every 10 s; silence for longer is a dead line
const RETRY = [500, 1000, 2000, 4000, 8000, 15000];
const SEEN_MOST = 600;

export const me = signal(null);
export const connection = signal({ state: "connecting", since: Date.now() });
export const newVersion = signal(false);
export const keys = signal([]); // in the order in which they came
export const selected = signal(null);
export const minute = signal(0); // grows as time passes: ages are drawn again
export const clockOff = signal(0); // service's clock minus ours, ms
export const announced = signal(""); // for screen readers
export const storageBlocked = signal(false);

const panes = new Map(); // key -> signal of a state
const waiting = new Map(); // key -> state or null, not applied yet
let scheduled = false;
let lastId = "";
let lastBeat = 0;
let current = null; // AbortController of the open stream
let attempts = 0;
let timer = 0;
let snapshot = null; // { id, left: Set of keys not seen yet }
let snapshotTimer = 0;
let wakeUp = () => {};

export function paneSignal(key) {
  return panes.get(key);
}

export function pane(key) {
  return panes.get(key)?.value;
}

export function now() {
  return Date.now() + clockOff.value;
}

// ---------------------------------------------------------------- what this device keeps

export const store = {
  get(name, otherwise) {
    try {
      const text = localStorage.getItem(`openbus.${name}`);
      return text === null ? otherwise : JSON.parse(text);
    } catch {
      storageBlocked.value = true;
      return otherwise;
    }
  },
  set(name, value) {
    try {
      localStorage.setItem(`openbus.${name}`, JSON.stringify(value));
    } catch {
      storageBlocked.value = true;
    }
  },
};

const seen = signal(new Set(store.get("seen", [])));

function mark(state) {
  const contract = state.question?.contract;
  const what = contract ? `${contract.key}/${contract.episode}` : state.clocks.since;
  return `${state.pane.key} ${state.attention} ${what}`;
}

export function isUnseen(state) {
  return state.attention !== "none" && !seen.value.has(mark(state));
}

export function markSeen(state) {
  if (!isUnseen(state)) return;
  const kept = [...seen.value, mark(state)].slice(-SEEN_MOST);
  seen.value = new Set(kept);
  store.set("seen", kept);
}

// ---------------------------------------------------------------- order

export const needsYou = computed(() => keys.value.filter((key) => pane(key)?.needs_you));

export function compare(a, b) {
  return (
    ATTENTION.indexOf(a.attention) - ATTENTION.indexOf(b.attention) ||
    rank(a) - rank(b) ||
    (a.needs_you ? (a.clocks.since || 0) - (b.clocks.since || 0) : 0) ||
    (a.pane.key < b.pane.key ? -1 : 1)
  );
}

const RANK = ["waiting", "working", "unknown", "idle", "exited"];

function rank(state) {
  const place = RANK.indexOf(state.activity);
  return place < 0 ? 0 : place;
}

// ---------------------------------------------------------------- events

function soon() {
  if (scheduled) return;
  scheduled = true;
  // A hidden page gets no frames, but its title must be true.
  if (document.hidden) setTimeout(apply, 100);
  else requestAnimationFrame(apply);
}

function apply() {
  scheduled = false;
  batch(() => {
    let order = null;
    const gone = new Set();
    for (const [key, state] of waiting) {
      const known = panes.get(key);
      if (state === null) {
        if (known) { panes.delete(key); gone.add(key); known.value = null; }
      } else if (known) {
        const before = known.peek();
        if (state.needs_you && !before.needs_you) tell(state);
        known.value = state;
      } else {
        panes.set(key, signal(state));
        (order ??= []).push(key);
        if (state.needs_you) tell(state);
      }
    }
    waiting.clear();
    if (order || gone.size) {
      keys.value = [...keys.peek().filter((key) => !gone.has(key)), ...(order || [])];
    }
  });
}

function tell(state) {
  if (snapshot) return;
  const what = state.question?.text || "";
  announced.value = `${state.program.name} in ${state.pane.session} needs you. ${what.slice(0, 200)}`;
}

function take(event, data, id) {
  if (snapshot && id !== snapshot.id) endSnapshot();
  if (id) lastId = id;
  if (event === "pane") {
    const state = JSON.parse(data);
    waiting.set(state.pane.key, state);
    if (snapshot) {
      snapshot.left.delete(state.pane.key);
      clearTimeout(snapshotTimer);
      snapshotTimer = setTimeout(endSnapshot, 1000);
    }
    soon();
  } else if (event === "gone") {
    waiting.set(JSON.parse(data).key, null);
    soon();
  } else if (event === "reset") {
    snapshot = { id, left: new Set([...panes.keys(), ...waiting.keys()]) };
    clearTimeout(snapshotTimer);
    snapshotTimer = setTimeout(endSnapshot, 1000);
    refreshMe();
  }
}

// Panes that the snapshot did not hold are no more.
function endSnapshot() {
  if (!snapshot) return;
  for (const key of snapshot.left) waiting.set(key, null);
  snapshot = null;
  clearTimeout(snapshotTimer);
  soon();
}

// ---------------------------------------------------------------- connection

function beat() {
  lastBeat = Date.now();
  attempts = 0;
  if (connection.peek().state !== "live") connection.value = { state: "live", since: lastBeat };
}

async function follow() {
  for (;;) {
    current = new AbortController();
    lastBeat = Date.now();
    try {
      await api.events(lastId, take, beat, current.signal);
    } catch (error) {
      if (error.status === 401) return;
      if (error.status === 429) attempts = RETRY.length - 1;
    }
    if (connection.peek().state === "unpaired") return;
    const pause = RETRY[Math.min(attempts, RETRY.length - 1)] * (0.75 + Math.random() / 2);
    attempts += 1;
    const state = navigator.onLine === false ? "offline" : "lost";
    const before = connection.peek();
    const since = before.state === "live" || before.state === "connecting" ? Date.now() : before.since;
    connection.value = { state, since, next: Date.now() + pause };
    await new Promise((resolve) => { wakeUp = resolve; timer = setTimeout(resolve, pause); });
    clearTimeout(timer);
  }
}

// Look whether the line is alive: timers stand still while a device sleeps.
function check() {
  if (connection.peek().state === "live" && Date.now() - lastBeat > QUIET) current?.abort();
}

function comeBack() {
  if (document.hidden) return;
  minute.value += 1;
  if (connection.peek().state !== "live") { attempts = 0; wakeUp(); } else check();
}

export async function refreshMe() {
  try {
    const asked = Date.now();
    const answer = await api.get("/api/me");
    const halfway = (asked + Date.now()) / 2;
    clockOff.value = Math.abs(answer.now - halfway) > 2000 ? answer.now - halfway : 0;
    if (me.peek() && me.peek().build !== answer.build) renew();
    else me.value = answer;
  } catch (error) {
    if (error.status === 401) return;
  }
}

// The service is of another version than this page. A page that nobody looks at renews itself.
function renew() {
  newVersion.value = true;
  if (document.hidden) location.reload();
}

export function start() {
  api.onRefused(() => {
    connection.value = { state: "unpaired", since: Date.now() };
    current?.abort();
  });
  window.addEventListener("online", comeBack);
  window.addEventListener("offline", () => current?.abort());
  window.addEventListener("pageshow", comeBack);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden && newVersion.peek()) location.reload();
    comeBack();
  });
  setInterval(check, 5000);
  setInterval(() => { if (!document.hidden) minute.value += 1; }, 10000);
  refreshMe();
  follow();
}
