// The arm in 3-D: solids of its links, moved by its joints; the flange's way ahead; the box of what it holds. WebGL 2.

const SIDES = 20, RINGS = 6;

// -- 4 x 4 matrices, column by column ---------------------------------------------------------------------------------
const identity = () => [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];
const times = (a, b) => {
  const c = new Array(16).fill(0);
  for (let j = 0; j < 4; j++) for (let i = 0; i < 4; i++) for (let k = 0; k < 4; k++) c[4 * j + i] += a[4 * k + i] * b[4 * j + k];
  return c;
};
const fromRows = (r) => [r[0], r[4], r[8], 0, r[1], r[5], r[9], 0, r[2], r[6], r[10], 0, r[3], r[7], r[11], 1];
const shifted = (x, y, z) => [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, x, y, z, 1];
const scaled = (x, y, z) => [x, 0, 0, 0, 0, y, 0, 0, 0, 0, z, 0, 0, 0, 0, 1];
const turned = ([x, y, z], angle) => {
  const c = Math.cos(angle), s = Math.sin(angle), d = 1 - c;
  return [x * x * d + c, y * x * d + z * s, z * x * d - y * s, 0, x * y * d - z * s, y * y * d + c, z * y * d + x * s, 0,
    x * z * d + y * s, y * z * d - x * s, z * z * d + c, 0, 0, 0, 0, 1];
};
const at = (m, [x, y, z]) => [0, 1, 2].map((i) => m[i] * x + m[4 + i] * y + m[8 + i] * z + m[12 + i]);
const along = (m, [x, y, z]) => [0, 1, 2].map((i) => m[i] * x + m[4 + i] * y + m[8 + i] * z);

// -- solids: numbers of their corners (place, normal), and which three of them make a triangle ---------------------------
const revolved = (profile) => { // [radius, height, normal's radius, normal's height]
  const numbers = [], triangles = [];
  profile.forEach((p, i) => {
    for (let k = 0; k < SIDES; k++) {
      const a = 2 * Math.PI * k / SIDES, here = i * SIDES + k, next = i * SIDES + (k + 1) % SIDES;
      numbers.push(p[0] * Math.cos(a), p[0] * Math.sin(a), p[1], p[2] * Math.cos(a), p[2] * Math.sin(a), p[3]);
      if (i + 1 < profile.length) triangles.push(here, next, next + SIDES, here, next + SIDES, here + SIDES);
    }
  });
  return { numbers, triangles };
};
const arc = (radius, height, from, to) => Array.from({ length: RINGS + 1 }, (_, i) => {
  const a = from + (to - from) * i / RINGS;
  return [radius * Math.cos(a), height + radius * Math.sin(a), Math.cos(a), Math.sin(a)];
});
const solids = {
  sphere: ([r]) => revolved(arc(r, 0, -Math.PI / 2, Math.PI / 2)),
  capsule: ([r, l]) => revolved([...arc(r, -l / 2, -Math.PI / 2, 0), ...arc(r, l / 2, 0, Math.PI / 2)]),
  cylinder: ([r, l]) => revolved([[0, -l / 2, 0, -1], [r, -l / 2, 0, -1], [r, -l / 2, 1, 0], [r, l / 2, 1, 0], [r, l / 2, 0, 1], [0, l / 2, 0, 1]]),
  ellipsoid: ([a, b, c]) => {
    const out = solids.sphere([1]), n = out.numbers;
    for (let i = 0; i < n.length; i += 6) {
      n[i] *= a; n[i + 1] *= b; n[i + 2] *= c; n[i + 3] /= a; n[i + 4] /= b; n[i + 5] /= c;
    }
    return out;
  },
  box: ([x, y, z]) => {
    const out = [];
    for (const [axis, sign] of [[0, 1], [0, -1], [1, 1], [1, -1], [2, 1], [2, -1]]) {
      const u = (axis + 1) % 3, v = (axis + 2) % 3, size = [x / 2, y / 2, z / 2];
      for (const [a, b] of [[-1, -1], [1, -1], [1, 1], [-1, -1], [1, 1], [-1, 1]]) {
        const p = [0, 0, 0], n = [0, 0, 0];
        p[axis] = sign * size[axis]; p[u] = a * size[u]; p[v] = b * size[v]; n[axis] = sign;
        out.push(...p, ...n);
      }
    }
    return { numbers: out };
  },
  mesh: (_, { points, faces }) => ({ numbers: faces.flatMap((face) => {
    const [a, b, c] = face.map((i) => points[i]);
    const u = b.map((v, i) => v - a[i]), w = c.map((v, i) => v - a[i]);
    const n = [u[1] * w[2] - u[2] * w[1], u[2] * w[0] - u[0] * w[2], u[0] * w[1] - u[1] * w[0]];
    const size = Math.hypot(...n) || 1;
    return [a, b, c].flatMap((p) => [...p, ...n.map((v) => v / size)]);
  }) }),
};

// Solids in one buffer, to be drawn at once: each at its place on a body, in one of the tints.
const gathered = (parts) => {
  const numbers = [], triangles = [];
  for (const { solid, place = identity(), body = 0, tint = 0 } of parts) {
    const first = numbers.length / 8, n = solid.numbers, corners = n.length / 6;
    for (let i = 0; i < n.length; i += 6) numbers.push(...at(place, n.slice(i, i + 3)), ...along(place, n.slice(i + 3, i + 6)), body, tint);
    for (const i of solid.triangles ?? Array.from({ length: corners }, (_, k) => k)) triangles.push(first + i);
  }
  return { numbers, triangles };
};

const VERTEX = (bodies) => `#version 300 es
in vec3 place; in vec3 normal; in vec2 which; uniform mat4 models[${bodies}], view; uniform vec4 tints[3]; out vec3 n, p; flat out vec4 colour;
void main() {
  mat4 model = models[int(which.x)]; vec4 w = model * vec4(place, 1.0);
  p = w.xyz; n = mat3(model) * normal; colour = tints[int(which.y)]; gl_Position = view * w;
}`;
const FRAGMENT = `#version 300 es
precision highp float; in vec3 n, p; flat in vec4 colour; uniform vec3 eye; uniform float flat_; out vec4 shown;
void main() {
  if (flat_ > 0.5) { shown = colour; return; }
  vec3 u = normalize(n), v = normalize(eye - p);
  if (dot(u, v) < 0.0) u = -u;
  float sky = 0.5 + 0.5 * u.z, key = max(dot(u, normalize(vec3(0.4, -0.5, 0.8))), 0.0);
  float glint = pow(max(dot(u, normalize(v + normalize(vec3(0.4, -0.5, 0.8)))), 0.0), 40.0);
  shown = vec4(colour.rgb * (0.42 + 0.28 * sky + 0.42 * key) + 0.22 * glint, colour.a);
}`;

export class Arm {
  constructor(canvas) {
    this.canvas = canvas;
    this.turn = -0.9; this.tilt = 0.42; this.near = 1;
    this.q = []; this.path = null; this.done = 0; this.payload = null; this.drawn = 0;
    const gl = this.gl = this.#context();
    if (!gl) { this.canvas.replaceWith(Object.assign(document.createElement("p"), { className: "empty", textContent: "This browser has no WebGL 2: the arm is not drawn." })); return; }
    this.#listen();
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  // Where no graphics processor draws, every picture keeps the processors busy: half as many, without smooth edges.
  #context() {
    const gl = this.canvas.getContext("webgl2", { alpha: false, antialias: true }), info = gl?.getExtension("WEBGL_debug_renderer_info");
    const slow = info && /swiftshader|llvmpipe|software|basic render/i.test(gl.getParameter(info.UNMASKED_RENDERER_WEBGL));
    this.every = slow ? 60 : 0; this.painted = 0; // ms
    if (!slow) return gl;
    gl.getExtension("WEBGL_lose_context")?.loseContext();
    const plain = this.canvas.cloneNode();
    this.canvas.replaceWith(plain);
    this.canvas = plain;
    return plain.getContext("webgl2", { alpha: false, antialias: false });
  }

  #program(bodies) {
    const gl = this.gl, program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX(bodies)], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text); gl.compileShader(shader); gl.attachShader(program, shader);
    }
    ["place", "normal", "which"].forEach((name, i) => gl.bindAttribLocation(program, i, name));
    gl.linkProgram(program);
    if (this.program) gl.deleteProgram(this.program);
    this.program = program;
    this.where = Object.fromEntries(["models", "view", "tints", "eye", "flat_"].map((name) => [name, gl.getUniformLocation(program, name)]));
  }

  #buffer(...parts) {
    const gl = this.gl, array = gl.createVertexArray(), corners = gl.createBuffer(), order = gl.createBuffer(), { numbers, triangles } = gathered(parts);
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, corners);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(numbers), gl.STATIC_DRAW);
    [3, 3, 2].forEach((size, i) => { gl.enableVertexAttribArray(i); gl.vertexAttribPointer(i, size, gl.FLOAT, false, 32, 12 * i); });
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, order);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, new Uint32Array(triangles), gl.STATIC_DRAW);
    return { array, count: triangles.length, free() { gl.deleteVertexArray(array); gl.deleteBuffer(corners); gl.deleteBuffer(order); } };
  }

  show(scene) {
    this.scene = scene;
    if (!this.gl || !scene) return;
    const bodies = scene.joints.length;
    for (const one of [this.body, this.box, this.ball, this.floor]) one?.free(); // each session shows its arm anew
    this.#program(bodies + 1);
    this.body = this.#buffer(
      ...scene.shapes.map((shape) => ({ solid: solids[shape.kind](shape.size, shape), place: fromRows(shape.place), body: shape.joint, tint: shape.joint % 2 })),
      { solid: solids.cylinder([0.11, 0.03]), place: shifted(0, 0, 0.015), body: bodies, tint: 2 });
    this.box = this.#buffer({ solid: solids.box([1, 1, 1]) });
    this.ball = this.#buffer({ solid: solids.sphere([1]) });
    const floor = [];
    for (let i = -10; i <= 10; i++) floor.push(i / 5, -2, 0, 0, 0, 1, i / 5, 2, 0, 0, 0, 1, -2, i / 5, 0, 0, 0, 1, 2, i / 5, 0, 0, 0, 1);
    this.floor = this.#buffer({ solid: { numbers: floor } });
    const reach = Math.max(...this.#poses(scene.joints.map(() => 0)).map((m) => Math.hypot(m[12], m[13], m[14])), 0.4) + 0.25;
    this.reach = reach;
    this.draw();
  }

  setPath(path) {
    this.path = path;
    this.way?.free();
    this.way = null;
    if (this.gl && path) this.way = this.#buffer({ solid: { numbers: path.points.flatMap((p) => [...p, 0, 0, 1]) } });
    this.draw();
  }

  #poses(q) {
    const poses = [];
    this.scene.joints.forEach((joint, i) => {
      const parent = joint.parent < 0 ? identity() : poses[joint.parent];
      const move = joint.prismatic ? shifted(...joint.axis.map((v) => v * q[i])) : turned(joint.axis, q[i] || 0);
      poses.push(times(times(parent, fromRows(joint.place)), move));
    });
    return poses;
  }

  flange() {
    if (!this.scene || this.q.length !== this.scene.joints.length) return null;
    const { joint, place } = this.scene.flange;
    return times(this.#poses(this.q)[joint], fromRows(place));
  }

  pose(q, done, payload) { this.q = q; this.done = done; this.payload = payload; this.draw(); }

  draw() {
    if (this.waiting) return;
    this.waiting = true;
    const paint = () => requestAnimationFrame((now) => { this.waiting = false; this.painted = now; this.#paint(); });
    const rest = this.painted + this.every - performance.now();
    rest > 0 ? setTimeout(paint, rest) : paint();
  }

  #view() {
    const { width, height } = this.canvas, aspect = width / height;
    const far = 2.25 * (this.reach || 1) / this.near, target = [0, 0, 0.42 * (this.reach || 1)];
    const c = Math.cos(this.tilt), eye = [target[0] + far * c * Math.cos(this.turn), target[1] + far * c * Math.sin(this.turn), target[2] + far * Math.sin(this.tilt)];
    const z = eye.map((v, i) => (v - target[i]) / far), x = [-Math.sin(this.turn), Math.cos(this.turn), 0];
    const y = [z[1] * x[2] - z[2] * x[1], z[2] * x[0] - z[0] * x[2], z[0] * x[1] - z[1] * x[0]];
    const dot = (a) => -(a[0] * eye[0] + a[1] * eye[1] + a[2] * eye[2]);
    const look = [x[0], y[0], z[0], 0, x[1], y[1], z[1], 0, x[2], y[2], z[2], 0, dot(x), dot(y), dot(z), 1];
    const f = 1 / Math.tan(0.32) * Math.min(1, aspect * 1.15), n = 0.05, e = 30;
    return { eye, matrix: times([f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (e + n) / (n - e), -1, 0, 0, 2 * e * n / (n - e), 0], look) };
  }

  #paint() {
    const gl = this.gl, canvas = this.canvas, ratio = Math.min(devicePixelRatio, 2);
    if (!gl || !this.scene) return;
    const width = Math.round(canvas.clientWidth * ratio), height = Math.round(canvas.clientHeight * ratio);
    if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
    const style = getComputedStyle(document.documentElement), dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const colour = (name, alpha = 1) => { const v = style.getPropertyValue(name).trim(); return [1, 3, 5].map((i) => parseInt(v.slice(i, i + 2), 16) / 255).concat(alpha); };
    gl.viewport(0, 0, width, height);
    gl.clearColor(...(dark ? [0.075, 0.1, 0.125, 1] : [0.945, 0.957, 0.968, 1]));
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST); gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    gl.useProgram(this.program);
    const view = this.#view();
    gl.uniformMatrix4fv(this.where.view, false, view.matrix); gl.uniform3fv(this.where.eye, view.eye);
    const put = (buffer, models, tints, kind = gl.TRIANGLES, plain = 0, first = 0, count = buffer.count) => {
      if (count <= 0) return;
      tints[0][3] < 1 ? gl.enable(gl.BLEND) : gl.disable(gl.BLEND);
      gl.uniformMatrix4fv(this.where.models, false, models.flat()); gl.uniform4fv(this.where.tints, tints.flat()); gl.uniform1f(this.where.flat_, plain);
      gl.bindVertexArray(buffer.array); gl.drawElements(kind, count, gl.UNSIGNED_INT, 4 * first);
    };
    put(this.floor, [identity()], [dark ? [0.22, 0.28, 0.33, 1] : [0.84, 0.87, 0.89, 1]], gl.LINES, 1);
    const q = this.q.length === this.scene.joints.length ? this.q : this.scene.joints.map(() => 0);
    const poses = this.#poses(q);
    put(this.body, [...poses, identity()], dark
      ? [[0.78, 0.82, 0.86, 1], [0.3, 0.62, 0.7, 1], [0.4, 0.45, 0.5, 1]]
      : [[0.9, 0.92, 0.94, 1], [0.16, 0.5, 0.58, 1], [0.5, 0.55, 0.6, 1]]);
    if (this.path && this.way) {
      const seconds = this.path.seconds;
      let k = seconds.findIndex((t) => t >= this.done);
      if (k < 0) k = seconds.length;
      put(this.way, [identity()], [colour("--path", 0.22)], gl.LINE_STRIP, 1, 0, Math.min(k + 1, seconds.length));
      put(this.way, [identity()], [colour("--path", 0.95)], gl.LINE_STRIP, 1, k, seconds.length - k);
    }
    if (this.payload) this.#paintPayload(poses, put, colour);
    this.drawn += 1;
  }

  // The homogeneous box with the payload's mass and principal moments: side^2 = 6 (I2 + I3 - I1) / m.
  #paintPayload(poses, put, colour) {
    const { mass, com, principal } = this.payload, { joint, place } = this.scene.flange;
    const flange = times(poses[joint], fromRows(place)), held = times(flange, shifted(...com));
    put(this.ball, [times(held, scaled(0.012, 0.012, 0.012))], [colour("--bad")]);
    if (!principal) return;
    const I = principal.moments, total = I[0] + I[1] + I[2];
    const sides = I.map((value) => Math.min(Math.sqrt(Math.max(6 * (total - 2 * value) / mass, 1e-4)), 0.6));
    const R = principal.axes; // columns are the axes
    const turn = [R[0][0], R[1][0], R[2][0], 0, R[0][1], R[1][1], R[2][1], 0, R[0][2], R[1][2], R[2][2], 0, 0, 0, 0, 1];
    put(this.box, [times(times(held, turn), scaled(...sides))], [colour("--held", 0.45)]);
  }

  #listen() {
    const canvas = this.canvas;
    let last = null;
    const move = (across, along) => { this.turn -= across; this.tilt = Math.min(Math.max(this.tilt + along, -0.2), 1.5); this.draw(); };
    canvas.addEventListener("pointerdown", (e) => { last = [e.clientX, e.clientY]; canvas.setPointerCapture(e.pointerId); });
    canvas.addEventListener("pointermove", (e) => { if (last) { move((e.clientX - last[0]) / 170, (e.clientY - last[1]) / 170); last = [e.clientX, e.clientY]; } });
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => { last = null; });
    const zoom = (by) => { this.near = Math.min(Math.max(this.near * by, 0.4), 4); this.draw(); };
    canvas.addEventListener("wheel", (e) => { if (e.ctrlKey || document.activeElement === canvas) { e.preventDefault(); zoom(Math.exp(-e.deltaY / 600)); } }, { passive: false });
    canvas.addEventListener("keydown", (e) => {
      const steps = { ArrowLeft: [0.15, 0], ArrowRight: [-0.15, 0], ArrowUp: [0, 0.12], ArrowDown: [0, -0.12] };
      if (steps[e.key]) { e.preventDefault(); move(...steps[e.key]); }
      if (e.key === "+") zoom(1.15);
      if (e.key === "-") zoom(1 / 1.15);
    });
  }
}

export { at };
