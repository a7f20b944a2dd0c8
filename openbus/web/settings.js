// Settings: what this service has on, who is paired. Sections come with their features.

import { html, useEffect, useSignal } from "./lib.js";
import { get, send } from "./api.js";
import { me } from "./store.js";
import { at, clean } from "./words.js";

export default function Settings() {
  const features = me.value?.features ?? [];
  return html`<section aria-labelledby="settings-title">
    <div class="page-head"><h2 id="settings-title">Settings</h2></div>
    ${features.includes("settings") && html`<${Chosen} />`}
    ${features.includes("paired") && html`<${Paired} />`}
    <div class="box"><h3>This service</h3>
      <dl><div><dt>Version</dt><dd>${clean(me.value?.version, 30)}</dd></div>
        <div><dt>This browser</dt><dd>${me.value?.role === "view" ? "may look" : "may look and change"}</dd></div></dl>
      <p class="quiet">Settings are made in a file of yours, <code>config.toml</code>; this page shows them.
        OpenBus itself never edits it.</p></div>
  </section>`;
}

// What the settings file says, table by table, with the lines to paste.
function Chosen() {
  const found = useSignal(null);
  useEffect(() => { get("/api/settings").then((answer) => { found.value = answer; }, () => {}); }, []);
  return (found.value?.sections || []).map((section) => html`<div class="box" key=${section.name}>
    <h3>${clean(section.title, 80)}</h3>
    ${section.text && html`<p>${clean(section.text, 2000)}</p>`}
    <dl>${section.values.map(([name, value]) => html`<div key=${name}><dt>${clean(name, 80)}</dt><dd><bdi>${clean(value, 400)}</bdi></dd></div>`)}</dl>
    ${section.paste && html`<p class="quiet">To change it, in <code>${clean(found.value.file, 400)}</code>:</p>
      <pre class="hunk">${clean(section.paste, 2000)}</pre>`}
  </div>`);
}

function Paired() {
  const list = useSignal(null);
  const trouble = useSignal("");
  const load = () => get("/api/paired").then((answer) => { list.value = answer; }, (error) => { trouble.value = error.message; });
  useEffect(() => { load(); }, []);
  async function revoke(id) {
    try { await send("DELETE", `/api/paired/${encodeURIComponent(id)}`); await load(); }
    catch (error) { trouble.value = error.message; }
  }
  return html`<div class="box"><h3>Paired</h3>
    <p class="quiet"><code>openbus pair</code> in a terminal prints a link and a code for another device.</p>
    ${trouble.value && html`<p class="trouble" role="alert">${clean(trouble.value, 200)}</p>`}
    <ul class="list-rows">${(list.value || []).map((one) => html`<li key=${one.id}>
      <div class="top"><b><bdi>${clean(one.label, 60) || clean(one.kind, 20)}</bdi></b>
        ${one.id === me.value?.id && html`<span class="tag">this one</span>`}
        <span class="quiet">${one.role === "view" ? "looks only" : "full"}</span>
        ${me.value?.role === "full" && html`<button class="button age" onClick=${() => revoke(one.id)}
          aria-label=${`Remove ${clean(one.label, 60) || one.id}`}>Remove</button>`}</div>
      <p class="quiet">paired ${at(one.added_at)} · seen ${at(one.seen_at)}</p></li>`)}</ul></div>`;
}
