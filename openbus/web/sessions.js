// Sessions that agents keep on disk: of all ages that the service lists, running or not.

import { html, useEffect, useSignal } from "./lib.js";
import { get } from "./api.js";
import { href } from "./deck.js";
import { SessionDetail } from "./session.js";
import { minute, now, paneSignal } from "./store.js";
import { at, clean, folder, money, number, span } from "./words.js";

const EVERY = 5000;

export default function Sessions({ parts }) {
  if (parts[0]) {
    return html`<section aria-label="Session"><p class="page-head"><a href="#/sessions">← Sessions</a></p>
      <${SessionDetail} id=${parts[0]} subagent=${parts[1]} /></section>`;
  }
  return html`<${List} />`;
}

function List() {
  const sessions = useSignal(null);
  const trouble = useSignal("");
  const query = useSignal("");
  useEffect(() => {
    let over = false;
    let timer = 0;
    async function look() {
      if (!document.hidden) {
        try {
          const answer = await get("/api/sessions");
          if (!over) { sessions.value = Array.isArray(answer) ? answer : answer.sessions; trouble.value = ""; }
        } catch (error) {
          if (!over) trouble.value = error.message;
        }
      }
      if (!over) timer = setTimeout(look, EVERY);
    }
    look();
    return () => { over = true; clearTimeout(timer); };
  }, []);
  minute.value;
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = (sessions.value || []).filter((one) => {
    const text = [one.title, one.harness, one.project, one.cwd, one.gitBranch, one.model, one.status, one.excerpt].join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  }).sort((a, b) => (b.lastActivityAt || 0) - (a.lastActivityAt || 0));
  return html`<section aria-labelledby="sessions-title">
    <div class="page-head"><h2 id="sessions-title">Sessions</h2>
      <p class="quiet">What the agents themselves recorded on this machine. "—" is what an agent does not record.</p></div>
    <${Limits} sessions=${sessions.value || []} />
    <div class="find"><input id="search" type="search" placeholder="Search sessions" aria-label="Search sessions"
      value=${query.value} onInput=${(event) => { query.value = event.target.value; }} /></div>
    ${trouble.value && html`<p class="trouble" role="alert">${clean(trouble.value, 200)}</p>`}
    ${sessions.value === null ? html`<p class="quiet">Reading…</p>` : shown.length === 0
      ? html`<p class="empty">No session ${words.length ? "matches" : "of the last day"}.</p>`
      : html`<ul class="list-rows">${shown.slice(0, 300).map((one) => html`<${Row} key=${one.id} one=${one} />`)}</ul>`}
  </section>`;
}

function Row({ one }) {
  const panes = (one.panes || []).filter((key) => paneSignal(key));
  return html`<li>
    <div class="top"><span class=${`status ${one.status}`}>${clean(one.status, 20)}</span>
      <a class="main" href=${`#/sessions/${encodeURIComponent(one.id)}`}><bdi>${clean(one.title, 200) || "untitled"}</bdi></a>
      <span class="age">${one.lastActivityAt ? span(now() - one.lastActivityAt) : "—"}</span></div>
    ${one.excerpt && html`<p class="quiet"><bdi>${clean(one.excerpt, 280)}</bdi></p>`}
    <div class="marks"><span>${clean(one.harness, 30)}</span><span><bdi>${clean(one.model, 60) || "—"}</bdi></span>
      <span><bdi>${folder(one.cwd)}${one.gitBranch ? ` · ${clean(one.gitBranch, 80)}` : ""}</bdi></span>
      <span>out ${number(one.tokens?.output)}</span><span>${money(one.costUsd)}</span>
      ${one.plan && html`<span class="plan"><progress max=${one.plan.total} value=${one.plan.done} aria-label="Plan"></progress>${one.plan.done}/${one.plan.total}</span>`}
      ${panes.map((key) => html`<a key=${key} href=${href(key)}>its pane</a>`)}</div>
  </li>`;
}

// An account's limits are recorded by many sessions: the newest record of each agent counts.
function Limits({ sessions }) {
  const newest = new Map();
  for (const { harness, usageLimits } of sessions) {
    if (usageLimits && (newest.get(harness)?.at ?? 0) < usageLimits.at) newest.set(harness, usageLimits);
  }
  if (!newest.size) return null;
  return html`<div class="box"><h3>Usage limits</h3>
    ${[...newest].map(([harness, limits]) => html`<div key=${harness}>
      <p class="quiet">${clean(harness, 30)}${limits.subscription ? `, ${clean(limits.subscription, 40)}` : ""}, recorded ${at(limits.at)}</p>
      ${limits.windows.map((one) => html`<div class="top" key=${one.id}><span>${clean(one.id, 40)}</span>
        <meter min="0" max="100" value=${one.usedPercent} aria-label=${clean(one.id, 40)}></meter>
        <span>${number(one.usedPercent)} %</span>
        <span class="age">${one.resetsAt ? `resets ${at(one.resetsAt)}` : "—"}</span></div>`)}
    </div>`)}</div>`;
}
