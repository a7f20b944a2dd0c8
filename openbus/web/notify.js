// Notifications: this device, the others, what is silenced, and what was told and why.

import { html, useEffect, useSignal } from "./lib.js";
import { get, send } from "./api.js";
import { href } from "./deck.js";
import { me, now, pane, store } from "./store.js";
import { ATTENTION_WORDS, at, clean, longSpan, place } from "./words.js";

export function browserName() {
  let name = store.get("browser", null);
  if (!name) {
    name = Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");
    store.set("browser", name);
  }
  return name;
}

export default function Notifications() {
  const tick = useSignal(0);
  const data = useSignal({});
  const trouble = useSignal("");
  const again = () => { tick.value += 1; };
  useEffect(() => {
    let over = false;
    const keep = (name) => (value) => { if (!over) data.value = { ...data.value, [name]: value }; };
    const failed = (error) => { if (!over) trouble.value = error.message; };
    get("/api/push/subscriptions").then(keep("devices"), failed);
    get("/api/push/status").then(keep("status"), failed);
    get("/api/push/mutes").then(keep("mutes"), failed);
    get("/api/push/log?limit=200").then(keep("log"), failed);
    return () => { over = true; };
  }, [tick.value]);
  const { devices = [], status = {}, mutes = [], log = [] } = data.value;
  return html`<section aria-labelledby="notify-title">
    <div class="page-head"><h2 id="notify-title">Notifications</h2></div>
    ${trouble.value && html`<p class="trouble" role="alert">${clean(trouble.value, 300)}</p>`}
    <${ThisDevice} devices=${devices} again=${again} />
    <${Devices} devices=${devices} again=${again} />
    <${Channels} status=${status} again=${again} />
    <${Mutes} mutes=${mutes} again=${again} />
    <${Log} log=${log} />
  </section>`;
}

function supported() {
  return "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;
}

export function keyBytes(text) {
  const padded = text.replaceAll("-", "+").replaceAll("_", "/") + "=".repeat((4 - (text.length % 4)) % 4);
  return Uint8Array.from(atob(padded), (char) => char.charCodeAt(0));
}

function ThisDevice({ devices, again }) {
  const state = useSignal("");
  const busy = useSignal(false);
  const mine = devices.find((one) => one.browser === browserName());
  const may = me.value?.role === "full";
  async function on() {
    busy.value = true;
    try {
      const permission = await Notification.requestPermission();
      if (permission !== "granted") {
        state.value = permission === "denied"
          ? "This browser refuses notifications for this page. Allow them in its site settings, then try again."
          : "Notifications were not allowed; nothing is sent.";
        return;
      }
      const { key } = await get("/api/push/key");
      const worker = await navigator.serviceWorker.ready;
      const old = await worker.pushManager.getSubscription();
      if (old) await old.unsubscribe();
      const made = await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: keyBytes(key) });
      const phone = matchMedia("(pointer: coarse)").matches;
      const { endpoint, keys } = made.toJSON();
      await send("POST", "/api/push/subscriptions", {
        endpoint, keys, device: phone ? "phone" : "desk", label: me.value?.label || "", browser: browserName(),
      });
      state.value = "";
      again();
    } catch (error) {
      state.value = `Could not switch them on: ${error.message}`;
    } finally {
      busy.value = false;
    }
  }
  async function off() {
    busy.value = true;
    try {
      const worker = await navigator.serviceWorker.ready;
      const made = await worker.pushManager.getSubscription();
      if (made) await made.unsubscribe();
      if (mine) await send("DELETE", `/api/push/subscriptions/${encodeURIComponent(mine.id)}`);
      again();
    } catch (error) {
      state.value = error.message;
    } finally {
      busy.value = false;
    }
  }
  const denied = supported() && Notification.permission === "denied";
  return html`<div class="box"><h3>This device</h3>
    ${!isSecureContext
      ? html`<p>Browsers give notifications only to pages over HTTPS (or on this machine itself). Put
          <code>tailscale serve</code> or a TLS proxy in front; docs/web.md says how.</p>`
      : !supported()
        ? html`<p>This browser has no Web Push. On an iPhone or iPad add the page to the home screen first.</p>`
        : html`<p>${mine ? "Notifications are on." : denied
            ? "Notifications are blocked for this page; the browser's site settings can allow them."
            : "Notifications are off. When a pane needs you, this device says so and takes it back when you have answered."}</p>
          <div class="actions">${mine
            ? html`<button class="button" disabled=${busy.value || !may} onClick=${off}>Switch off</button>`
            : html`<button class="button first" disabled=${busy.value || !may} onClick=${on}>Switch on</button>`}</div>
          ${!may && html`<p class="quiet">This browser may only look.</p>`}`}
    ${state.value && html`<p class="trouble" role="alert">${clean(state.value, 300)}</p>`}</div>`;
}

function Devices({ devices, again }) {
  if (!devices.length) return null;
  const may = me.value?.role === "full";
  return html`<div class="box"><h3>Devices</h3><ul class="list-rows">${devices.map((one) => html`<li key=${one.id}>
    <div class="top"><b><bdi>${clean(one.label, 60) || "a browser"}</bdi></b><span class="quiet">${clean(one.device, 20)}</span>
      ${one.browser === browserName() && html`<span class="tag">this one</span>`}
      ${may && html`<button class="button age" onClick=${() => send("DELETE", `/api/push/subscriptions/${encodeURIComponent(one.id)}`).then(again, again)}
        aria-label=${`Remove ${clean(one.label, 60) || one.id}`}>Remove</button>`}</div>
    <p class="quiet">since ${at(one.added_at)}</p></li>`)}</ul></div>`;
}

function Channels({ status, again }) {
  const result = useSignal("");
  const channels = status.channels || [];
  async function test() {
    result.value = "Sending…";
    try {
      const sent = await send("POST", "/api/push/test", {});
      result.value = sent.map((one) => `${clean(one.name, 60)}: ${clean(one.result, 30)}${one.reason ? ` (${clean(one.reason, 200)})` : ""}`).join("; ") || "There is no channel.";
      again();
    } catch (error) {
      result.value = error.message;
    }
  }
  return html`<div class="box"><h3>Ways to you</h3>
    ${channels.length === 0 && html`<p>None. Switch this device on, or name others in <code>notify.toml</code>.</p>`}
    <ul class="list-rows">${channels.map((one) => html`<li key=${one.name}><div class="top">
      <b><bdi>${clean(one.label || one.name, 60)}</bdi></b><span class="quiet">${clean(one.type, 20)}, ${clean(one.device, 20)}</span></div>
      <p class="quiet">${one.failures ? `fails (${one.failures}): ${clean(one.reason, 200)}; tries again ${at(one.next_at)}` : one.accepted_at ? `last delivered ${at(one.accepted_at)}` : "nothing sent yet"}</p></li>`)}</ul>
    ${(status.warnings || []).map((line) => html`<p class="trouble">${clean(String(line), 300)}</p>`)}
    ${me.value?.role === "full" && html`<div class="actions"><button class="button" onClick=${test}>Send a test</button></div>`}
    <p role="status" class="quiet">${result.value}</p>
    <p class="quiet">Switches by kind and quiet hours are in <code>notify.toml</code>; docs/notifications.md lists them.</p></div>`;
}

function Mutes({ mutes, again }) {
  const may = me.value?.role === "full";
  if (!mutes.length) return null;
  return html`<div class="box"><h3>Silenced</h3><ul class="list-rows">${mutes.map((one) => html`<li key=${`${one.scope} ${one.name}`}>
    <div class="top"><b>${clean(one.scope, 20)}</b> <bdi>${clean(one.name, 200)}</bdi>
      <span class="quiet">${one.until ? `for ${longSpan(one.until - now())}` : "until undone"}</span>
      ${may && html`<button class="button age" onClick=${() => send("DELETE", `/api/push/mutes/${one.scope}/${encodeURIComponent(one.name)}`).then(again, again)}>Undo</button>`}</div></li>`)}</ul></div>`;
}

function Log({ log }) {
  if (!log.length) return html`<p class="quiet">Nothing was told yet.</p>`;
  return html`<div class="box"><h3>What was told, and why</h3><ul class="log">
    ${log.slice().reverse().map((one, i) => html`<li key=${i}><time>${at(one.at)}</time> <b>${clean(one.what, 30)}</b>
      ${" "}${ATTENTION_WORDS[one.kind] || clean(one.kind, 20)} ${" · "}
      ${pane(one.pane) ? html`<a href=${href(one.pane)}>${place(pane(one.pane).pane)}</a>` : "a pane that is gone"}
      ${one.channel && html` · ${clean(one.channel, 60)}`}
      ${one.reason && html` <span class="quiet">${clean(one.reason, 200)}</span>`}</li>`)}</ul></div>`;
}
