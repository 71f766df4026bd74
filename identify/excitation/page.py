"""One HTML page about a design: its curves against their limits, torques, clearance, the arm along its path, and what
the motion will tell."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.parameters import unit_of
from heft.identify.excitation.arm_path import arm_section
from heft.identify.excitation.criterion import CRITERIA
from heft.identify.excitation.design import Design
from heft.identify.result.report.markup import definitions, section, table, text
from heft.identify.result.report.numbers import plain
from heft.identify.result.report.plot import AxisRange, Line, envelope, plot

__all__ = ["design_page"]

POINTS = 400
TARGETS = {"links": "the arm", "payload": "what the hand holds"}
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def design_page(made: Design) -> str:
    """The page as text; needs no script and nothing from outside. Equal designs give equal pages."""
    css = files("heft.identify.result.report").joinpath("assets", "report.css").read_text(encoding="utf-8")
    name = made.request.config.name
    parts = [
        _summary(made),
        arm_section(made),
        _curves(made),
        _torques(made),
        _clearance(made),
        _balance(made),
        _told(made),
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
    names, std = made.telling.names, made.telling.std
    hardest = int(np.nanargmax(made.telling.relative))
    items = [
        (
            "condition number",
            f"{plain(made.condition_number, 3)}; random motion: {plain(made.before.condition_number, 3)}",
        ),
        ("limited by", made.telling.weakest.why(made.condition_number)),
        ("criterion", CRITERIA[request.criterion].says),
        ("to be identified", TARGETS[request.target]),
        ("lasts", f"{request.seconds:g} s"),
        (
            "hardest to tell",
            f"{names[hardest]}: \u00b1 {plain(float(std[hardest]), 3)} {_unit(names[hardest])} expected",
        ),
        (
            "beside random",
            f"deviations are {plain(float(np.median(std / made.before.std)), 2)} times those of a random motion of the "
            "same duration (median)",
        ),
        (
            "closest limit",
            f"{worst.quantity} of {worst.joint}: {100 * worst.share:.1f} % of {plain(worst.bound, 4)} "
            f"{_units(made, request.limits.axes.index(worst.joint))[worst.quantity]}",
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
        (name, plain(before, 3), plain(after, 3), _unit(name), plain(before / after, 3))
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
            ("parameter", "before", "after", "unit", "times better"),
            told,
            caption="Expected standard deviations",
            numeric=(1, 2, 4),
        ),
        "</div>",
    )


def _unit(name: str) -> str:
    """Of a combination: that of the parameter it is named after."""
    return unit_of(name.split()[0])


def _units(made: Design, joint: int) -> dict[str, str]:
    """Of a joint's position, velocity, acceleration and torque."""
    far, effort = ("m", "N") if made.request.robot.tree.prismatic[joint] else ("rad", "N\u00b7m")
    return {"position": far, "velocity": f"{far}/s", "acceleration": f"{far}/s\u00b2", "torque": effort}


def _drawn(made: Design, values: Array, bounds: tuple[float, float], unit: str, label: str) -> str:
    t = made.time
    end = float(t[-1])
    edges = np.array([0.0, end])
    lines = [Line("model", *envelope(t, values, POINTS))]
    lines += [Line("bound", edges, np.full(2, bound)) for bound in bounds if np.isfinite(bound)]
    scale = AxisRange.around(*(line.y for line in lines))
    return (
        f'<figure class="card"><figcaption><b>{text(label)}</b><span>{text(unit)}</span></figcaption>'
        f"{plot(lines, end, scale, label=label, unit=unit, kind='lags')}</figure>"
    )


def _cards(parts: Iterable[str]) -> str:
    columns = "grid-template-columns:repeat(auto-fit,minmax(14rem,1fr))"
    return f'<div class="cards wide" style="{columns}">{"".join(parts)}</div>'


def _curves(made: Design) -> str:
    limits = made.request.bounds
    q, dq, ddq = made.motion
    parts = []
    for k, name in enumerate(limits.axes):
        if k in made.request.held:
            continue
        v, a = float(limits.velocity[k]), float(limits.acceleration[k])
        ends = (float(limits.lower[k]), float(limits.upper[k]))
        kinds = (("position", q, ends), ("velocity", dq, (-v, v)), ("acceleration", ddq, (-a, a)))
        units = _units(made, k)
        parts.append(f"<h3>{text(name)}</h3>")
        parts.append(
            _cards(_drawn(made, values[:, k], ends, units[kind], kind) for kind, values, ends in kinds)
        )
    return section("curves", "Joints against their limits", *parts)


def _torques(made: Design) -> str:
    if made.torque is None:
        return section("torques", "Torques", "<p>Not known: the robot's file says nothing of masses.</p>")
    bounds = [joint.torque for joint in made.request.config.joints.values()]
    parts = [
        _drawn(made, made.torque[:, k], (-bounds[k], bounds[k]), _units(made, k)["torque"], name)
        for k, name in enumerate(made.request.limits.axes)
        if k not in made.request.held
    ]
    return section("torques", "Torques by the robot's file", _cards(parts))


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
