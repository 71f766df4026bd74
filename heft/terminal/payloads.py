"""Pick-ups as text for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import floor, log10
from typing import Any

from rich.console import Console

__all__ = ["com_text", "describe_payload", "describe_payloads", "mass_text", "recognised_text"]

_ENDED = {
    "carried": "still held",
    "released": "released",
    "dropped": "dropped: the weight went while the fingers held",
    "slipped": "slipped: it moved between the fingers",
    "unfinished": "still held when the data ended",
}


def describe_payloads(report: Mapping[str, Any], console: Console) -> None:
    """A paragraph per pick-up, with half-widths of 95 % intervals, then what is to be noted."""
    for facts in sorted([*report["payloads"], *report["nothing"]], key=lambda facts: facts["t_signal"]):
        for line in _paragraph(facts):
            console.print(line, markup=False)
    for note in report["notes"]:
        console.print(note, markup=False)


def describe_payload(facts: Mapping[str, Any]) -> str:
    """One line while it is carried."""
    where = f"{facts['number']}: {facts['state']}"
    if "mass" not in facts:
        return f"{where}: no weight"
    line = f"{where}: {mass_text(facts)}, centre of mass {com_text(facts)}"
    found = facts.get("recognition")
    return line if found is None or found["name"] is None else f"{line}: {found['name']}"


def _paragraph(facts: Mapping[str, Any]) -> Iterator[str]:
    if facts["t_pick"] is None:
        yield f"{facts['number']}  {facts['t_signal']:.2f} s: closed on nothing, or no weight came"
        return
    yield f"{facts['number']}  picked up at {facts['t_pick']:.2f} s, {_ENDED[facts['state']]}"
    if "mass" in facts:
        yield f"   mass            {mass_text(facts)}"
        yield f"   centre of mass  {com_text(facts)} in the flange's frame"
        yield f"   moments         {_moments(facts)}"
        if "joint_torque" in facts:
            by_joints = facts["joint_torque"]
            yield f"   joint torques   {mass_text(by_joints)}, centre of mass {com_text(by_joints)}"
        if "recognition" in facts:
            yield f"   it is           {recognised_text(facts['recognition'])}"
        yield from _controllers(facts["controllers"])
    if facts["repeated_events"]:
        yield f"   note: its pick-up was told {facts['repeated_events'] + 1} times"
    for note in facts["notes"]:
        yield f"   note: {note}"


def _controllers(told: Mapping[str, Any]) -> Iterator[str]:
    """What each maker's controller is to be told, and what of the hand that means."""
    for key, name in (("ur", "UR"), ("kuka", "KUKA"), ("abb", "ABB"), ("fanuc", "Fanuc"), ("xarm", "xArm")):
        text = told[key] or "not told: it wants both, and the hand is not known"
        yield f"   {name:<7}({told['means'][key]})  {text}"
    load = told["franka"]
    numbers = ", ".join(str(load[part]) for part in ("load_mass", "F_x_Cload", "load_inertia"))
    yield f"   {'Franka':<7}({told['means']['franka']})  setLoad({numbers})"


def mass_text(facts: Mapping[str, Any]) -> str:
    """Mass with the half-width of its 95 % interval."""
    return f"{_value(facts['mass'], facts['std']['mass'])} kg"


def com_text(facts: Mapping[str, Any]) -> str:
    """Centre of mass likewise."""
    pairs = zip(facts["com"], facts["std"]["com"], strict=True)
    return ", ".join(_value(value, std, 1e3) for value, std in pairs) + " mm"


def _moments(facts: Mapping[str, Any]) -> str:
    pairs = list(zip(facts["principal"]["moments"], facts["principal"]["measured"], strict=True))
    if not any(measured for _, measured in pairs):
        return "not told by this motion (prior-dominated)"
    return ", ".join(f"{1e3 * value:.3g}" if measured else "?" for value, measured in pairs) + " g m2"


def recognised_text(found: Mapping[str, Any]) -> str:
    """Which known object it is."""
    best = found["candidates"][0]
    if found["verdict"] == "known":
        grasp = found["grasp"]
        held = "" if grasp is None or grasp["ok"] is not False else f"; {grasp['reason']}"
        return f"{found['name']} ({best['probability']:.0%}){held}"
    if found["verdict"] == "ambiguous":
        likely = ", ".join(
            f"{one['name']} ({one['probability']:.0%})"
            for one in found["candidates"]
            if one["probability"] > 0.01
        )
        return f"one of {likely}"
    return str(found["verdict"])


def _value(value: float, std: float | None, scale: float = 1.0) -> str:
    """A value with the half-width of its 95 % interval, to two digits of it; `?` where the motion has not told it."""
    if std is None:
        return "?"
    half = 1.96 * scale * std
    digits = min(max(1 - floor(log10(half)), 0), 6) if half > 0 else 6
    return f"{scale * value:.{digits}f} ± {half:.{digits}f}"
