// Words for people, from states. Foreign text (screens, titles, transcripts) passes `clean`.

const CONTROL =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]/g;
const LONGEST = 4000;

// Without control, zero-width and direction characters; a line of ten thousand is cut.
export function clean(text, most = LONGEST) {
  if (text === null || text === undefined) return "";
  const all = String(text);
  const kept = (all.length > most * 2 ? all.slice(0, most * 2) : all).replace(CONTROL, "");
  return kept.length > most || all.length > most * 2 ? `${kept.slice(0, most)}…` : kept;
}

export const ATTENTION = ["needs_you", "limit", "error", "asked", "done", "none"];

export const ATTENTION_WORDS = {
  needs_you: "needs you",
  limit: "at a limit",
  error: "error",
  asked: "asked you",
  done: "done",
  none: "",
};

export const KIND_WORDS = {
  approval: "approval", question: "question", plan: "plan", trust: "trust", login: "login",
  setup: "setup", update: "update", limit: "usage limit", password: "password",
  confirm: "confirmation", menu: "choice", prompt: "input",
};

export function place(pane) {
  return clean(`${pane.session}:${pane.window.index}.${pane.index}`, 200);
}

export function folder(path) {
  const parts = clean(path, 500).split("/").filter(Boolean);
  return parts.length ? parts[parts.length - 1] : clean(path, 500);
}

// "waiting", "working (compacting)", "idle, 2 in background".
export function activity(state) {
  let said = state.activity;
  if (state.activity === "waiting" && state.waiting_on === "external") said = "waiting for something";
  if (state.activity === "waiting" && state.waiting_on === "user") said = "waits for you";
  if (state.detail) said += ` (${clean(state.detail, 80)})`;
  if (state.background) said += `, ${state.background} in background`;
  if (state.overlay) said += `, ${clean(state.overlay, 40)} open`;
  if (state.draft) said += ", draft typed";
  if (state.stale) said += ", tmux does not answer";
  return said;
}

// The one line that tells panes of one program apart.
export function headline(state) {
  return clean(state.headline || state.title || "", 300);
}

export function count(n, one, many = `${one}s`) {
  return `${n} ${n === 1 ? one : many}`;
}

const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

// A span in milliseconds as its largest unit: "4 min".
export function span(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  for (const [name, size] of UNITS) {
    if (seconds >= size) return `${Math.floor(seconds / size)} ${name}`;
  }
  return "now";
}

// A span in words that a clock would show: "1 h 20 min".
export function longSpan(ms) {
  const minutes = Math.round(ms / 60000);
  if (minutes < 1) return span(ms);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  const days = Math.floor(hours / 24);
  return hours % 24 ? `${days} d ${hours % 24} h` : `${days} d`;
}

export function at(ms) {
  if (!ms) return "—";
  const when = new Date(ms);
  const today = new Date().toDateString() === when.toDateString();
  return when.toLocaleString([], today
    ? { hour: "2-digit", minute: "2-digit", second: "2-digit" }
    : { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
}

// Numbers as people read them; null is "—": the agent does not record it.
export function number(value) {
  if (value === null || value === undefined) return "—";
  if (Math.abs(value) >= 1e6) return `${(value / 1e6).toFixed(1)} M`;
  if (Math.abs(value) >= 1e4) return `${(value / 1e3).toFixed(0)} k`;
  if (Math.abs(value) >= 1e3) return `${(value / 1e3).toFixed(1)} k`;
  return String(Math.round(value * 100) / 100);
}

export function money(value) {
  return value === null || value === undefined ? "—" : `$${value.toFixed(2)}`;
}

// Only plain web addresses become links.
export function webAddress(url) {
  return typeof url === "string" && /^https:\/\/[^\s]+$/.test(url) ? url : null;
}
