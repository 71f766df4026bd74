// A plot of columns over time, drawn by their minima and maxima: live, held, zoomed, measured.

const COLOURS = ["#0b7a75", "#c2410c", "#6d28d9", "#15803d", "#be185d", "#1d4ed8", "#a16207", "#475569"];
const LIGHT = ["#2dd4bf", "#fb923c", "#a78bfa", "#4ade80", "#f472b6", "#60a5fa", "#facc15", "#94a3b8"];
const KEPT = 60;

export class Plot {
  constructor(canvas, keys, measure, back) {
    Object.assign(this, { canvas, keys, measure, back });
    this.span = 10; this.held = false; this.window = null; this.mark = null; this.series = []; this.off = new Set(); this.unit = "";
    this.onlook = null; // asks for more detail: (begin, end) => void
    this.drawn = 0;
    this.#listen();
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  choose(columns, unit) {
    this.columns = columns; this.unit = unit; this.off.clear(); this.mark = null; this.detail = null; this.window = null;
    this.series = columns.map(() => ({ t: [], low: [], high: [] }));
    this.keys.replaceChildren(...columns.map((name, i) => {
      const item = document.createElement("li"), button = document.createElement("button"), dot = document.createElement("i");
      button.type = "button"; button.setAttribute("aria-pressed", "true"); dot.style.background = this.#colour(i);
      button.append(dot, name);
      button.addEventListener("click", () => {
        this.off.has(i) ? this.off.delete(i) : this.off.add(i);
        button.setAttribute("aria-pressed", String(!this.off.has(i)));
        this.draw();
      });
      item.append(button);
      return item;
    }));
    this.draw();
  }

  #colour(i) { return (matchMedia("(prefers-color-scheme: dark)").matches ? LIGHT : COLOURS)[i % COLOURS.length]; }

  add({ columns, t, low, high }) {
    if (!this.columns || columns.length !== this.columns.length || !t.length) return;
    const last = this.series[0]?.t.at(-1);
    this.series.forEach((one, i) => {
      if (last !== undefined && t[0] < last - 0.5) { one.t = []; one.low = []; one.high = []; }
      one.t.push(...t); one.low.push(...low[i]); one.high.push(...high[i]);
      const old = one.t.findIndex((time) => time > t.at(-1) - KEPT);
      if (old > 500) for (const key of ["t", "low", "high"]) one[key].splice(0, old);
    });
    if (!this.held) this.draw();
  }

  hold(on) {
    this.held = on;
    if (!on) { this.window = null; this.detail = null; this.mark = null; this.measure.textContent = ""; }
    else this.window ??= this.#now();
    this.back.hidden = !on;
    this.draw();
  }

  #now() { const end = this.series[0]?.t.at(-1) ?? 0; return [end - this.span, end]; }

  zoom(by, at = 0.5) {
    const [a, b] = this.window ?? this.#now(), middle = a + at * (b - a);
    this.hold(true);
    this.window = [middle - (middle - a) * by, middle + (b - middle) * by];
    this.#look();
  }

  pan(by) {
    const [a, b] = this.window ?? this.#now();
    this.hold(true);
    this.window = [a + by * (b - a), b + by * (b - a)];
    this.#look();
  }

  #look() {
    this.detail = null;
    clearTimeout(this.later);
    this.later = setTimeout(() => this.onlook?.(...this.window), 120);
    this.draw();
  }

  show(detail) { this.detail = detail; this.draw(); }

  draw() { if (!this.waiting) this.waiting = requestAnimationFrame(() => { this.waiting = null; this.#paint(); }); }

  #paint() {
    const canvas = this.canvas, ratio = Math.min(devicePixelRatio, 2);
    const w = canvas.clientWidth, h = canvas.clientHeight;
    if (!w || !h) return;
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) { canvas.width = Math.round(w * ratio); canvas.height = Math.round(h * ratio); }
    const g = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
    const [begin, end] = this.window ?? this.#now();
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, w, h);
    const left = 58, bottom = h - 24, top = 8, right = w - 8;
    const source = this.detail ? this.detail.columns.map((_, i) => ({ t: this.detail.t, low: this.detail.low[i], high: this.detail.high[i] })) : this.series;
    let low = Infinity, high = -Infinity;
    const ranges = source.map((one, i) => {
      if (this.off.has(i)) return null;
      let a = lower(one.t, begin), b = lower(one.t, end);
      a = Math.max(a - 1, 0); b = Math.min(b + 1, one.t.length);
      for (let k = a; k < b; k++) {
        if (one.low[k] !== null && one.low[k] < low) low = one.low[k];
        if (one.high[k] !== null && one.high[k] > high) high = one.high[k];
      }
      return [a, b];
    });
    if (!(low <= high)) { low = -1; high = 1; }
    const room = Math.max((high - low) * 0.08, Math.abs(high) * 1e-4, 1e-9);
    low -= room; high += room;
    const x = (t) => left + (right - left) * (t - begin) / (end - begin), y = (v) => bottom - (bottom - top) * (v - low) / (high - low);
    this.scale = { begin, end, left, right, low, high, top, bottom };
    g.font = "12px system-ui, sans-serif"; g.lineWidth = 1;
    g.strokeStyle = style.getPropertyValue("--line"); g.fillStyle = style.getPropertyValue("--quiet");
    g.textAlign = "right"; g.textBaseline = "middle";
    for (const v of ticks(low, high, 5)) { g.beginPath(); g.moveTo(left, y(v)); g.lineTo(right, y(v)); g.stroke(); g.fillText(short(v), left - 6, y(v)); }
    g.textAlign = "center"; g.textBaseline = "top";
    for (const ago of ticks(begin - end, 0, Math.max(3, Math.floor(w / 120)))) { const t = end + ago; g.beginPath(); g.moveTo(x(t), top); g.lineTo(x(t), bottom); g.stroke(); g.fillText(`${short(ago, 3)} s`, Math.min(x(t), right - 10), bottom + 6); }
    g.save(); g.beginPath(); g.rect(left, top, right - left, bottom - top); g.clip();
    g.lineJoin = "bevel"; g.lineWidth = 1; // a hair: ten times as quick as 1.4 where no graphics processor draws
    source.forEach((one, i) => {
      if (!ranges[i]) return;
      const [a, b] = ranges[i];
      g.strokeStyle = this.#colour(i);
      g.beginPath();
      let pen = false;
      for (let k = a; k < b; k++) {
        if (one.low[k] === null) { pen = false; continue; }
        const px = x(one.t[k]);
        pen ? g.lineTo(px, y(one.high[k])) : g.moveTo(px, y(one.high[k]));
        g.lineTo(px, y(one.low[k]));
        pen = true;
      }
      g.stroke();
    });
    if (this.mark) this.#paintMark(g, x, y, style);
    g.restore();
    g.fillStyle = style.getPropertyValue("--quiet"); g.textAlign = "left"; g.textBaseline = "top"; g.fillText(this.unit, left + 6, top + 2);
    this.drawn += 1;
  }

  #paintMark(g, x, y, style) {
    const [a, b] = this.mark;
    g.fillStyle = style.getPropertyValue("--accent"); g.globalAlpha = 0.14;
    g.fillRect(Math.min(x(a[0]), x(b[0])), this.scale.top, Math.abs(x(b[0]) - x(a[0])), this.scale.bottom - this.scale.top);
    g.globalAlpha = 1; g.strokeStyle = style.getPropertyValue("--accent"); g.setLineDash([4, 3]);
    for (const p of [a, b]) { g.beginPath(); g.moveTo(x(p[0]), this.scale.top); g.lineTo(x(p[0]), this.scale.bottom); g.moveTo(this.scale.left, y(p[1])); g.lineTo(this.scale.right, y(p[1])); g.stroke(); }
    g.setLineDash([]);
  }

  #listen() {
    const canvas = this.canvas;
    const point = (e) => {
      const s = this.scale, box = canvas.getBoundingClientRect(), px = e.clientX - box.left, py = e.clientY - box.top;
      return [s.begin + (s.end - s.begin) * (px - s.left) / (s.right - s.left), s.high - (s.high - s.low) * (py - s.top) / (s.bottom - s.top)];
    };
    let from = null;
    canvas.addEventListener("pointerdown", (e) => { if (!this.scale) return; this.hold(true); from = point(e); canvas.setPointerCapture(e.pointerId); document.dispatchEvent(new CustomEvent("held")); });
    canvas.addEventListener("pointermove", (e) => {
      if (!from) return;
      const to = point(e), dt = to[0] - from[0];
      this.mark = [from, to];
      const rate = dt ? `, ${short(1 / Math.abs(dt))} Hz` : "";
      this.measure.textContent = `Δt ${short(dt, 4)} s${rate}, Δ ${short(to[1] - from[1], 4)} ${this.unit}`;
      this.draw();
    });
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => { from = null; });
    canvas.addEventListener("wheel", (e) => {
      if (!this.scale || !(e.ctrlKey || this.held)) return;
      e.preventDefault();
      const s = this.scale, box = canvas.getBoundingClientRect();
      this.zoom(Math.exp(e.deltaY / 500), Math.min(Math.max((e.clientX - box.left - s.left) / (s.right - s.left), 0), 1));
    }, { passive: false });
    canvas.addEventListener("keydown", (e) => {
      const deeds = { "+": () => this.zoom(0.7), "-": () => this.zoom(1 / 0.7), ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2), " ": () => document.getElementById("plot-pause").click() };
      if (deeds[e.key]) { e.preventDefault(); deeds[e.key](); document.dispatchEvent(new CustomEvent("held")); }
    });
  }
}

const lower = (sorted, value) => {
  let a = 0, b = sorted.length;
  while (a < b) { const m = (a + b) >> 1; sorted[m] < value ? (a = m + 1) : (b = m); }
  return a;
};
const ticks = (low, high, about) => {
  const raw = (high - low) / about, size = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].find((m) => m * size >= raw) * size;
  const out = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) out.push(k * step);
  return out;
};
export const short = (value, digits = 3) => (value === null || !Number.isFinite(value) ? "–" : String(Number(Math.abs(value) < 1e-12 ? 0 : value.toPrecision(digits))).replace("-", "−"));
