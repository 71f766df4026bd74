// Recordings, results and pick-ups: seen, replayed with a time line, compared, imported.
import { ask, element, table } from "/assets/asking.js";
import { short } from "/assets/plot.js";

const $ = (id) => document.getElementById(id);
const KINDS = { recording: "recording", result: "result", pickup: "pick-up", fleet: "fleet" };

export class Catalogue {
  constructor() {
    this.entries = []; this.chosen = new Set(); this.seeking = false;
    $("kinds").addEventListener("change", () => this.show());
    $("compare").addEventListener("click", () => this.compare());
    $("file").addEventListener("change", () => this.bring([...$("file").files]));
    const drop = $("drop"), over = (on) => drop.classList.toggle("over", on);
    for (const name of ["dragover", "dragenter"]) document.addEventListener(name, (e) => { e.preventDefault(); over(true); });
    document.addEventListener("dragleave", () => over(false));
    document.addEventListener("drop", (e) => { e.preventDefault(); over(false); this.bring([...e.dataTransfer.files]); });
    $("seek").addEventListener("change", () => ask("/api/seek", { seconds: Number($("seek").value) }).finally(() => { this.seeking = false; }));
    $("seek").addEventListener("input", () => { this.seeking = true; $("seek-text").textContent = `${Number($("seek").value).toFixed(1)} s`; });
  }

  async load() {
    try { ({ entries: this.entries } = await ask("/api/catalogue")); } catch { $("catalogue").hidden = true; return; }
    this.show();
  }

  show() {
    const kind = $("kinds").value, shown = this.entries.filter((one) => !kind || one.kind === kind).slice(0, 200);
    $("entries").replaceChildren(...(shown.length ? shown.map((one) => this.row(one)) : [element("tr", {}, element("td", { colspan: "6", class: "empty" }, "Nothing yet: run a session, or drop a log here."))]));
  }

  row(one) {
    const box = element("input", { type: "checkbox", "aria-label": `choose ${one.name}` });
    box.checked = this.chosen.has(one.id);
    box.addEventListener("change", () => { box.checked ? this.chosen.add(one.id) : this.chosen.delete(one.id); $("compare").disabled = this.results().length !== 2; });
    return element("tr", {},
      element("td", {}, one.kind === "result" ? box : ""),
      element("td", {}, one.at.replace("T", " ").replace("Z", "")),
      element("td", {}, `${one.name} `, element("span", { class: "empty" }, KINDS[one.kind])),
      element("td", {}, ...this.verdict(one)),
      element("td", {}, this.facts(one)),
      element("td", {}, ...this.deeds(one)));
  }

  verdict(one) {
    if (one.kind === "result") return [element("span", { class: { good: "good", care: "care", unfit: "bad" }[one.grade] ?? "", title: one.headline }, one.grade)];
    if (one.kind === "pickup") return [one.payload.state];
    if (one.kind === "fleet") return [];
    const kind = one.state === "done" && one.complete && !one.lost ? "good" : one.state === "failed" ? "bad" : "care";
    return [element("span", { class: kind, title: one.reason }, one.state)];
  }

  facts(one) {
    if (one.kind === "result") return `${short(one.total_mass)} kg, torque error ${one.validation === null ? "–" : `${(100 * one.validation).toFixed(1)} %`} on unseen motion, ${one.method}`;
    if (one.kind === "fleet") return one.headline;
    if (one.kind === "pickup" && one.payload.mass !== undefined) return `${one.payload.mass.toFixed(3)} kg ${(one.payload.recognition?.name ?? "").replaceAll("_", " ")}`;
    return `${one.seconds.toFixed(1)} s, ${(one.bytes / 1e6).toFixed(1)} MB, ${one.lost} lost`;
  }

  deeds(one) {
    const button = (text, deed, label) => { const made = element("button", { type: "button", "aria-label": label }, text); made.addEventListener("click", deed); return made; };
    const link = (text, path, label) => element("a", { href: path, target: "_blank", rel: "noopener", "aria-label": label }, text);
    const report = one.report ?? true ? [link("report", `/api/catalogue/${one.id}/report`, `report of ${one.name}`)] : [];
    if (one.kind === "fleet") return report;
    if (one.kind === "result") return [button("links", () => this.showLinks(one, $("compared")), `links of ${one.name}`), ...report];
    return [
      button("replay", () => ask("/api/replay", { id: one.id }).then(() => scrollTo({ top: 0, behavior: "smooth" })), `replay ${one.name}`),
      ...(one.kind === "recording" ? [button("identify", () => ask("/api/identify", { ids: [one.id] }), `identify ${one.name}`)] : []),
      link("file", `/api/catalogue/${one.id}/file`, `file of ${one.name}`),
    ];
  }

  results() { return this.entries.filter((one) => one.kind === "result" && this.chosen.has(one.id)); }

  async compare() {
    const [first, second] = this.results();
    $("compared").replaceChildren(element("p", { class: "empty" }, "comparing …"));
    const found = await ask(`/api/compare?first=${first.id}&second=${second.id}`);
    const [between] = found.differences, moved = between.parameters.filter((one) => one.moved);
    moved.sort((a, b) => Math.abs(b.score) - Math.abs(a.score));
    const share = (value) => (value === null ? "–" : `${(100 * value).toFixed(2)} %`);
    $("compared").replaceChildren(
      element("p", {}, `${first.name} (first) against ${second.name} (second): ${moved.length} of ${between.compared} base parameters moved by more than ${between.bound.toFixed(2)} standard deviations of the difference; rms ${between.rms_score.toFixed(2)}.`),
      ...(between.unmatched.length ? [element("p", {}, `In one of the two only: ${between.unmatched.join(", ")}.`)] : []),
      ...(moved.length ? [table(["base parameter", "first", "second", "±", "score"], moved.map((one) => [one.name, short(one.first), short(one.second), one.std === null ? "?" : short(one.std, 2), one.score === null ? "?" : one.score.toFixed(1)]), "base parameters that moved")] : []),
      table(["torque error of the model", "on the first's data", "on the second's data"], found.relative_error.map((row, i) => [["first", "second"][i], ...row.map(share)]), "torque errors"),
      ...found.missing.map((line) => element("p", { class: "empty" }, line)));
  }

  showNewest(place) {
    if (this.entries[0]?.kind === "result") this.showLinks(this.entries[0], place);
  }

  async showLinks(one, place) {
    const { links } = await ask(`/api/catalogue/${one.id}/links`);
    const told = (interval, scale, digits) => (interval.low === null || interval.high === null ? "?" : `${(scale * interval.value).toFixed(digits)} (${(scale * interval.low).toFixed(digits)} … ${(scale * interval.high).toFixed(digits)})`);
    const rows = links.map(({ name, mass, com }) => [name, told(mass, 1, 3), ...[0, 1, 2].map((k) => (com[k] ? told(com[k], 1e3, 1) : "–")), mass.prior_dominated ? "rests on the file" : ""]);
    place.replaceChildren(element("p", {}, `Links of ${one.name}, with 95 % intervals.`), table(["link", "kg", "centre x mm", "y mm", "z mm", ""], rows, `links of ${one.name}`));
  }

  follow(job) {
    const replay = job?.replay;
    $("timeline").hidden = !replay;
    if (!replay || this.seeking) return;
    $("replayed").textContent = job.label;
    $("seek").max = replay.duration; $("seek").value = replay.seconds;
    $("seek-text").textContent = `${replay.seconds.toFixed(1)} of ${replay.duration.toFixed(1)} s`;
  }

  async bring(files) {
    for (const file of files) {
      const answer = await fetch(`/api/import?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file, headers: { "content-type": "application/octet-stream" } });
      const said = await answer.json();
      if (!answer.ok) { const { notice } = await import("/assets/asking.js"); notice(said.error); }
    }
    setTimeout(() => this.load(), 1500);
  }
}
