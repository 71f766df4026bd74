// The arm, turned by dragging or by keys. Its points stand in the elements' own data.
(() => {
  "use strict";
  for (const figure of document.querySelectorAll("figure.arm")) {
    const svg = figure.querySelector("svg");
    const elements = [...svg.querySelectorAll("[data-points], [data-centre]")].map((element) => ({
      element,
      points: JSON.parse(element.dataset.points || element.dataset.centre),
      shape: element.dataset.shape ? JSON.parse(element.dataset.shape)[0] : null,
    }));
    const half = Number(svg.dataset.size) / 2, room = Number(svg.dataset.room);
    let turn = Number(svg.dataset.turn), tilt = Number(svg.dataset.tilt);

    // Names in a column, each as high as its link if there is room.
    const place = (labels) => {
      labels.sort((a, b) => a.y - b.y);
      let last = -half;
      for (const label of labels) last = label.at = Math.max(label.y, last + room);
      labels.forEach((label, i) => {
        const height = Math.min(label.at, half - room * (labels.length - i));
        const line = label.element.querySelector("line");
        line.setAttribute("x1", label.x.toFixed(1));
        line.setAttribute("y1", label.y.toFixed(1));
        line.setAttribute("y2", height.toFixed(1));
        label.element.querySelector("text").setAttribute("y", height.toFixed(1));
      });
    };

    const draw = () => {
      const c = Math.cos(turn), s = Math.sin(turn), ct = Math.cos(tilt), st = Math.sin(tilt);
      const right = [c, -s, 0], down = [-s * st, -c * st, -ct];
      const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
      const labels = [];
      for (const { element, points, shape } of elements) {
        const shown = points.map((point) => [dot(right, point), dot(down, point)]);
        const [x, y] = shown[0];
        if (element.tagName === "polyline") {
          element.setAttribute("points", shown.map((p) => `${p[0].toFixed(1)},${p[1].toFixed(1)}`).join(" "));
        } else if (element.tagName === "g") {
          labels.push({ element, x, y });
        } else {
          const [xx, xy, xz, yy, yz, zz] = shape;
          const times = (v) => [xx * v[0] + xy * v[1] + xz * v[2], xy * v[0] + yy * v[1] + yz * v[2], xz * v[0] + yz * v[1] + zz * v[2]];
          const a = dot(right, times(right)), b = dot(right, times(down)), d = dot(down, times(down));
          const middle = (a + d) / 2, apart = Math.hypot((a - d) / 2, b);
          const angle = (Math.atan2(2 * b, a - d) / 2) * (180 / Math.PI);
          element.setAttribute("rx", Math.sqrt(Math.max(middle + apart, 0.25)).toFixed(1));
          element.setAttribute("ry", Math.sqrt(Math.max(middle - apart, 0.25)).toFixed(1));
          element.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)}) rotate(${angle.toFixed(1)})`);
        }
      }
      place(labels);
    };
    const move = (across, along) => {
      turn -= across;
      tilt = Math.min(Math.max(tilt + along, -1.5), 1.5);
      draw();
    };

    let last = null;
    figure.addEventListener("pointerdown", (event) => {
      last = [event.clientX, event.clientY];
      figure.setPointerCapture(event.pointerId);
      figure.classList.add("turning");
    });
    figure.addEventListener("pointermove", (event) => {
      if (last === null) return;
      move((event.clientX - last[0]) / 150, event.pointerType === "touch" ? 0 : (event.clientY - last[1]) / 150);
      last = [event.clientX, event.clientY];
    });
    const end = () => { last = null; figure.classList.remove("turning"); };
    figure.addEventListener("pointerup", end);
    figure.addEventListener("pointercancel", end);
    figure.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: [-0.15, 0], ArrowRight: [0.15, 0], ArrowUp: [0, -0.15], ArrowDown: [0, 0.15] };
      if (!steps[event.key]) return;
      event.preventDefault();
      move(...steps[event.key]);
    });
  }
})();
