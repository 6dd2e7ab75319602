// Requests to this server, and the line of one game, which is kept up.

export class Refused extends Error {
  constructor(text, status) {
    super(text);
    this.status = status;
  }
}

async function answer(request) {
  let response;
  try {
    response = await request;
  } catch {
    throw new Refused("The server does not answer. Is `foglight serve` still running?", 0);
  }
  if (response.status === 304) return null;
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refused(body.error || `The server answers with status ${response.status}.`, response.status);
  return body;
}

export const get = (path, signal) => answer(fetch(path, { signal, headers: { Accept: "application/json" } }));

export const post = (path, body, signal) =>
  answer(fetch(path, { method: "POST", signal, headers: { "Content-Type": "application/json" }, body: typeof body === "string" ? body : JSON.stringify(body) }));

let known;
export function offers() {
  known ??= get("/api/offers").catch((error) => {
    known = undefined;
    throw error;
  });
  return known;
}

const FIRST_WAIT = 500;
const LONGEST_WAIT = 2000; // milliseconds

// The WebSocket of one seat. It comes back by itself after the server was restarted.
export class Line {
  constructor(token, { message, lost, refused }) {
    this.address = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/api/play/${encodeURIComponent(token)}`;
    this.on = { message, lost, refused };
    this.wait = FIRST_WAIT;
    this.tries = 0;
    this.closed = false;
    this.open();
  }

  open() {
    this.socket = new WebSocket(this.address);
    this.socket.onmessage = (event) => {
      this.wait = FIRST_WAIT;
      this.tries = 0;
      this.on.message(JSON.parse(event.data));
    };
    this.socket.onclose = (event) => {
      if (this.closed) return;
      if (event.code >= 4000 || event.code === 1008) return this.on.refused(event.reason || "The server does not know this game.");
      this.tries += 1;
      this.on.lost(this.wait, this.tries);
      this.timer = setTimeout(() => this.open(), this.wait);
      this.wait = Math.min(2 * this.wait, LONGEST_WAIT);
    };
  }

  send(order) {
    if (this.socket.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(order));
    return true;
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    this.socket.close();
  }
}
