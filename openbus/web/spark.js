// A small line: no library is needed for it.

import { html } from "./lib.js";

const WIDE = 240;
const HIGH = 36;

export function Spark({ points, limit, label }) {
  const shown = points.slice(-120);
  const top = Math.max(limit, ...shown, 1);
  const x = (i) => (shown.length === 1 ? WIDE : (i / (shown.length - 1)) * WIDE);
  const y = (value) => HIGH - (value / top) * (HIGH - 2) - 1;
  const line = shown.map((value, i) => `${x(i).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  return html`<svg class="spark" viewBox=${`0 0 ${WIDE} ${HIGH}`} role="img" aria-label=${label}
    preserveAspectRatio="none"><polyline points=${line} fill="none" /></svg>`;
}
