"""What was expected of a trial against what came of it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fault_campaign.trial import Evidence
from heft.daq.errors import RecordingError
from heft.daq.recording import Columns, Recording
from heft.drivers.stream import Role

__all__ = ["DECISION_S", "Judgement", "judge"]

DECISION_S = 0.15  # from the fault to the decision to stop
RECOVERED_S = 1.0  # what a killed program may lose
_REST = 0.03  # [rad/s]
_SETTLE_S = (
    0.35  # for the servo's lag, and for the samples that show rest, on top of what the deceleration needs
)
_VELOCITY = 1.02  # of the limit: the servo follows its setpoints with that much overshoot
_SKEW = 0.01  # of a rate, that a device's clock may be off
_ENDS_S = 0.5  # by which a stream may end before the last one does: what was on its way, or silence within its bound
_POSITION = 2e-3  # [rad]
_SAGGED = 0.02  # [rad], of an arm that is held
_STOPPED = 0.05  # [rad/s]; an axis that is slower does not move when its drive goes off


@dataclass(frozen=True)
class Judgement:
    """`misses` is empty where all was right. Times in seconds, None where there was nothing to measure."""

    misses: tuple[str, ...]
    decision_s: float | None = None
    rest_s: float | None = None
    lost: int = 0
    unaccounted: int = 0


def judge(evidence: Evidence) -> Judgement:
    """Look at everything that one trial has shown."""
    expected, misses = evidence.expected, list(evidence.misses)
    if evidence.code not in expected.codes:
        last = evidence.err.strip().splitlines()[-1:] or [""]
        misses.append(f"exit code {evidence.code}, not {expected.codes}: {last[0][:160]}")
    if "Traceback (most recent call last)" in evidence.err or "internal error" in evidence.err:
        misses.append("traceback")
    misses += [f"left behind: {what}" for what in evidence.leftovers]
    report = _report(evidence, misses)
    told = evidence.err + str(report.get("reason", ""))
    if expected.says and not re.search(expected.says, told):
        misses.append(f"does not say {expected.says!r}: {str(report.get('reason') or told[-160:])[:160]}")
    lost = unaccounted = 0
    decision_s = rest_s = None
    if evidence.recording is not None:
        try:
            recording = Recording.open(evidence.recording)
        except RecordingError as exc:
            misses.append(f"recording: {exc}")
        else:
            lost, unaccounted = _account(evidence, recording, report, misses)
            decision_s, rest_s = _stop(evidence, recording, misses)
            if expected.holds:
                _held(evidence, recording, misses)
            if expected.killed:
                _recovered(evidence, recording, misses)
    elif expected.moves:
        misses.append("no recording")
    _limits(evidence, misses)
    return Judgement(tuple(misses), decision_s, rest_s, lost, unaccounted)


def _report(evidence: Evidence, misses: list[str]) -> dict[str, Any]:
    """The JSON object on standard output, where there must be one."""
    if evidence.expected.killed or not evidence.expected.moves:
        return {}
    try:
        report: dict[str, Any] = json.loads(evidence.out)
        return report
    except json.JSONDecodeError:
        misses.append(f"no JSON object: {evidence.out[:80]!r}")
        return {}


def _account(
    evidence: Evidence, recording: Recording, report: dict[str, Any], misses: list[str]
) -> tuple[int, int]:
    """Lost samples, and those that nobody has accounted for: the program's word against the file and the clock."""
    lost = unaccounted = 0
    every = {
        name: recording.columns(name) for name, one in recording.streams.items() if one.role is Role.MEASURED
    }
    end_ns = max((int(columns.host_ns[-1]) for columns in every.values() if len(columns)), default=0)
    for name in recording.streams:
        columns = every[name] if name in every else recording.columns(name)
        gaps = sum(count for _, count in columns.gaps)
        said = report.get("streams", {}).get(name)
        if said is None:
            continue
        lost += said["lost"] + said["received"] - said["recorded"]
        unaccounted += abs(said["recorded"] - len(columns)) if recording.recovery.complete else 0
        unaccounted += max(0, gaps - said["lost"])
        failed = evidence.expected.drive_failed and name.startswith(
            "arm."
        )  # told; nothing is asked of it any more
        if name in every and len(columns) and not failed:
            unaccounted += _never_told(columns, end_ns, said["received"] + said["lost"])
    if report and report["lost"] != lost:
        misses.append(f"lost {report['lost']} in all, {lost} by stream")
    if unaccounted:
        misses.append(f"{unaccounted} samples unaccounted for")
    return lost, unaccounted


def _never_told(columns: Columns, end_ns: int, told: int) -> int:
    """Samples, by the rate, between a stream's first and the end of all: those told neither as received nor as lost."""
    seconds, rate_hz = (end_ns - int(columns.host_ns[0])) * 1e-9, columns.stream.rate_hz
    missing = seconds * rate_hz - told
    return max(0, int(missing - (_SKEW * seconds + _ENDS_S) * rate_hz))


def _stop(evidence: Evidence, recording: Recording, misses: list[str]) -> tuple[float | None, float | None]:
    """From the fault to the decision, and from there to rest, by the plant itself; drives go off at rest."""
    stopping = [e.t_ns for e in recording.events if e.facts.get("state") == "stopping"]
    plant = evidence.plant
    if not stopping or plant is None:
        if evidence.expected.decides and not evidence.expected.killed:
            misses.append("never stopped")
        return None, None
    decision_s = rest_s = None
    if evidence.expected.decides and evidence.fault_ns is not None:
        decision_s = (stopping[0] - evidence.fault_ns) * 1e-9
        if not -0.02 <= decision_s <= DECISION_S:
            misses.append(f"decided after {decision_s:.3f} s")
    speed = np.abs(plant.v)
    after = plant.t_ns >= stopping[0]
    if after.any():
        moving = np.flatnonzero(after & (speed > _REST).any(axis=1))
        rest_s = (plant.t_ns[moving[-1]] - stopping[0]) * 1e-9 if len(moving) else 0.0
        assert evidence.deceleration is not None
        first = int(np.flatnonzero(after)[0])
        need = float(np.max(1.5 * speed[first] / evidence.deceleration)) + _SETTLE_S
        if rest_s > need and not evidence.expected.drive_failed:
            misses.append(f"at rest after {rest_s:.2f} s, the deceleration needs {need:.2f} s")
    for event in recording.events:
        if event.name in ("drives_off", "hold") and not evidence.expected.drive_failed:
            v = _at(plant.t_ns, speed, event.t_ns)
            if v > _STOPPED:
                misses.append(f"{event.name} at {v:.2f} rad/s")
    return decision_s, rest_s


def _held(evidence: Evidence, recording: Recording, misses: list[str]) -> None:
    """Of an arm without brakes: its drives were left on, and it stays where it came to rest."""
    said = {event.name for event in recording.events}
    if "drives_off" in said or "drives_holding" not in said:
        misses.append("drives without a brake were not left on")
    plant = evidence.plant
    if plant is None or not len(plant.t_ns):
        misses.append("nobody saw what the arm did")
        return
    rest_ns = min(
        event.t_ns for event in recording.events if event.name in ("drives_off", "drives_holding", "hold")
    )
    after = plant.t_ns >= rest_ns
    if after.any() and float(np.abs(plant.q[-1] - plant.q[after][0]).max()) > _SAGGED:
        misses.append("the arm fell after it had come to rest")


def _at(t_ns: NDArray[np.int64], speed: NDArray[np.float64], when_ns: int) -> float:
    """The fastest joint at an instant [rad/s]."""
    return float(speed[min(int(np.searchsorted(t_ns, when_ns)), len(t_ns) - 1)].max()) if len(t_ns) else 0.0


def _recovered(evidence: Evidence, recording: Recording, misses: list[str]) -> None:
    """Of a killed program: no gap in what is there, and it reaches to a second before the end."""
    assert evidence.fault_ns is not None
    for name in recording.streams:
        columns = recording.columns(name)
        if not len(columns) or name.endswith(".sent"):
            continue
        missing_s = (evidence.fault_ns - columns.host_ns[-1]) * 1e-9
        if missing_s > RECOVERED_S:
            misses.append(f"{name} ends {missing_s:.2f} s before the end")


def _limits(evidence: Evidence, misses: list[str]) -> None:
    """No joint beyond its limits, whatever happened."""
    plant = evidence.plant
    if plant is None or evidence.low is None or evidence.high is None or evidence.speed is None:
        return
    beyond = np.maximum(evidence.low - plant.q, plant.q - evidence.high).max(axis=0)
    for joint in np.flatnonzero(beyond > _POSITION):
        misses.append(f"joint{joint + 1} {beyond[joint] * 1e3:.0f} mrad beyond its limit")
    fastest = np.abs(plant.v).max(axis=0)
    for joint in np.flatnonzero(fastest > _VELOCITY * evidence.speed):
        misses.append(f"joint{joint + 1} at {fastest[joint]:.2f} rad/s, limit {evidence.speed[joint]:g}")
