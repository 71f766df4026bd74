// The window of time of every plot of a motion: moved together, by buttons, keys, dragging and touch.
(() => {
  "use strict";
  const NAMES = { measured: "measured", prior: "before", model: "model", rest: "left" };

  // Round numbers, as far apart as leaves at least `least` of them.
  const ticks = (low, high, least) => {
    const power = 10 ** Math.ceil(Math.log10((high - low) / least));
    for (let k = 0; k < 9; k += 1) {
      const step = ([1, 0.5, 0.2][k % 3] * power) / 10 ** Math.floor(k / 3);
      const first = Math.ceil(low / step - 1e-9), last = Math.floor(high / step + 1e-9);
      if (last - first + 1 >= least) return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
    }
    return [low, high];
  };

  // Points of a path as it was drawn: times [ms] and heights.
  const pointsOf = (path) => {
    if (!path.points) {
      const numbers = (path.getAttribute("d").match(/-?\d+/g) || []).map(Number);
      path.points = { x: numbers.filter((_, i) => i % 2 === 0), y: numbers.filter((_, i) => i % 2 === 1) };
    }
    return path.points;
  };

  const nearest = (x, at) => {
    let low = 0, high = x.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (x[middle] <= at) low = middle; else high = middle;
    }
    return at - x[low] <= x[high] - at ? low : high;
  };

  const short = (value) => value.toPrecision(3).replace("-", "\u2212");

  for (const motion of document.querySelectorAll("details.motion")) {
    const plots = [...motion.querySelectorAll(".plot")];
    const pictures = plots.map((plot) => plot.querySelector("svg"));
    const whole = Math.max(...pictures.map((svg) => Number(svg.dataset.width)));
    const least = Math.max(whole / 400, 20);
    let from = 0, to = whole;

    const show = (start, end) => {
      const span = Math.min(Math.max(end - start, least), whole);
      from = Math.min(Math.max(start, 0), whole - span);
      to = from + span;
      for (const svg of pictures) svg.setAttribute("viewBox", `${from} 0 ${span} 10000`);
      const shown = ticks(from / 1000, to / 1000, 4);
      const digits = Math.max(0, ...shown.map((t) => (String(Number(t.toPrecision(8))).split(".")[1] || "").length));
      for (const plot of plots) {
        const axis = plot.querySelector(".x");
        for (const old of axis.querySelectorAll("i")) old.remove();
        for (const time of shown) {
          const mark = document.createElement("i");
          mark.style.left = `${(100 * (1000 * time - from)) / span}%`;
          mark.appendChild(document.createElement("b")).textContent = time.toFixed(digits);
          axis.prepend(mark);
        }
      }
      for (const old of motion.querySelectorAll(".cursor")) old.remove();
    };

    const actions = {
      in: () => show(from + (to - from) / 4, to - (to - from) / 4),
      out: () => show(from - (to - from) / 2, to + (to - from) / 2),
      left: () => show(from - (to - from) / 4, to - (to - from) / 4),
      right: () => show(from + (to - from) / 4, to + (to - from) / 4),
      all: () => show(0, whole),
    };
    const keys = { "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "all", Escape: "all" };

    const tools = motion.querySelector(".tools");
    tools.hidden = false;
    tools.addEventListener("click", (event) => {
      const wanted = event.target.closest("button");
      if (wanted) actions[wanted.dataset.do]();
    });
    motion.addEventListener("keydown", (event) => {
      const wanted = keys[event.key];
      if (!wanted || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      actions[wanted]();
    });

    const timeAt = (plot, event) => {
      const box = plot.getBoundingClientRect();
      return from + ((event.clientX - box.left) / box.width) * (to - from);
    };

    // What every line of a joint says at a time.
    const tell = (plot, time) => {
      const joint = plot.closest(".joint");
      const said = [];
      for (const svg of joint.querySelectorAll("svg")) {
        const low = Number(svg.dataset.low), high = Number(svg.dataset.high);
        for (const path of svg.querySelectorAll("path")) {
          const { x, y } = pointsOf(path);
          if (!x.length) continue;
          const value = high - (y[nearest(x, time)] / 10000) * (high - low);
          said.push(`${NAMES[path.getAttribute("class")]} ${short(value)}`);
        }
      }
      joint.querySelector("output").textContent = `${(time / 1000).toFixed(2)} s: ${said.join(", ")}`;
      for (const one of joint.querySelectorAll(".plot")) {
        const line = one.querySelector(".cursor") || one.appendChild(document.createElement("div"));
        line.className = "cursor";
        line.style.left = `${(100 * (time - from)) / (to - from)}%`;
      }
    };

    for (const plot of plots) {
      let begin = null, window_ = null, brush = null;
      plot.addEventListener("pointerdown", (event) => {
        if (event.button !== 0) return;
        begin = timeAt(plot, event);
        window_ = [from, to];
        plot.setPointerCapture(event.pointerId);
        if (event.pointerType !== "touch" && !event.shiftKey) {
          brush = plot.appendChild(document.createElement("div"));
          brush.className = "brush";
        }
      });
      plot.addEventListener("pointermove", (event) => {
        const now = timeAt(plot, event);
        if (begin === null) { tell(plot, now); return; }
        if (brush) {
          const share = (time) => (100 * (time - from)) / (to - from);
          brush.style.left = `${share(Math.min(begin, now))}%`;
          brush.style.width = `${Math.abs(share(now) - share(begin))}%`;
        } else if (to - from < whole) {
          const moved = now - from - (begin - window_[0]);
          show(window_[0] - moved, window_[1] - moved);
        } else {
          tell(plot, now);
        }
      });
      const end = (event) => {
        if (begin === null) return;
        const now = timeAt(plot, event);
        const dragged = brush !== null && event.type === "pointerup" && Math.abs(now - begin) > (to - from) / 100;
        const start = begin;
        begin = null;
        if (brush) brush.remove();
        brush = null;
        if (dragged) show(Math.min(start, now), Math.max(start, now)); else tell(plot, now);
      };
      plot.addEventListener("pointerup", end);
      plot.addEventListener("pointercancel", end);
      plot.addEventListener("dblclick", actions.all);
      plot.addEventListener("pointerleave", () => {
        if (begin !== null) return;
        const joint = plot.closest(".joint");
        joint.querySelector("output").textContent = "";
        for (const line of joint.querySelectorAll(".cursor")) line.remove();
      });
    }
  }
})();
