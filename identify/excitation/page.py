"""One HTML page about a design: its curves against their limits, torques, clearance, the arm along its path, and what
the motion will tell."""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.excitation.design import Design
from heft.identify.result.report.markup import definitions, section, table, text
from heft.identify.result.report.numbers import plain
from heft.identify.result.report.plot import AxisRange, Line, envelope, plot

__all__ = ["design_page"]

POINTS = 400
POSES = 24
VIEW = (-0.6, 0.35)  # turn about the vertical and tilt [rad]
SIZE = 600
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def design_page(made: Design) -> str:
    """The page as text; needs no script and nothing from outside. Equal designs give equal pages."""
    css = files("heft.identify.result.report").joinpath("assets", "report.css").read_text(encoding="utf-8")
    name = made.request.config.name
    parts = [
        _summary(made),
        _told(made),
        _curves(made),
        _torques(made),
        _clearance(made),
        _balance(made),
        _arm(made),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{text(name)}: designed excitation \u2013 Heft</title><style>{css.strip()}</style></head><body>"
        f'<header><p class="brand">Heft</p><h1>{text(name)}: designed excitation</h1></header>'
        f"<main>{''.join(parts)}</main></body></html>\n"
    )


def _summary(made: Design) -> str:
    request, worst = made.request, made.worst_limit
    items = [
        (
            "condition number",
            f"{plain(made.condition_number, 3)}; random motion: {plain(made.before.condition_number, 3)}",
        ),
        ("limited by", made.telling.weakest.why(made.condition_number)),
        ("criterion", request.criterion),
        ("for", request.target),
        ("lasts", f"{request.seconds:g} s"),
        (
            "closest limit",
            f"{worst.quantity} of {worst.joint}: {100 * worst.share:.1f} % of {plain(worst.bound, 4)}",
        ),
    ]
    if request.support is not None:
        feet = " and ".join(request.support.feet)
        items.append(("base", f"rests on {feet}" if feet else "hangs, and rests upright"))
    if request.balance is not None:
        items.append(
            ("centre of pressure", f"{request.balance.room(*made.motion).min():.3f} m inside the soles")
        )
    if not request.config.excitation.collisions:
        items.append(("closest approach", "not looked at: the robot's file switches collisions off"))
    elif np.isfinite(made.closest.distance):
        items.append(("closest approach", f"{made.closest}: {made.closest.distance:.3f} m"))
    items.append(
        ("every limit kept", "yes, on a grid ten times finer than the search's" if made.limits_ok else "no")
    )
    return section("summary", "Summary", definitions(items))


def _told(made: Design) -> str:
    told = [
        (name, plain(before, 3), plain(after, 3), plain(before / after, 3))
        for name, before, after in zip(
            made.telling.names, made.before.std.tolist(), made.telling.std.tolist(), strict=True
        )
    ]
    request = made.request
    noise = ", ".join(plain(value, 2) for value in request.row_noise.tolist())
    base = ""
    of = f"torque noise of {noise} N\u00b7m (joint by joint)"
    if request.support is not None:
        rows = np.array(request.robot.rows)[request.robot.measured_rows]
        of = f"noise of {noise} N, N\u00b7m ({', '.join(rows)})"
        base = " While the root rests, and together with what the robot's file knows."
    said = (
        f"<p>Expected with white {of} at {request.rate_hz:g} Hz; "
        "\u201cbefore\u201d is a random motion of the same duration."
        f"{base}</p>"
    )
    return section(
        "told",
        "What it will tell",
        said,
        '<div class="long">',
        table(
            ("parameter", "before", "after", "times better"),
            told,
            caption="Expected standard deviations",
            numeric=(1, 2, 3),
        ),
        "</div>",
    )


def _drawn(made: Design, values: Array, bounds: tuple[float, float], unit: str, label: str) -> str:
    t = made.time
    end = float(t[-1])
    edges = np.array([0.0, end])
    lines = [Line("model", *envelope(t, values, POINTS))]
    lines += [Line("bound", edges, np.full(2, bound)) for bound in bounds if np.isfinite(bound)]
    scale = AxisRange.around(*(line.y for line in lines))
    return f"<h3>{text(label)}</h3>" + plot(lines, end, scale, label=label, unit=unit, kind="lags")


def _curves(made: Design) -> str:
    limits = made.request.bounds
    q, dq, ddq = made.motion
    parts = []
    for k, name in enumerate(limits.axes):
        if k in made.request.held:
            continue
        v, a = float(limits.velocity[k]), float(limits.acceleration[k])
        ends = (float(limits.lower[k]), float(limits.upper[k]))
        parts.append(_drawn(made, q[:, k], ends, "rad", f"{name}: position"))
        parts.append(_drawn(made, dq[:, k], (-v, v), "rad/s", f"{name}: velocity"))
        parts.append(_drawn(made, ddq[:, k], (-a, a), "rad/s\u00b2", f"{name}: acceleration"))
    return section("curves", "Joints against their limits", *parts)


def _torques(made: Design) -> str:
    if made.torque is None:
        return section("torques", "Torques", "<p>Not known: the robot's file says nothing of masses.</p>")
    bounds = [joint.torque for joint in made.request.config.joints.values()]
    parts = [
        _drawn(made, made.torque[:, k], (-bounds[k], bounds[k]), "N\u00b7m", f"{name}: torque")
        for k, name in enumerate(made.request.limits.axes)
        if k not in made.request.held
    ]
    return section("torques", "Torques by the robot's file", *parts)


def _clearance(made: Design) -> str:
    if not made.request.config.excitation.collisions or not np.all(np.isfinite(made.clearance)):
        return ""
    wanted = made.request.surroundings.clearance
    return section(
        "clearance",
        "Clearance",
        _drawn(made, made.clearance, (0.0, wanted), "m", "closest approach, to itself and to obstacles"),
    )


def _balance(made: Design) -> str:
    balance = made.request.balance
    if balance is None:
        return ""
    room = balance.room(*made.motion)
    return section(
        "balance",
        "Balance",
        _drawn(made, room, (0.0, balance.margin_m), "m", "centre of pressure, inside the soles by"),
    )


def _limbs(made: Design) -> list[list[int]]:
    """Links one after the other (-1: the base), a limb that branches off begins at the link that it is on."""
    parents = made.request.robot.tree.parents.tolist()
    limbs: list[list[int]] = []
    for link, parent in enumerate(parents):
        if limbs and limbs[-1][-1] == parent:
            limbs[-1].append(link)
        else:
            limbs.append([parent, link])
    return limbs


def _arm(made: Design) -> str:
    """The arm along its path, seen from one side, and the way of its flange."""
    robot, q = made.request.robot, made.motion[0]
    chosen = np.linspace(0, len(q) - 1, POSES).astype(int)
    limbs, carrier = _limbs(made), _flange_link(made)
    skeletons = []
    for i in chosen:
        poses = robot.tree.poses(q[i])
        joints = np.vstack([np.zeros((1, 3)), poses[:, :3, 3]])
        for limb in limbs:
            tip = [_tip(made, poses)] if limb[-1] == carrier else []
            skeletons.append(np.vstack([joints[np.array(limb) + 1], *tip]))
    path = np.array([_tip(made, robot.tree.poses(row)) for row in q[:: max(1, len(q) // POINTS)]])
    everything = np.vstack([*skeletons, path])
    turn, tilt = VIEW
    side = np.array([np.cos(turn), np.sin(turn), 0.0])
    up = np.array([np.sin(tilt) * np.sin(turn), -np.sin(tilt) * np.cos(turn), np.cos(tilt)])
    flat = everything @ np.array([side, up]).T
    low, high = flat.min(axis=0), flat.max(axis=0)
    scale = 0.94 * SIZE / max(float((high - low).max()), 1e-3)

    def line(points: Array, style: str) -> str:
        at = (points @ np.array([side, up]).T - (low + high) / 2) * scale
        shown = " ".join(f"{SIZE / 2 + x:.1f},{SIZE / 2 - y:.1f}" for x, y in at)
        return f'<polyline points="{shown}" fill="none" {style}/>'

    drawn = [
        line(points, 'stroke="currentColor" stroke-opacity="0.25" stroke-width="2"') for points in skeletons
    ]
    drawn.append(line(path, 'stroke="#c2571a" stroke-width="1.5"'))
    return section(
        "arm",
        "The arm along its path",
        f'<svg viewBox="0 0 {SIZE} {SIZE}" width="100%" style="max-width:40rem" role="img" '
        f'aria-label="The arm in {POSES} postures along its path, and the way of its flange">{"".join(drawn)}</svg>',
    )


def _flange_link(made: Design) -> int:
    """The number of the link that the flange is on, else the last."""
    robot = made.request.robot
    return len(robot.tree) - 1 if robot.flange is None else robot.links.index(robot.frames[robot.flange][0])


def _tip(made: Design, poses: Array) -> Array:
    robot = made.request.robot
    if robot.flange is None:
        return np.asarray(poses[-1, :3, 3])
    return np.asarray((poses[_flange_link(made)] @ robot.frames[robot.flange][1])[:3, 3])
