// One pane: what it asks, its screen, why we say so, its session.

import { html, useEffect, useSignal } from "./lib.js";
import { get } from "./api.js";
import { Age, Ask, Dot } from "./deck.js";
import { Screen } from "./screen.js";
import { SessionDetail } from "./session.js";
import { keys, markSeen, me, now, paneSignal, store } from "./store.js";
import { activity, at, clean, folder, longSpan, place, webAddress } from "./words.js";

export function Pane({ id }) {
  const state = paneSignal(id)?.value;
  const fit = useSignal(store.get("fit", true));
  const lit = useSignal([]);
  useEffect(() => { if (state && !document.hidden) markSeen(state); }, [state?.rev, id]);
  useEffect(() => { document.getElementById("pane-title")?.focus({ preventScroll: true }); }, [id]);
  if (!state) {
    keys.value; // it may still come: the page was opened before its first states
    return html`<section class="pane" aria-labelledby="pane-title">
      <h2 id="pane-title" tabindex="-1">This pane is gone</h2>
      <p class="quiet">It ended, or its tmux server did. <a href="#/">All panes</a></p></section>`;
  }
  const { pane, program } = state;
  return html`<section class="pane" aria-labelledby="pane-title">
    <header>
      <a class="back" href="#/" aria-label="All panes">←</a>
      <${Dot} state=${state} />
      <h2 id="pane-title" tabindex="-1"><bdi>${place(pane)}</bdi></h2>
      <span class="program">${clean(program.name, 40)}${program.version ? ` ${clean(program.version, 30)}` : ""}</span>
      <${Age} at=${state.clocks.since} />
    </header>
    <p class=${`said ${state.attention}`}>${activity(state)}${state.title ? html` · <bdi>${clean(state.title, 300)}</bdi>` : ""}</p>
    ${state.question && html`<div class="question ${state.needs_you ? "now" : ""}">
      <${Ask} question=${state.question} large=${true} />
      <p class="hint">Answer in the pane: <code>openbus next</code> takes you there.</p></div>`}
    <div class="screen-box">
      <div class="bar">
        <h3>Screen</h3>
        <button class="link" aria-pressed=${fit.value} onClick=${() => {
          fit.value = !fit.value;
          store.set("fit", fit.value);
        }}>${fit.value ? "Larger" : "Fit"}</button>
      </div>
      <${Screen} id=${id} lit=${lit.value} fit=${fit.value} />
    </div>
    <${Why} state=${state} lit=${lit} />
    <${About} state=${state} />
    <${Requests} prs=${state.prs} />
    ${me.value?.features.includes("sessions") && html`<${OfSession} id=${id} known=${state.session?.id} />`}
    <${Evidence} id=${id} state=${state} />
    ${me.value?.features.includes("timeline") && html`<${Past} id=${id} rev=${state.rev} />`}
  </section>`;
}

function Why({ state, lit }) {
  return html`<details class="why" open><summary><h3>Why this state</h3></summary>
    ${state.why.length === 0
      ? html`<p class="quiet">Nothing on the screen proves more than this.</p>`
      : html`<ul>${state.why.map((why, i) => html`<li key=${i}>
          <button class="rule" onMouseEnter=${() => { lit.value = why.rows; }}
            onMouseLeave=${() => { lit.value = []; }} onFocus=${() => { lit.value = why.rows; }}
            onBlur=${() => { lit.value = []; }} onClick=${() => { lit.value = why.rows; }}>
            <code>${clean(why.rule, 200)}</code>
            <span>${rows(why.rows)}</span></button></li>`)}</ul>`}
    <p class="quiet">Program <b>${clean(state.program.name, 40)}</b> by ${state.program.via === "process"
      ? "its process" : state.program.via === "screen" ? "the look of the screen" : "nothing certain"},
      confidence ${state.program.confidence}.</p>
  </details>`;
}

function rows(list) {
  if (!list.length) return "no row";
  const first = list[0] + 1;
  const last = list[list.length - 1] + 1;
  return first === last ? `row ${first}` : `rows ${first}–${last}`;
}

function About({ state }) {
  const { pane, repo, clocks, model } = state;
  const items = [
    ["Folder", clean(pane.cwd, 500)],
    repo && ["Repository", `${clean(folder(repo.root), 200)}${repo.branch ? ` on ${clean(repo.branch, 200)}` : ""}`],
    model && ["Model", `${clean(model.value, 100)} (from the ${model.source === "screen" ? "screen" : clean(model.source, 30)})`],
    ["Window", `${pane.window.index} ${clean(pane.window.name, 200)}`],
    ["Pane", `${pane.id}, ${pane.width}×${pane.height}${pane.viewed ? ", in view" : ""}`],
    ["Machine", `${clean(state.host, 200)}, tmux ${clean(pane.server.socket, 300)}`],
    ["In this state", clocks.since ? longSpan(now() - clocks.since) : "—"],
    ["Screen changed", at(clocks.changed_at)],
    ["Conversation moved", at(clocks.progress_at)],
    ["Last read", at(clocks.parsed_at)],
  ].filter(Boolean);
  return html`<details class="about"><summary><h3>About this pane</h3></summary>
    <dl>${items.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd><bdi>${value}</bdi></dd></div>`)}</dl>
  </details>`;
}

// The session that this pane shows, when its binding is proved.
function OfSession({ id, known }) {
  const found = useSignal(known ?? null);
  useEffect(() => {
    if (known) { found.value = known; return; }
    get("/api/sessions").then((sessions) => {
      found.value = sessions.find((one) => one.panes.includes(id))?.id ?? null;
    }, () => {});
  }, [id, known]);
  if (!found.value) return null;
  return html`<div class="of-session"><h3>Session</h3>
    <${SessionDetail} id=${found.value} embedded=${true} /></div>`;
}

function Requests({ prs }) {
  if (!prs.length) return null;
  return html`<div class="prs"><h3>Pull requests</h3><ul>
    ${prs.map((pr) => html`<li key=${`${pr.url}`}>${webAddress(pr.url)
      ? html`<a href=${webAddress(pr.url)} rel="noopener noreferrer" target="_blank">#${pr.number}</a>`
      : `#${pr.number}`} <bdi>${clean(pr.title, 300)}</bdi> → <bdi>${clean(pr.base, 100)}</bdi>
      <span class="quiet"> ${clean(pr.relation, 40)}: ${clean(pr.reason, 200)} · fetched ${at(pr.fetched_at)}</span></li>`)}
  </ul></div>`;
}

// What native sources claim about this pane, beside the screen. It decides nothing.
function Evidence({ id, state }) {
  const rowsFound = useSignal([]);
  useEffect(() => {
    get("/api/shadow").then((answer) => {
      rowsFound.value = (answer.sources || []).flatMap((source) =>
        (source.detail?.bindings || [])
          .filter((row) => row.pane === id)
          .map((row) => ({ source: source.source, ...row })));
    }, () => {});
  }, [id]);
  const found = rowsFound.value;
  if (!found.length && !state.session) return null;
  return html`<details class="evidence"><summary><h3>Evidence and binding</h3></summary>
    ${state.session && html`<p>Session <code>${clean(state.session.id, 200)}</code>, ${clean(state.session.binding, 30)}.</p>`}
    ${found.map((row) => html`<p key=${row.source}>${clean(row.source, 60)}: <b>${clean(row.verdict, 30)}</b>
      ${" "}by ${clean(row.how, 100)}${row.thread ? html`, thread …<code>${clean(row.thread, 20)}</code>` : ""}.
      ${" "}It says ${row.native ? clean(row.native, 30) : "nothing"}${row.native_waiting ? ", waiting" : ""};
      the screen says ${clean(row.screen, 30)}: ${clean(row.comparison, 40).replaceAll("_", " ")}.</p>`)}
    <p class="quiet">The screen decides; this is compared and counted only.</p>
  </details>`;
}

// What this pane went through in the last day.
function Past({ id, rev }) {
  const spans = useSignal([]);
  useEffect(() => {
    const to = Math.round(now());
    get(`/api/history?from=${to - 86400000}&to=${to}&pane=${encodeURIComponent(id)}`)
      .then((answer) => { spans.value = answer.spans || []; }, () => {});
  }, [id, rev]);
  if (!spans.value.length) return null;
  const last = spans.value.slice(-40).reverse();
  return html`<details class="past"><summary><h3>What happened</h3></summary><ol>
    ${last.map((one) => html`<li key=${one.from} class=${one.attention}>
      <span class="dot ${one.attention} ${one.activity}" aria-hidden="true"></span>
      <span>${at(one.from)}</span> <b>${activity({ ...one, detail: null, background: 0 })}</b>
      <span class="quiet">${longSpan(one.to - one.from)}</span></li>`)}
  </ol></details>`;
}
