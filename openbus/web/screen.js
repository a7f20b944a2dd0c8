// A captured screen, drawn as cells: the service says how many cells each run takes, and a run that
// is not plain ASCII gets exactly that width, whatever the font thinks.

import { html, useEffect, useRef, useSignal } from "./lib.js";
import { getIfNew } from "./api.js";
import { connection } from "./store.js";
import { clean } from "./words.js";

const EVERY = 400; // ms between two looks while the page is seen
const BASE = [
  "#3b4048", "#f0716b", "#7fc97a", "#e3bd62", "#6aa9f5", "#cf8de0", "#5fc4c9", "#d5d9df",
  "#7a828e", "#ff958f", "#9fe09a", "#f5d488", "#93c3ff", "#e2aef0", "#8be0e4", "#ffffff",
];
const STEPS = [0, 95, 135, 175, 215, 255];

// An SGR parameter ("31", "38;5;9", "48;2;1;2;3") as a CSS colour.
export function colour(sgr) {
  if (!sgr) return null;
  const parts = sgr.split(";").map(Number);
  if (parts.length === 1) {
    const code = parts[0];
    if (code >= 90) return BASE[(code % 10) + 8] ?? null;
    return BASE[code % 10] ?? null;
  }
  if (parts[1] === 5) return indexed(parts[2]);
  if (parts[1] === 2 && parts.length >= 5) return `rgb(${parts.slice(2, 5).map(byte).join(" ")})`;
  return null;
}

function byte(value) {
  return Number.isFinite(value) ? Math.max(0, Math.min(255, value)) : 0;
}

function indexed(n) {
  if (!Number.isInteger(n) || n < 0 || n > 255) return null;
  if (n < 16) return BASE[n];
  if (n >= 232) { const grey = 8 + (n - 232) * 10; return `rgb(${grey} ${grey} ${grey})`; }
  const k = n - 16;
  return `rgb(${STEPS[Math.floor(k / 36)]} ${STEPS[Math.floor(k / 6) % 6]} ${STEPS[k % 6]})`;
}

const BOLD = 1, DIM = 2, ITALIC = 4, UNDERLINE = 8, REVERSE = 16;

function Run({ run }) {
  const { flags } = run;
  let fg = colour(run.fg);
  let bg = colour(run.bg);
  if (flags & REVERSE) [fg, bg] = [bg || "var(--term-bg)", fg || "var(--term-fg)"];
  const classes = [];
  if (flags & BOLD) classes.push("b");
  if (flags & DIM) classes.push("d");
  if (flags & ITALIC) classes.push("i");
  if (flags & UNDERLINE) classes.push("u");
  if (run.cells !== undefined) classes.push("c");
  const style = {};
  if (fg) style.color = fg;
  if (bg) style.backgroundColor = bg;
  if (run.cells !== undefined) style.width = `${run.cells}ch`;
  return html`<span class=${classes.join(" ")} style=${style}>${run.text}</span>`;
}

function Row({ row, index, lit, cursor }) {
  return html`<div class=${lit ? "r lit" : "r"} data-row=${index}>
    ${row.map((run, i) => html`<${Run} key=${i} run=${run} />`)}
    ${cursor && html`<span class="cursor" style=${{ left: `${cursor.x}ch` }}></span>`}${"\n"}</div>`;
}

// `lit`: rows that prove something, shown as such. `fit`: as wide as the page; else one can scroll.
export function Screen({ id, lit, fit }) {
  const shot = useSignal(null);
  const trouble = useSignal("");
  const box = useRef(null);
  useEffect(() => {
    let etag = null;
    let timer = 0;
    let over = false;
    const abort = new AbortController();
    async function look() {
      if (!document.hidden && connection.peek().state !== "unpaired") {
        try {
          const path = `/api/panes/${encodeURIComponent(id)}/screen`;
          const fresh = await getIfNew(path, etag, { signal: abort.signal });
          if (fresh && !over) { etag = fresh.etag; shot.value = fresh.body; }
          trouble.value = "";
        } catch (error) {
          if (over) return;
          trouble.value = error.status === 404 ? "There is no screen of this pane any more." : error.message;
        }
      }
      if (!over) timer = setTimeout(look, EVERY);
    }
    look();
    return () => { over = true; clearTimeout(timer); abort.abort(); };
  }, [id]);
  const body = shot.value;
  useEffect(() => { if (body && fit && box.current) scale(box.current, body.width); });
  useEffect(() => {
    const again = () => body && fit && box.current && scale(box.current, body.width);
    window.addEventListener("resize", again);
    return () => window.removeEventListener("resize", again);
  }, [body?.width, fit]);
  if (!body) return html`<p class="quiet">${trouble.value || "Looking at the screen…"}</p>`;
  const rows = new Set(lit);
  return html`<div class=${fit ? "screen fit" : "screen"} ref=${box} tabindex="0" role="region"
      aria-label=${`Screen of the pane, ${body.width} by ${body.height}`}>
    ${trouble.value && html`<p class="over" role="status">${clean(trouble.value, 200)}</p>`}
    <div class="grid" style=${{ minWidth: `${body.width}ch` }}>
      ${body.rows.map((row, i) => html`<${Row} key=${i} row=${row} index=${i} lit=${rows.has(i)}
        cursor=${body.cursor.visible && body.cursor.y === i ? body.cursor : null} />`)}
    </div>
  </div>`;
}

// The largest size at which the width fits, but not so small that nobody can read it.
function scale(node, columns) {
  const style = getComputedStyle(node);
  const room = node.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  if (room <= 0) return;
  const size = Math.max(7, Math.min(14, room / columns / 0.602));
  node.style.setProperty("--cell-size", `${size.toFixed(2)}px`);
}
