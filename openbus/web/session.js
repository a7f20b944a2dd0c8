// One agent session in detail: what the agent itself recorded. "—" is what it does not record.

import { html, useEffect, useSignal } from "./lib.js";
import { get, send } from "./api.js";
import { Spark } from "./spark.js";
import { me, minute, now, paneSignal } from "./store.js";
import { at, clean, count, longSpan, money, number, span } from "./words.js";
import { href } from "./deck.js";

const EVERY = 5000;

export function SessionDetail({ id, embedded, subagent }) {
  const answer = useSignal(null);
  const trouble = useSignal("");
  useEffect(() => {
    let over = false;
    let timer = 0;
    async function look() {
      try {
        const path = `/api/sessions/${encodeURIComponent(id)}`;
        const fresh = await get(subagent ? `${path}?subagent=${encodeURIComponent(subagent)}` : path);
        if (!over) { answer.value = fresh; trouble.value = ""; }
      } catch (error) {
        if (!over) trouble.value = error.message;
      }
      if (!over) timer = setTimeout(look, EVERY);
    }
    look();
    return () => { over = true; clearTimeout(timer); };
  }, [id, subagent]);
  if (!answer.value) return html`<p class="quiet">${trouble.value || "Reading the session…"}</p>`;
  const { session, detail } = answer.value;
  return html`<div class="session-detail">
    ${!embedded && html`<${Head} session=${session} />`}
    <${Facts} session=${session} detail=${detail} />
    <${Plan} items=${detail.plan} reload=${() => get(`/api/sessions/${encodeURIComponent(id)}`).then((fresh) => { answer.value = fresh; })} />
    <${Context} session=${session} detail=${detail} />
    <${Errors} list=${detail.errors} />
    <${Files} list=${detail.files} />
    <${Activity} list=${detail.activity} />
    <${Tools} list=${detail.tools} />
    <${Agents} list=${detail.subagents} session=${id} />
    <${Words} detail=${detail} />
    <${Notes} list=${session.notes} partial=${session.partial} />
  </div>`;
}

function Head({ session }) {
  const panes = (session.panes || []).filter((key) => paneSignal(key));
  return html`<header class="session-head">
    <h2><bdi>${clean(session.title, 300) || "Session"}</bdi></h2>
    <p><span class=${`status ${session.status}`}>${clean(session.status, 20)}</span>
      ${" "}<span class="quiet">${clean(session.statusReason, 40).replaceAll("-", " ")}</span>
      ${" · "}${clean(session.harness, 30)}${session.agentVersion ? ` ${clean(session.agentVersion, 30)}` : ""}
      ${panes.map((key) => html` · <a key=${key} href=${href(key)}>its pane</a>`)}</p>
    ${session.excerpt && html`<blockquote><bdi>${clean(session.excerpt, 400)}</bdi></blockquote>`}
  </header>`;
}

function Facts({ session, detail }) {
  minute.value;
  const tokens = session.tokens;
  const context = session.context;
  const items = [
    ["Model", clean([session.model, session.effort].filter(Boolean).join(", "), 100) || "—"],
    ["Tokens in", number(tokens?.input)],
    ["Tokens out", number(tokens?.output)],
    ["Cache read", number(tokens?.cacheRead)],
    ["Context", context ? `${number(context.used)}${context.limit ? ` of ${number(context.limit)}` : ""}` : "—"],
    ["Cost", money(session.costUsd)],
    ["Lines", session.lines ? `+${number(session.lines.added)} −${number(session.lines.removed)}` : "—"],
    ["Prompts", number(session.prompts)],
    ["Subagents", number(session.subagents)],
    ["Started", at(session.startedAt)],
    ["Last activity", session.lastActivityAt ? `${span(now() - session.lastActivityAt)} ago` : "—"],
    ["Folder", clean(session.cwd, 300) || "—"],
    ["Branch", clean(session.gitBranch, 200) || "—"],
  ];
  if (session.tool) items.unshift(["Runs now", clean(`${session.tool.name} ${session.tool.target}`, 200)]);
  return html`<dl class="facts">${items.map(([name, value]) =>
      html`<div key=${name}><dt>${name}</dt><dd><bdi>${value}</bdi></dd></div>`)}</dl>
    ${detail.models && detail.models.length > 1 && html`<${Models} list=${detail.models} />`}`;
}

function Models({ list }) {
  return html`<details><summary><h4>By model</h4></summary><div class="wide"><table>
    <thead><tr><th scope="col">Model</th><th scope="col">In</th><th scope="col">Out</th><th scope="col">Cost</th></tr></thead>
    <tbody>${list.map((one) => html`<tr key=${one.model}><td><bdi>${clean(one.model, 80)}</bdi></td>
      <td>${number(one.tokens.input)}</td><td>${number(one.tokens.output)}</td><td>${money(one.costUsd)}</td></tr>`)}</tbody>
  </table></div></details>`;
}

// Ticks are the user's own: shown in place of the step's status, and undone the same way.
function Plan({ items, reload }) {
  const trouble = useSignal("");
  if (!items || !items.length) return null;
  const may = me.value?.role === "full" && me.value?.features.includes("ticks");
  const done = items.filter((item) => item.ticked || item.status === "completed").length;
  async function tick(item) {
    try {
      await send(item.ticked ? "DELETE" : "PUT", `/api/plan-ticks/${encodeURIComponent(item.key)}`);
      trouble.value = "";
      await reload();
    } catch (error) {
      trouble.value = error.message;
    }
  }
  return html`<div class="plan-list"><h4>Plan <span class="n">${done}/${items.length}</span></h4><ul>
    ${items.map((item) => {
      const status = item.ticked ? "ticked" : item.status;
      const words = { ticked: "ticked by you", completed: "done", in_progress: "in progress", pending: "" }[status];
      return html`<li key=${item.key} class=${status}>
        ${may
          ? html`<button class="tick" role="checkbox" aria-checked=${item.ticked || item.status === "completed"}
              aria-label=${`${clean(item.content, 120)}: ${item.ticked ? "undo your tick" : "tick"}`}
              onClick=${() => tick(item)}>${mark(status)}</button>`
          : html`<span class="tick" aria-hidden="true">${mark(status)}</span>`}
        <bdi>${clean(item.content, 500)}</bdi>${words && html` <span class="quiet">${words}</span>`}</li>`;
    })}</ul>${trouble.value && html`<p class="trouble" role="alert">${clean(trouble.value, 200)}</p>`}</div>`;
}

function mark(status) {
  return { ticked: "✓", completed: "✓", in_progress: "◐", pending: "○" }[status] || "○";
}

function Context({ session, detail }) {
  const points = detail.history?.map((one) => one.context) || session.contextHistory;
  const parts = detail.contextBreakdown;
  if (!points?.length && !parts) return null;
  return html`<div class="context"><h4>Context</h4>
    ${points?.length > 1 && html`<${Spark} points=${points} limit=${session.context?.limit || 0}
      label=${`Context over ${points.length} replies, now ${number(points[points.length - 1])}`} />`}
    ${detail.compactions?.length > 0 && html`<p class="quiet">${count(detail.compactions.length, "compaction")}</p>`}
    ${parts && html`<details><summary><h5>What fills it <span class="tag">estimate</span></h5></summary>
      <p class="quiet">Only the total, ${number(parts.total)}, is measured. Reserve ${number(parts.reserved)} <span class="tag">default</span></p>
      <table><tbody>${parts.parts.map((part) => html`<tr key=${part.id}><th scope="row">${clean(part.id, 60)}</th>
        <td>${number(part.tokens)}</td><td><meter min="0" max=${parts.limit || parts.total} value=${part.tokens}
          aria-label=${clean(part.id, 60)}></meter></td></tr>`)}</tbody></table></details>`}
  </div>`;
}

function Errors({ list }) {
  if (!list?.length) return null;
  return html`<details open><summary><h4>Errors <span class="n">${list.length}</span></h4></summary><ul class="log">
    ${list.slice(-20).reverse().map((one, i) => html`<li key=${i}><time>${at(one.at)}</time>
      <span class="error-text"><bdi>${clean(one.message, 600)}</bdi></span></li>`)}</ul></details>`;
}

function Files({ list }) {
  if (list === null) return html`<h4>Files <span class="quiet">— not recorded</span></h4>`;
  if (!list.length) return null;
  return html`<details><summary><h4>Files <span class="n">${list.length}</span></h4></summary>
    ${list.slice(0, 200).map((file) => html`<details class="file" key=${file.path}>
      <summary><bdi>${clean(file.path, 300)}</bdi> <span class="added">+${file.added}</span>
        ${" "}<span class="removed">−${file.removed}</span></summary>
      ${file.hunks === null
        ? html`<p class="quiet">The lines are not recorded.</p>`
        : file.hunks.map((hunk, i) => html`<pre class="hunk" key=${i}>${hunk.line !== null ? html`<span class="at">@ ${hunk.line}</span>${"\n"}` : ""}${hunk.lines.map((line, j) => html`<span key=${j}
            class=${line[0] === "+" ? "added" : line[0] === "-" ? "removed" : ""}>${clean(line, 500)}${"\n"}</span>`)}${hunk.cut > 0 ? html`<span class="at">${hunk.cut} lines left out</span>` : ""}</pre>`)}
    </details>`)}</details>`;
}

function Activity({ list }) {
  if (!list?.length) return null;
  return html`<details><summary><h4>Activity <span class="n">${list.length}</span></h4></summary><ul class="log">
    ${list.slice(-60).reverse().map((call) => html`<li key=${call.id} class=${call.error ? "failed" : ""}>
      <time>${at(call.startedAt)}</time> <b>${clean(call.name, 60)}</b>
      ${" "}<code><bdi>${clean(call.target ?? call.input ?? "", 300)}</bdi></code>
      ${" "}<span class="quiet">${call.running ? "running" : call.endedAt ? longSpan(call.endedAt - call.startedAt) : "—"}${call.error ? ", failed" : ""}</span>
    </li>`)}</ul></details>`;
}

function Tools({ list }) {
  if (!list?.length) return null;
  return html`<details><summary><h4>Tools <span class="n">${list.length}</span></h4></summary><div class="wide"><table>
    <thead><tr><th scope="col">Tool</th><th scope="col">Calls</th><th scope="col">Errors</th><th scope="col">Time</th></tr></thead>
    <tbody>${list.map((tool) => html`<tr key=${`${tool.server} ${tool.name}`}><td><bdi>${clean(tool.name, 80)}</bdi></td>
      <td>${tool.calls}</td><td>${tool.errors}</td><td>${longSpan(tool.ms)}</td></tr>`)}</tbody></table></div></details>`;
}

function Agents({ list, session }) {
  if (!list?.length) return null;
  return html`<details><summary><h4>Subagents <span class="n">${list.length}</span></h4></summary><ul class="log">
    ${list.map((one) => html`<li key=${one.id}><span class=${`status ${one.status}`}>${clean(one.status, 20)}</span>
      ${" "}<a href=${`#/sessions/${encodeURIComponent(session)}/${encodeURIComponent(one.id)}`}><bdi>${clean(one.name || one.type || one.id, 200)}</bdi></a>
      ${" "}<span class="quiet">${clean(one.type, 60)} ${clean(one.model, 60)} · out ${number(one.tokens?.output)}</span></li>`)}
  </ul></details>`;
}

function Words({ detail }) {
  const said = [
    ...detail.prompts.map((one) => ({ ...one, who: one.via ? `you, by ${clean(one.via, 40)}` : "you" })),
    ...detail.replies.map((one) => ({ ...one, who: "agent" })),
  ].sort((a, b) => b.at - a.at).slice(0, 30);
  if (!said.length) return null;
  return html`<details><summary><h4>Conversation <span class="n">${said.length}</span></h4></summary><ul class="log talk">
    ${said.map((one, i) => html`<li key=${i} class=${one.who === "agent" ? "agent" : "you"}>
      <time>${at(one.at)}</time> <b>${one.who}</b><p><bdi>${clean(one.text, 1500)}</bdi></p></li>`)}</ul></details>`;
}

function Notes({ list, partial }) {
  if (!list?.length && !partial) return null;
  return html`<p class="quiet">${partial && "Totals come from the head and the tail of a long transcript. "}
    ${(list || []).map((note) => clean(note, 300)).join(" ")}</p>`;
}
