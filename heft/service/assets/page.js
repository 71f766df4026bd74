// The page: what the service says, shown; what the operator wants, asked for.
import { Arm } from "/assets/arm.js";
import { Plot, short } from "/assets/plot.js";
import { Catalogue } from "/assets/catalogue.js";
import { Stop } from "/assets/stopping.js";
import { ask, element, notice, table } from "/assets/asking.js";

const $ = (id) => document.getElementById(id);
const arm = new Arm($("arm"));
const plot = new Plot($("plot"), $("plot-keys"), $("plot-measure"), $("plot-back"));
const state = { status: null, progress: null, streams: {}, payloads: [], worker: null, first: {}, job: null, frame: null, clocks: {}, service: false };
const delays = [];
window.heft = { arm, plot, state, delays };

// -- live -------------------------------------------------------------------------------------------------------------
let live = null;
const url = (path) => `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`;
const stop = new Stop($("stop"), url("/stop"));

function connect() {
  live = new WebSocket(url("/live"));
  live.onopen = () => { notice(""); subscribe(); };
  live.onmessage = (event) => { take(JSON.parse(event.data)); painted(seen); };
  live.onclose = (event) => {
    if (event.code === 4429) notice(event.reason);
    else notice("The service does not answer. If the arm moves, use its emergency stop.");
    pill("unreachable", "no connection");
    setTimeout(connect, 1000);
  };
}
// After the next picture; at once where none is drawn, since the page is hidden.
let pending = [];
function painted(then) {
  if (document.hidden) then();
  else if (pending.push(then) === 1) requestAnimationFrame(flush);
}
function flush() { const due = pending; pending = []; for (const then of due) then(); }
document.addEventListener("visibilitychange", () => { if (document.hidden) flush(); });
function seen() { if (live.readyState === 1) live.send('{"seen": true}'); }

function take(news) {
  if (news.status) onStatus(news.status);
  if (news.replay && !state.status) { state.replay = news.replay; catalogue.follow({ label: document.title, replay: news.replay }); }
  if (news.streams) { state.streams = news.streams; offerStreams(); }
  if (news.progress) onProgress(news.progress);
  if (news.clock) state.clocks = news.clock;
  if ("worker" in news) onWorker(news.worker);
  if (news.identified && state.status) catalogue.load().then(() => catalogue.showNewest($("known")));
  if (news.payloads) onPayloads(news.payloads);
  if (news.scene) loadScene();
  if (news.state && !state.status && !state.replay) pill(news.state.state, news.state.state, news.state.reason);
  if (news.plots) for (const [stream, found] of Object.entries(news.plots)) if (stream === $("plot-stream").value) plot.add(found);
  onFrame(news.frame);
}

let shownTime = 0;
function onFrame(frame) {
  state.frame = frame;
  if (frame.q) {
    const held = state.payloads.at(-1);
    arm.pose(frame.q, state.progress?.seconds_done ?? 0, held && held.state === "carried" && held.mass ? held : null);
  }
  if (frame.t && frame.t !== shownTime && !document.hidden) {
    shownTime = frame.t;
    painted(() => { // in this frame: the callbacks of arm and plot came before
      if (frame.utc_ms === null) { delays.length = 0; return; } // replayed, or slower than real
      delays.push(Math.max(Date.now() - frame.utc_ms, 0));
      if (delays.length > 2000) delays.shift();
    });
  }
}
setInterval(() => {
  const recent = delays.slice(-60);
  $("delay").textContent = recent.length ? `${Math.round(recent.reduce((a, b) => a + b) / recent.length)} ms` : "–";
}, 1000);

// -- the head ---------------------------------------------------------------------------------------------------------
function pill(kind, text, why = "") {
  if ($("state").textContent !== text) $("state").textContent = text;
  $("state").dataset.state = kind;
  $("state").title = why;
}
const NAMES = { run: "session", payload: "weighing", "standing by": "standing by" };
const clockText = (s) => `${Math.floor(s / 60)}:${String(Math.floor(s % 60)).padStart(2, "0")}`;

// What a session or a replay that this page only watches does.
const watched = (progress) => (!state.replay ? progress.state : state.replay.paused ? "paused" : "replay");

function showState() {
  const { status, progress } = state, job = status?.job;
  if (!status) { if (progress) pill(watched(progress), watched(progress)); return; }
  if (status.waiting) pill("waiting", "waiting to be armed");
  else if (job && job.phase === "running" && job.kind === "run" && progress) pill(progress.state, progress.state);
  else if (job) pill(job.phase === "finishing" ? "payload" : job.kind, job.phase === "finishing" ? "identifying" : NAMES[job.kind] ?? job.kind);
  else pill(status.state, status.state === "lost" ? "device lost" : status.state);
}

function offerPause(offered, paused) {
  $("pause").hidden = !offered;
  $("pause").textContent = paused ? "Go on" : "Pause";
  $("pause").dataset.deed = paused ? "resume" : "pause";
}

function onStatus(status) {
  const before = state.status;
  state.status = status;
  state.service = true;
  $("title").textContent = status.robot ? `${status.rig}` : "Heft";
  document.title = `${status.state} · ${status.rig ?? "Heft"}`;
  const job = status.job, waiting = status.waiting;
  showState();
  notice(status.trouble ? `${status.trouble}. Trying again (attempt ${status.attempts + 1}).` : "", "trouble");
  const number = job?.number ?? null;
  if (number !== state.job) {
    state.job = number;
    state.pathShown = false;
    if (number === null) { catalogue.load(); if (arm.path) arm.setPath(null); }
  }
  if (job?.path && !state.pathShown) { state.pathShown = true; ask("/api/path").then(({ path }) => arm.setPath(path)); }
  const pausable = job && (job.kind === "run" || job.kind === "replay") && job.phase === "running";
  offerPause(pausable, job?.replay ? job.replay.paused : state.progress?.state === "paused");
  if (!job) { $("step").textContent = status.armed_s ? `armed for ${clockText(status.armed_s)}` : ""; $("progress").value = 0; $("togo").textContent = ""; }
  for (const id of ["weigh", "probe"]) $(id).disabled = Boolean(job);
  showArming(status, waiting);
  catalogue.follow(job);
  if (JSON.stringify(before?.news) !== JSON.stringify(status.news)) {
    $("news").replaceChildren(...[...status.news].reverse().map((one) => element("li", {}, `${one.at}  ${one.text}`)));
  }
}

function onProgress(progress) {
  state.progress = progress;
  showState();
  if (!state.status) offerPause(["moving", "paused", "replay"].includes(watched(progress)), watched(progress) === "paused");
  const { seconds_done: done, seconds_total: total } = progress;
  if (total && (!state.status || state.status.job)) {
    $("progress").value = Math.min(done / total, 1);
    $("togo").textContent = `${clockText(Math.max(total - done, 0))} to go`;
    $("step").textContent = progress.step || "getting ready";
  }
  $("tracking").textContent = progress.tracking_error ? `${(1e3 * progress.tracking_error).toFixed(1)} mrad` : "–";
  let lost = 0;
  const rows = Object.entries(progress.streams).map(([name, one]) => {
    lost += one.lost;
    const fit = state.clocks?.[name.split(".")[0]], piece = fit?.pieces?.at(-1), skew = piece ? 1e6 * (piece.skew - 1) : null;
    return element("tr", {},
      element("td", {}, name),
      element("td", { class: "n" }, `${one.rate_hz.toFixed(0)} Hz`),
      element("td", { class: "n" }, one.received.toLocaleString("en")),
      element("td", { class: one.lost ? "n bad" : "n good" }, String(one.lost)),
      element("td", { class: "n" }, skew === null ? "host" : `${skew >= 0 ? "+" : "−"}${Math.abs(skew).toFixed(1)} ppm`));
  });
  $("streams").replaceChildren(...rows);
  $("lost").textContent = lost;
  $("lost").className = lost ? "bad" : "";
}

// -- what it holds ----------------------------------------------------------------------------------------------------
const half = (std) => (std === null || std === undefined ? null : 1.96 * std);
function withInterval(value, std, scale = 1) {
  const h = half(std);
  if (h === null) return ["?", ""];
  const digits = Math.min(Math.max(1 - Math.floor(Math.log10(h * scale || 1e-6)), 0), 4);
  return [(scale * value).toFixed(digits), `± ${(scale * h).toFixed(digits)}`];
}
function onPayloads(payloads) {
  state.payloads = payloads;
  const shown = payloads.filter((one) => one.mass !== undefined);
  const now = shown.at(-1);
  if (!now) { $("hand").replaceChildren(element("p", { class: "empty" }, payloads.length ? "Closed on nothing yet." : "Nothing has been weighed yet.")); return; }
  const [mass, error] = withInterval(now.mass, now.std.mass);
  const known = now.std.com.some((std) => std !== null);
  const centre = known ? `centre of mass  ${now.com.map((v, i) => withInterval(v, now.std.com[i], 1e3).join(" ").trim()).join(",  ")} mm` : "centre of mass: not known before the wrist has turned";
  const found = now.recognition, name = (found ? found.name ?? (found.verdict === "ambiguous" ? found.candidates.map((c) => c.name).join(" or ") : found.verdict) : "").replaceAll("_", " ");
  const held = { carried: "held now", released: "released", dropped: "dropped", slipped: "slipped", unfinished: "held at the end" }[now.state] ?? now.state;
  $("hand").replaceChildren(
    element("p", { class: "mass", "data-mass": now.mass }, element("b", {}, mass), element("span", {}, `kg ${error}`)),
    element("p", { class: "called" }, name || "unknown object", element("em", {}, `  pick-up ${now.number}, ${held}${found?.name ? `, ${Math.round(100 * found.candidates[0].probability)} %` : ""}`)),
    element("p", { class: "centre" }, centre),
    element("p", { class: "controllers", tabindex: "0" }, now.controllers?.ur ?? now.controllers?.kuka ?? ""),
    element("ul", { class: "others" }, ...shown.slice(0, -1).reverse().slice(0, 6).map((one) => element("li", {}, `${one.number}: ${withInterval(one.mass, one.std.mass).join(" ")} kg ${(one.recognition?.name ?? "").replaceAll("_", " ")}`))));
}

// -- what is known of the arm -----------------------------------------------------------------------------------------
function onWorker(worker) {
  if (!worker || !worker.of) { if (!worker) { state.first = {}; $("known").replaceChildren(element("p", { class: "empty" }, "Known while a session is identified.")); } return; }
  const rows = Object.entries(worker.base ?? {}).filter(([, [, std]]) => std !== null);
  for (const [name, [, std]] of rows) state.first[name] = Math.max(state.first[name] ?? 0, std);
  rows.sort((a, b) => state.first[b[0]] / (b[1][1] || 1) - state.first[a[0]] / (a[1][1] || 1));
  const total = worker.total_mass;
  $("known").replaceChildren(
    element("p", { class: "rank" }, `${worker.rank} of ${worker.of} base parameters `, element("small", {}, `from ${worker.samples.toLocaleString("en")} samples${total ? `; ${total.toFixed(1)} kg in all` : ""}`)),
    element("div", { class: "bars", tabindex: "0", role: "group", "aria-label": "base parameters with 95 % intervals" }, ...rows.slice(0, 40).flatMap(([name, [value, std]]) => {
      const share = 100 * std / state.first[name], bar = element("i", {});
      bar.style.width = `${Math.max(share, 1)}%`;
      return [element("span", { class: "name", title: name }, name.split(" ")[0]), element("span", { class: "bar" }, bar), element("span", { class: "value" }, `${short(value)} ± ${short(1.96 * std, 2)}`)];
    })));
}

// -- plots ------------------------------------------------------------------------------------------------------------
function offerStreams() {
  const chosen = $("plot-stream").value, names = Object.keys(state.streams);
  if ([...$("plot-stream").options].map((o) => o.value).join() === names.join()) return;
  $("plot-stream").replaceChildren(...names.map((name) => element("option", { value: name }, name)));
  $("plot-stream").value = names.includes(chosen) ? chosen : names.find((n) => n.endsWith(".motion")) ?? names.find((n) => n.endsWith("wrench")) ?? names[0];
  offerQuantities();
}
function offerQuantities() {
  const stream = state.streams[$("plot-stream").value];
  if (!stream) return;
  const kinds = [...new Set(stream.columns.map((c) => c.quantity))], before = $("plot-quantity").value;
  $("plot-quantity").replaceChildren(...kinds.map((kind) => element("option", { value: kind }, kind)));
  $("plot-quantity").value = kinds.includes(before) ? before : kinds.includes("velocity") ? "velocity" : kinds[0];
  choose();
}
function columns() {
  const stream = state.streams[$("plot-stream").value];
  return stream ? stream.columns.filter((c) => c.quantity === $("plot-quantity").value) : [];
}
function choose() {
  plot.choose(columns().map((c) => c.name), columns()[0]?.unit ?? "");
  subscribe();
}
function subscribe() {
  if (live?.readyState === 1) live.send(JSON.stringify({ plot: columns().map((c) => `${$("plot-stream").value}:${c.name}`) }));
}
$("plot-stream").addEventListener("change", offerQuantities);
$("plot-quantity").addEventListener("change", choose);
$("plot-span").addEventListener("change", () => { plot.span = Number($("plot-span").value); plot.window = null; plot.draw(); });
function held(on) { plot.hold(on); $("plot-pause").setAttribute("aria-pressed", String(on)); $("plot-pause").textContent = on ? "Go on" : "Hold"; }
$("plot-pause").addEventListener("click", () => held(!plot.held));
$("plot-back").addEventListener("click", () => { plot.window = null; plot.detail = null; plot.hold(true); });
document.addEventListener("held", () => held(true));
plot.onlook = async (begin, end) => {
  const query = new URLSearchParams({ stream: $("plot-stream").value, columns: columns().map((c) => c.name).join(), begin, end, bins: 1500 });
  const found = await ask(`/api/plot?${query}`);
  if (found.t.length) plot.show(found);
};

// -- deeds ------------------------------------------------------------------------------------------------------------
document.addEventListener("keydown", (event) => { if (event.key === "Escape" && !document.querySelector("dialog[open]")) stop.press(); });
$("pause").addEventListener("click", () => ask(`/api/${$("pause").dataset.deed}`, {}));
$("run-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const session = $("session").value;
  $("plan").replaceChildren(element("p", { class: "empty" }, "planning and checking …"));
  const plan = await ask(`/api/plan?session=${encodeURIComponent(session)}`).catch((error) => ({ error: error.message }));
  showPlan(session, plan);
});
$("weigh").addEventListener("click", () => ask("/api/payload", {}));
$("probe").addEventListener("click", async () => {
  const { number } = await ask("/api/probe", {});
  for (let outcome = null; !outcome;) { await new Promise((done) => setTimeout(done, 300)); ({ outcome } = await ask(`/api/jobs/${number}`)); if (outcome) showProbe(outcome); }
});

function planTables(plan) {
  const joints = Object.entries(plan.joints).map(([name, j]) => [name, short(j.from), `${short(j.lowest)} … ${short(j.highest)}`, `${j.limits.map((v) => short(v)).join(" … ")}`, `${short(j.velocity)} of ${short(j.velocity_limit)}`, j.torque === null ? "–" : `${short(j.torque)} of ${short(j.torque_limit)}`]);
  const near = plan.closest_approach ? `; closest approach ${short(1e3 * plan.closest_approach.m)} mm (${plan.closest_approach.between})` : "";
  return [
    element("p", {}, `${plan.legs.length} steps, ${plan.seconds.toFixed(1)} s in all${near}.`),
    table(["joint", "from rad", "range", "limits", "rad/s", "N m"], joints, "what moves, how far, how fast"),
  ];
}
function showPlan(session, plan) {
  if (!plan.joints) { $("plan").replaceChildren(element("p", { class: "bad" }, plan.error ?? "the plan is refused")); return; }
  const go = element("button", { type: "button", class: "main", id: "go" }, `Run ${session.replace(".yaml", "")}`);
  const weigh = element("button", { type: "button", id: "go-weigh" }, "Run it and weigh");
  go.addEventListener("click", () => ask("/api/run", { session }).then(() => $("plan").replaceChildren()));
  weigh.addEventListener("click", () => ask("/api/payload", { session }).then(() => $("plan").replaceChildren()));
  $("plan").replaceChildren(...planTables(plan), element("p", { class: "tools" }, go, weigh));
}
function showProbe(outcome) {
  const rows = Object.entries(outcome.devices ?? {}).flatMap(([name, d]) => Object.entries(d.streams).map(([stream, s]) => [name, d.identity.model ?? "", stream, `${s.rate_hz.toFixed(1)} Hz`, s.clock]));
  $("plan").replaceChildren(rows.length ? table(["device", "model", "stream", "rate", "clock"], rows, "devices") : element("p", { class: "bad" }, outcome.reason));
}
function showArming(status, waiting) {
  const show = Boolean(waiting) || (status.real && !status.armed_s);
  $("arm-form").hidden = !show;
  showWaiting(status.job?.number ?? null, waiting);
  if (!show) return;
  $("arm-text").textContent = waiting
    ? `This moves a real robot: ${waiting.movers.join(", ")}. Look at the table and at the arm, then type its name, ${status.robot}.${Object.keys(waiting.unreferenced).length ? ` The position of ${Object.keys(waiting.unreferenced).join(", ")} may be relative.` : ""}`
    : `This rig is real. Typing its robot's name, ${status.robot}, arms it for a limited time.`;
}
// What waits for a name, in a place of its own: nothing else is ever shown there, and what waits next replaces it.
function showWaiting(job, waiting) {
  const key = waiting ? JSON.stringify([job, waiting]) : "";
  if (key === state.waiting) return;
  state.waiting = key;
  $("arm-plan").replaceChildren(...(waiting ? planTables(waiting) : []));
}
$("arm-form").addEventListener("submit", (event) => {
  event.preventDefault();
  ask("/api/arm", { name: $("arm-name").value }).then(() => { $("arm-name").value = ""; notice(""); });
});

async function loadScene() { const { scene } = await ask("/api/scene"); arm.show(scene); }

const catalogue = new Catalogue();
async function begin() {
  connect();
  stop.connect();
  loadScene();
  const { state: now, title } = await ask("/api/status");
  if (now === "watching") { // beside a session or a replay: nothing can be asked for
    document.body.classList.add("watching");
    $("title").textContent = document.title = title;
    return;
  }
  const { sessions } = await ask("/api/sessions");
  $("session").replaceChildren(...sessions.map((name) => element("option", {}, name)));
  if (!sessions.length) $("run").hidden = true;
  catalogue.load();
}
begin();
