// A stop goes by a websocket and by HTTP at once: either may be dead. What neither confirms is said loudly.
import { ask, notice } from "/assets/asking.js";

const PATIENCE_MS = 1500;
const UNCONFIRMED = "THE STOP IS NOT CONFIRMED: use the arm's emergency stop now.";

export class Stop {
  constructor(button, url) {
    this.button = button; this.url = url; this.waiting = new Set();
    button.addEventListener("click", () => this.press());
  }

  connect() {
    this.socket = new WebSocket(this.url);
    this.socket.onmessage = (event) => { const said = JSON.parse(event.data); for (const heard of this.waiting) heard(said); this.waiting.clear(); };
    this.socket.onclose = () => setTimeout(() => this.connect(), 1000);
  }

  press() {
    this.button.setAttribute("aria-busy", "true");
    const loud = () => notice(UNCONFIRMED, "stop"), late = setTimeout(loud, PATIENCE_MS);
    Promise.any([this.bySocket(), ask("/api/stop", {})].map((way) => way.then(confirmed)))
      .then(() => notice("", "stop"), loud)
      .finally(() => { clearTimeout(late); this.button.removeAttribute("aria-busy"); });
  }

  bySocket() {
    return new Promise((heard, failed) => {
      if (this.socket?.readyState !== WebSocket.OPEN) { failed(new Error("not connected")); return; }
      this.waiting.add(heard);
      this.socket.send("stop");
    });
  }
}

// It is when the session or the owner took it, or the owner says that there is nothing to stop.
function confirmed(said) {
  if (!said.heard && !said.stopped && !said.idle) throw new Error("nobody took it");
  return said;
}
