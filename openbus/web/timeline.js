// Who waited on you for how long.

import { html, useEffect, useRef, useSignal } from "./lib.js";
import { get } from "./api.js";
import { now } from "./store.js";
import { at, clean, longSpan } from "./words.js";

const RANGES = [["4 h", 4], ["1 day", 24], ["7 days", 168]];

export default function Timeline() {
  const hours = useSignal(24);
  const found = useSignal(null);
  const trouble = useSignal("");
  useEffect(() => {
    const to = Math.round(now());
    get(`/api/history?from=${to - hours.value * 3600000}&to=${to}`)
      .then((answer) => { found.value = answer; trouble.value = ""; }, (error) => { trouble.value = error.message; });
  }, [hours.value]);
  const spans = found.value?.spans || [];
  const waits = spans.filter((one) => one.attention === "needs_you");
  return html`<section aria-labelledby="timeline-title">
    <div class="page-head"><h2 id="timeline-title">Who waited on you</h2></div>
    <div class="chips" role="group" aria-label="Range">${RANGES.map(([words, length]) => html`<button key=${words} class="chip"
      aria-pressed=${hours.value === length} onClick=${() => { hours.value = length; }}>${words}</button>`)}</div>
    ${trouble.value && html`<p class="trouble" role="alert">${clean(trouble.value, 200)}</p>`}
    ${found.value && html`<${Total} waits=${waits} />
      <${Chart} waits=${waits} from=${found.value.from} to=${found.value.to} />
      <${Table} waits=${waits} />`}
  </section>`;
}

function Total({ waits }) {
  const sum = waits.reduce((ms, one) => ms + one.to - one.from, 0);
  return html`<p>${waits.length === 0 ? "Nothing waited on you." : html`<b>${longSpan(sum)}</b> in ${waits.length} waits.`}</p>`;
}

// Minutes of waiting in each slice of the range, all panes together.
export function slices(waits, from, to, number) {
  const size = (to - from) / number;
  const minutes = new Array(number).fill(0);
  for (const one of waits) {
    const first = Math.max(0, Math.floor((one.from - from) / size));
    const last = Math.min(number - 1, Math.floor((one.to - from) / size));
    for (let i = first; i <= last; i += 1) {
      const start = Math.max(one.from, from + i * size);
      const end = Math.min(one.to, from + (i + 1) * size);
      if (end > start) minutes[i] += (end - start) / 60000;
    }
  }
  return minutes;
}

function Chart({ waits, from, to }) {
  const box = useRef(null);
  useEffect(() => {
    let plot = null;
    let over = false;
    const style = document.createElement("link");
    style.rel = "stylesheet";
    style.href = "/vendor/uplot.css";
    document.head.append(style);
    import("./vendor/uplot.js").then(({ default: UPlot }) => {
      if (over || !box.current) return;
      const minutes = slices(waits, from, to, 48);
      const xs = minutes.map((_, i) => (from + ((i + 0.5) * (to - from)) / 48) / 1000);
      const ink = getComputedStyle(box.current);
      const soft = ink.getPropertyValue("color");
      plot = new UPlot({
        width: box.current.clientWidth || 600, height: 190, legend: { show: false }, cursor: { show: false },
        axes: [{ stroke: soft, grid: { show: false } },
          { stroke: soft, grid: { stroke: "rgba(128,128,128,0.2)" }, values: (_, list) => list.map((v) => `${v} min`), size: 64 }],
        series: [{}, { stroke: "#e0604f", fill: "rgba(224,96,79,0.35)", paths: UPlot.paths.bars({ size: [0.8] }), points: { show: false } }],
      }, [xs, minutes], box.current);
    });
    return () => { over = true; plot?.destroy(); style.remove(); };
  }, [waits, from, to]);
  return html`<div class="chart box quiet" ref=${box} role="img" aria-label="Minutes of waiting over time; the table below has the numbers"></div>`;
}

function Table({ waits }) {
  const by = new Map();
  for (const one of waits) {
    const name = `${one.session} · ${one.program}`;
    const row = by.get(name) ?? { name, ms: 0, times: 0, longest: 0, last: 0 };
    row.ms += one.to - one.from;
    row.times += 1;
    row.longest = Math.max(row.longest, one.to - one.from);
    row.last = Math.max(row.last, one.to);
    by.set(name, row);
  }
  const rows = [...by.values()].sort((a, b) => b.ms - a.ms);
  if (!rows.length) return null;
  return html`<div class="wide"><table><thead><tr><th scope="col">Session</th><th scope="col">Waited</th>
    <th scope="col">Times</th><th scope="col">Longest</th><th scope="col">Last</th></tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${row.name}><td><bdi>${clean(row.name, 200)}</bdi></td><td>${longSpan(row.ms)}</td>
      <td>${row.times}</td><td>${longSpan(row.longest)}</td><td>${at(row.last)}</td></tr>`)}</tbody></table></div>`;
}
