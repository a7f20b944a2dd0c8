// The deck: every pane, what needs you first.

import { html, computed, signal, useEffect, useRef } from "./lib.js";
import { keys, pane, paneSignal, compare, isUnseen, minute, needsYou, now, selected, store } from "./store.js";
import {
  ATTENTION_WORDS, KIND_WORDS, activity, clean, count, folder, headline, place, span,
} from "./words.js";

const FIRST = 80; // so many cards are drawn at once, more as one scrolls
const MORE = 160;

export const query = signal("");
export const only = signal(store.get("only", "all"));
export const grouping = signal(store.get("grouping", "urgency"));
const limit = signal(FIRST);

const FILTERS = [
  ["all", "All", () => true],
  ["needs_you", "Needs you", (state) => state.needs_you],
  ["news", "News", (state) => state.attention !== "none"],
  ["working", "Working", (state) => state.activity === "working"],
  ["idle", "Idle", (state) => state.activity === "idle"],
];
const GROUPINGS = [["urgency", "By urgency"], ["session", "By session"], ["host", "By host"]];

export function choose(name) {
  only.value = name;
  limit.value = FIRST;
  store.set("only", name);
}

function matches(state, words) {
  if (!words.length) return true;
  const text = [
    state.host, state.pane.session, state.pane.window.name, state.pane.id, state.pane.cwd,
    state.pane.command, state.program.name, state.activity, state.title, state.headline,
    state.question?.text, state.question?.command, state.repo?.branch,
  ].join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
}

function stable(make) {
  let last = [];
  return computed(() => {
    const next = make();
    if (next.length === last.length && next.every((key, i) => key === last[i])) return last;
    last = next;
    return next;
  });
}

// The keys that are shown, in order.
export const shown = stable(() => {
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  const keep = FILTERS.find(([name]) => name === only.value)?.[2] ?? (() => true);
  return keys.value
    .map(pane)
    .filter((state) => state && keep(state) && matches(state, words))
    .sort(compare)
    .map((state) => state.pane.key);
});

const SECTIONS = [
  ["needs_you", "Needs you", (state) => state.needs_you],
  ["limit", "At a limit", (state) => state.attention === "limit"],
  ["error", "Errors", (state) => state.attention === "error"],
  ["asked", "Asked you something", (state) => state.attention === "asked"],
  ["done", "Done", (state) => state.attention === "done"],
  ["working", "Working", (state) => state.activity === "working" || state.waiting_on === "external"],
  ["rest", "Idle", () => true],
];

function sectionOf(state) {
  if (grouping.value === "session") return [state.pane.session, clean(state.pane.session, 100)];
  if (grouping.value === "host") return [state.host, clean(state.host, 100)];
  const [name, words] = SECTIONS.find(([, , holds]) => holds(state));
  return [name, words];
}

// A text that is the same for the same sections with the same panes.
const sections = computed(() => {
  const found = new Map();
  for (const key of shown.value) {
    const state = pane(key);
    if (!state) continue;
    const [name, words] = sectionOf(state);
    if (!found.has(name)) found.set(name, { name, words, keys: [] });
    found.get(name).keys.push(key);
  }
  return [...found.values()];
});

const counts = computed(() => {
  const found = Object.fromEntries(FILTERS.map(([name]) => [name, 0]));
  for (const key of keys.value) {
    const state = pane(key);
    if (state) for (const [name, , holds] of FILTERS) if (holds(state)) found[name] += 1;
  }
  return found;
});

export function href(key) {
  return `#/pane/${encodeURIComponent(key)}`;
}

export function Deck({ hidden }) {
  return html`<section class=${hidden ? "deck aside" : "deck"} aria-label="Panes">
    <${Tools} />
    ${keys.value.length === 0
      ? html`<p class="empty">No pane yet. Start an agent in tmux and it appears here.</p>`
      : shown.value.length === 0
        ? html`<p class="empty">Nothing matches. <button class="link" onClick=${clear}>Show all</button></p>`
        : html`<${Sections} />`}
  </section>`;
}

function clear() {
  query.value = "";
  choose("all");
}

function Tools() {
  const found = counts.value;
  return html`<div class="tools">
    <div class="chips" role="group" aria-label="Filter">
      ${FILTERS.map(([name, words]) => html`<button key=${name} class="chip ${name}"
        aria-pressed=${only.value === name} onClick=${() => choose(name)}>${words}
        <span class="n">${found[name]}</span></button>`)}
    </div>
    <div class="find">
      <input id="search" type="search" placeholder="Search" aria-label="Search panes"
        autocomplete="off" spellcheck="false" value=${query.value}
        onInput=${(event) => { query.value = event.target.value; limit.value = FIRST; }} />
      <select aria-label="Grouping" value=${grouping.value} onChange=${(event) => {
        grouping.value = event.target.value;
        store.set("grouping", event.target.value);
      }}>
        ${GROUPINGS.map(([name, words]) =>
          html`<option value=${name} selected=${grouping.value === name}>${words}</option>`)}
      </select>
    </div>
  </div>`;
}

function Sections() {
  let room = limit.value;
  const drawn = [];
  for (const { name, words, keys: found } of sections.value) {
    if (room <= 0) break;
    drawn.push(html`<${Section} key=${name} name=${name} words=${words} total=${found.length}
      keys=${found.slice(0, room)} />`);
    room -= found.length;
  }
  return html`${drawn}${room < 0 && html`<${Further} left=${-room} />`}`;
}

function Section({ name, words, total, keys: found }) {
  return html`<section class="group ${name}" aria-labelledby=${`h-${name}`}>
    <h2 id=${`h-${name}`}>${words} <span class="n">${total}</span></h2>
    <ul>${found.map((key) => html`<${Card} key=${key} id=${key} />`)}</ul>
  </section>`;
}

// Draws more when it comes near the view.
function Further({ left }) {
  const mark = useRef(null);
  useEffect(() => {
    const watch = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) limit.value += MORE;
    }, { rootMargin: "600px" });
    watch.observe(mark.current);
    return () => watch.disconnect();
  }, [left]);
  return html`<p class="further" ref=${mark}>
    <button class="link" onClick=${() => { limit.value += MORE; }}>${left} more</button></p>`;
}

function Card({ id }) {
  const state = paneSignal(id)?.value;
  if (!state) return null;
  const full = state.needs_you || state.question;
  const classes = [
    "card", state.attention, state.activity, full ? "full" : "row",
    state.stale ? "stale" : "", selected.value === id ? "open" : "",
  ].join(" ");
  return html`<li class=${classes} data-key=${id} data-rev=${state.rev}>
    <a href=${href(id)} aria-current=${selected.value === id ? "true" : undefined}>
      <span class="top">
        <${Dot} state=${state} />
        <span class="place"><bdi>${place(state.pane)}</bdi></span>
        <span class="program">${clean(state.program.name, 40)}</span>
        ${isUnseen(state) && html`<span class="unseen"><span class="sr">new</span></span>`}
        <${Age} at=${state.clocks.since} />
      </span>
      ${full ? html`<${Ask} question=${state.question} />` : html`<${Line} state=${state} />`}
      <${Marks} state=${state} />
    </a>
  </li>`;
}

export function Dot({ state }) {
  return html`<span class="dot ${state.attention} ${state.activity}" aria-hidden="true"></span>`;
}

export function Age({ at }) {
  minute.value; // drawn again as time passes
  if (!at) return null;
  const ms = now() - at;
  return html`<span class="age" title=${new Date(at).toLocaleString()}>${span(ms)}</span>`;
}

function Line({ state }) {
  const words = headline(state);
  const said = ATTENTION_WORDS[state.attention];
  return html`<span class="line">
    <span class="state">${said && html`<b>${said}</b>${" · "}`}${activity(state)}</span>
    ${words && html`<span class="headline"><bdi>${words}</bdi></span>`}
  </span>`;
}

// What is asked, as it is on the screen. Not buttons: answering happens in the pane.
export function Ask({ question, large }) {
  if (!question) return html`<span class="ask"><span class="kind">waits for you</span></span>`;
  const most = large ? 4000 : 600;
  return html`<span class="ask">
    <span class="kind">${KIND_WORDS[question.kind] || clean(question.kind, 30)}</span>
    ${question.text && html`<span class="text"><bdi>${clean(question.text, most)}</bdi></span>`}
    ${question.command && html`<code class="command"><bdi>${clean(question.command, most)}</bdi></code>`}
    ${question.options.length > 0 && html`<span class="options" role="list">
      ${question.options.map((option, i) => html`<span role="listitem" key=${i}
        class=${option.selected ? "option chosen" : "option"}>
        ${option.key && !option.label.includes(`(${option.key})`) && html`<kbd>${clean(option.key, 12)}</kbd>`}
        ${option.checked !== null && html`<span class="check">${option.checked ? "☑" : "☐"}
          <span class="sr">${option.checked ? "checked" : "not checked"}</span></span>`}
        <bdi>${clean(option.label, 400)}</bdi>
        ${option.selected && html`<span class="sr">(selected)</span>`}</span>`)}
    </span>`}
    ${question.clipped && html`<span class="more">More is hidden: the pane is too small.</span>`}
  </span>`;
}

function Marks({ state }) {
  const { plan, prs, repo, model } = state;
  const where = repo?.root ? folder(repo.root) : folder(state.pane.cwd);
  return html`<span class="marks">
    ${where && html`<span class="where"><bdi>${where}${repo?.branch ? ` · ${clean(repo.branch, 80)}` : ""}</bdi></span>`}
    ${model && html`<span class="model"><bdi>${clean(model.value, 60)}</bdi></span>`}
    ${plan && plan.total > 0 && html`<span class="plan"><progress max=${plan.total} value=${plan.done}
      aria-label="Plan"></progress>${plan.done}/${plan.total}</span>`}
    ${prs.map((pr) => html`<span class="pr" key=${pr.number}>PR #${pr.number}</span>`)}
  </span>`;
}

// The keys in the order in which they are on the page.
export function order() {
  return sections.value.flatMap((section) => section.keys);
}

export function step(by) {
  const list = order();
  const focused = document.activeElement?.closest?.("li.card")?.dataset.key;
  const from = list.indexOf(selected.value ?? focused);
  const next = list[from < 0 ? 0 : Math.min(list.length - 1, Math.max(0, from + by))];
  if (!next) return;
  if (limit.value < list.length && list.indexOf(next) >= limit.value) limit.value += MORE;
  if (selected.value) location.hash = href(next);
  requestAnimationFrame(() => {
    const card = document.querySelector(`li.card[data-key="${CSS.escape(next)}"] a`);
    if (card && !selected.value) card.focus();
    card?.scrollIntoView({ block: "nearest" });
  });
}

// The next pane that needs you after the one that is open, round and round.
export function nextNeeding() {
  const list = order().filter((key) => pane(key)?.needs_you);
  if (!list.length) return null;
  return list[(list.indexOf(selected.value) + 1) % list.length];
}

export function summary() {
  const waiting = needsYou.value.length;
  if (waiting) return `${count(waiting, "pane")} ${waiting === 1 ? "needs" : "need"} you`;
  return keys.value.length ? "Nothing needs you" : "";
}
