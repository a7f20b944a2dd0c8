// Native evidence against the terminal: counted, compared, deciding nothing.

import { html, useEffect, useSignal } from "./lib.js";
import { get } from "./api.js";
import { href } from "./deck.js";
import { pane } from "./store.js";
import { clean, longSpan, number, place } from "./words.js";

const EVERY = 3000;
const NATIVE = ["active", "idle", "error", "not_loaded", "unknown"];

export default function Shadow() {
  const answer = useSignal(null);
  const trouble = useSignal("");
  useEffect(() => {
    let over = false;
    let timer = 0;
    async function look() {
      if (!document.hidden) {
        try { const fresh = await get("/api/shadow"); if (!over) { answer.value = fresh; trouble.value = ""; } }
        catch (error) { if (!over) trouble.value = error.message; }
      }
      if (!over) timer = setTimeout(look, EVERY);
    }
    look();
    return () => { over = true; clearTimeout(timer); };
  }, []);
  const sources = answer.value?.sources;
  return html`<section aria-labelledby="shadow-title">
    <div class="page-head"><h2 id="shadow-title">Shadow</h2>
      <p class="quiet">What agents' own servers and files say, beside what the screen shows. The screen decides.</p></div>
    ${trouble.value && html`<p class="trouble" role="alert">${clean(trouble.value, 200)}</p>`}
    ${sources && sources.length === 0 && html`<div class="box"><h3>No source is on</h3>
      <p>Codex's own server can be compared with the screen, read-only: <code>openbus up --codex-evidence</code>, or
      <code>evidence = true</code> under <code>[codex]</code> in the settings file. It connects under an honest name and asks
      for names and states of threads; docs/native-evidence.md says what that changes.</p></div>`}
    ${(sources || []).map((source) => html`<${Source} key=${source.source} source=${source} />`)}
  </section>`;
}

function Source({ source }) {
  const { detail } = source;
  return html`<div class="box"><h3>${clean(source.source, 80)}</h3>
    <${Counts} title="Health" counts=${source.health} />
    <${Counts} title="Panes by binding" counts=${source.verdicts} />
    ${detail.agreement !== undefined && detail.agreement !== null && html`<p>Agreement with the screen: <b>${percent(detail.agreement)}</b></p>`}
    ${detail.bindings?.length > 0 && html`<${Matrix} rows=${detail.bindings} /><${Bindings} rows=${detail.bindings} />`}
    ${detail.cache && html`<p>Cache: ${detail.cache.threads} threads, age ${percentiles(detail.cache.age_ms)}</p>`}
    ${(detail.servers || []).map((server, i) => html`<details key=${i}><summary><h4>Server ${i + 1}: ${clean(server.health, 40)}</h4></summary>
      <pre class="hunk">${clean(JSON.stringify(server, null, 1), 4000)}</pre></details>`)}
    ${Object.entries(source.counters).map(([name, counts]) => html`<${Counts} key=${name} title=${name.replaceAll("_", " ")} counts=${counts} />`)}
  </div>`;
}

function percent(value) {
  return typeof value === "number" ? `${(value * 100).toFixed(1)} %` : clean(JSON.stringify(value), 200);
}

function percentiles(value) {
  if (!value || typeof value !== "object") return number(value);
  const words = Object.entries(value).map(([name, ms]) => `${clean(name, 10)} ${ms === null ? "—" : longSpan(ms)}`);
  return words.join(", ") || "—";
}

function Counts({ title, counts }) {
  const found = Object.entries(counts || {});
  if (!found.length) return null;
  return html`<p><span class="quiet">${clean(title, 60)}: </span>${found
    .map(([name, count]) => `${clean(name, 60).replaceAll("_", " ")} ${number(count)}`).join(", ")}</p>`;
}

// How often the two say what, over the panes of now.
function Matrix({ rows }) {
  const screens = [...new Set(rows.map((row) => row.screen))];
  const natives = NATIVE.filter((name) => rows.some((row) => row.native === name));
  if (!natives.length) return null;
  const counted = (native, screen) => rows.filter((row) => row.native === native && row.screen === screen).length;
  return html`<div class="wide"><table><caption class="sr">Native state against the screen, panes of now</caption>
    <thead><tr><th scope="col">native \\ screen</th>${screens.map((name) => html`<th scope="col" key=${name}>${clean(name, 20)}</th>`)}</tr></thead>
    <tbody>${natives.map((native) => html`<tr key=${native}><th scope="row">${native.replaceAll("_", " ")}</th>
      ${screens.map((screen) => html`<td key=${screen}>${counted(native, screen) || "·"}</td>`)}</tr>`)}</tbody></table></div>`;
}

function Bindings({ rows }) {
  return html`<details><summary><h4>Panes <span class="n">${rows.length}</span></h4></summary><ul class="log">
    ${rows.map((row) => html`<li key=${row.pane}><a href=${href(row.pane)}>${pane(row.pane) ? place(pane(row.pane).pane) : clean(row.pane, 80)}</a>
      ${" "}<b>${clean(row.verdict, 20)}</b> by ${clean(row.how, 80)} · ${clean(row.comparison, 40).replaceAll("_", " ")}</li>`)}</ul></details>`;
}
