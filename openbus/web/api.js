// Asking the service. A refused key is told to the store, which stops asking.

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

let refused = () => {};

export function onRefused(callback) {
  refused = callback;
}

async function ask(path, options = {}) {
  let answer;
  try {
    answer = await fetch(path, { credentials: "same-origin", cache: "no-store", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "the service is not reached");
  }
  if (answer.status === 401) refused();
  return answer;
}

async function trouble(answer) {
  try {
    const body = await answer.json();
    return new ApiError(answer.status, body.detail || body.title || `status ${answer.status}`);
  } catch {
    return new ApiError(answer.status, `the service answers with status ${answer.status}`);
  }
}

export async function get(path, options) {
  const answer = await ask(path, options);
  if (!answer.ok) throw await trouble(answer);
  return answer.json();
}

// The screen of a pane, or null when it is the one that `etag` names.
export async function getIfNew(path, etag, options = {}) {
  const answer = await ask(path, { ...options, headers: etag ? { "If-None-Match": etag } : {} });
  if (answer.status === 304) return null;
  if (!answer.ok) throw await trouble(answer);
  return { etag: answer.headers.get("etag"), body: await answer.json() };
}

export async function send(method, path, body) {
  const options = { method };
  if (body !== undefined) {
    options.headers = { "Content-Type": "application/json" };
    options.body = JSON.stringify(body);
  }
  const answer = await ask(path, options);
  if (!answer.ok) throw await trouble(answer);
  return answer.status === 204 ? null : answer.json();
}

// Server-sent events over fetch: unlike EventSource this sees heartbeats, status and silence.
// `take(event, data, id)` gets every event, `beat()` is called for every piece that arrives.
export async function events(lastId, take, beat, abort) {
  const headers = { Accept: "text/event-stream" };
  if (lastId) headers["Last-Event-ID"] = lastId;
  const answer = await ask("/api/events?heartbeat=10", { headers, signal: abort });
  if (!answer.ok) throw await trouble(answer);
  beat();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    beat();
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const fields = { event: "", data: "", id: "" };
      for (const line of part.split("\n")) {
        const colon = line.indexOf(":");
        if (colon <= 0) continue;
        const name = line.slice(0, colon);
        if (name in fields) fields[name] = line.slice(colon + 1).replace(/^ /, "");
      }
      if (fields.event) take(fields.event, fields.data, fields.id);
    }
  }
}
