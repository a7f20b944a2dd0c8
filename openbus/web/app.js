// The list of panes, live. Everything that comes from a screen is set as text, never as markup.

const URGENCY = ["needs_you", "limit", "error", "asked", "done", "none"];
const panes = new Map();
const list = document.getElementById("panes");
const empty = document.getElementById("empty");
const connection = document.getElementById("connection");
let drawing = false;

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function words(state) {
  const said = [state.activity];
  if (state.detail) said.push(`(${state.detail})`);
  if (state.background) said.push(`+${state.background} in background`);
  if (state.overlay) said.push(`[${state.overlay}]`);
  if (state.draft) said.push("[draft]");
  if (state.stale) said.push("[tmux does not answer]");
  return said.join(" ");
}

function card(state) {
  const item = element("li", `${state.attention}${state.stale ? " stale" : ""}`);
  item.dataset.key = state.pane.key;
  const top = element("div", "top");
  const pane = state.pane;
  const place = `${pane.session}:${pane.window.index}.${pane.index} ${pane.id}`;
  top.append(element("span", "place", place));
  top.append(element("span", "program", state.program.name));
  top.append(element("span", "state", words(state)));
  item.append(top);
  const question = state.question;
  if (question) {
    item.append(element("p", "what", question.text || question.kind));
    if (question.command) item.append(element("pre", "command", question.command));
    if (question.options.length) {
      const options = element("ol");
      for (const option of question.options) options.append(element("li", "", option.label));
      item.append(options);
    }
  } else if (state.headline || state.title) {
    item.append(element("p", "what", state.headline || state.title));
  }
  return item;
}

function draw() {
  drawing = false;
  const sorted = [...panes.values()].sort(
    (a, b) =>
      URGENCY.indexOf(a.attention) - URGENCY.indexOf(b.attention) ||
      a.pane.key.localeCompare(b.pane.key),
  );
  list.replaceChildren(...sorted.map(card));
  empty.hidden = sorted.length > 0;
  const waiting = sorted.filter((state) => state.needs_you).length;
  document.title = waiting ? `(${waiting}) OpenBus` : "OpenBus";
}

function soon() {
  if (drawing) return;
  drawing = true;
  setTimeout(draw, 50);
}

const events = new EventSource("/api/events");
events.addEventListener("open", () => { connection.textContent = "live"; });
events.addEventListener("error", () => { connection.textContent = "not connected, trying again…"; });
events.addEventListener("reset", () => { panes.clear(); soon(); });
events.addEventListener("gone", (event) => { panes.delete(JSON.parse(event.data).key); soon(); });
events.addEventListener("pane", (event) => {
  const state = JSON.parse(event.data);
  panes.set(state.pane.key, state);
  soon();
});
