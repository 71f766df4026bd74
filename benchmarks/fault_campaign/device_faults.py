"""Devices that fail, on the simulated rig: everything else is the real program, as fast as it can."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fault_campaign.motion import simulated
from fault_campaign.trial import Evidence, Expected, Fault, Trial

__all__ = ["FAULTS"]

SENSORS = ("wrist", "encoders", "gripper")
DEVICES = (*SENSORS, "arm")
JOINTS = tuple(f"joint{i}" for i in range(1, 8))
GOES_ON = Expected((0,))

Draw = Callable[[Trial, float], tuple[list[dict[str, Any]], Expected]]


def _stops(device: str, code: int = 4, says: str = "", *, drive_failed: bool = False) -> Expected:
    """The motion is stopped in time, and the device named."""
    return Expected((code,), says or rf"{device}: ", decides=True, drive_failed=drive_failed)


def _trial(draw: Draw, *, brakes: bool = True) -> Callable[[Trial], Evidence]:
    """A session with the faults that `draw` gives for an instant in the middle of the motion [s]."""

    def run(trial: Trial) -> Evidence:
        setup = simulated(trial)
        at_s = round(float(trial.rng.uniform(1.3, 3.0)), 3)
        setup.rig["simulation"]["faults"], expected = draw(trial, at_s)
        setup.rig["devices"]["arm"]["brake"] = brakes
        expected = replace(expected, holds=not brakes)
        return setup.evidence(setup.start(), expected, at_s=at_s)

    return run


def _lossy(kind: str, devices: tuple[str, ...] = DEVICES) -> Draw:
    def draw(trial: Trial, at_s: float) -> tuple[list[dict[str, Any]], Expected]:
        rate = float(trial.choice(0.005, 0.02, 0.08))
        more = (
            {"length": float(trial.choice(2, 5, 10))} if kind == "burst" else {}
        )  # on average, of 100 bearable
        return [{"kind": kind, "device": trial.choice(*devices), "rate": rate, **more}], GOES_ON

    return draw


def _all_lossy(trial: Trial, at_s: float) -> tuple[list[dict[str, Any]], Expected]:
    kinds = ("drop", "corrupt", "duplicate")
    return [{"kind": trial.choice(*kinds), "device": device, "rate": 0.03} for device in DEVICES], GOES_ON


def _brief(kind: str, devices: tuple[str, ...] = DEVICES) -> Draw:
    def draw(trial: Trial, at_s: float) -> tuple[list[dict[str, Any]], Expected]:
        duration_s = float(trial.choice(0.01, 0.03, 0.05))
        fault = {"kind": kind, "device": trial.choice(*devices), "at_s": at_s, "duration_s": duration_s}
        return [fault], GOES_ON

    return draw


def _for_good(kind: str, devices: tuple[str, ...], **more: Any) -> Draw:
    def draw(trial: Trial, at_s: float) -> tuple[list[dict[str, Any]], Expected]:
        device = trial.choice(*devices)
        return [{"kind": kind, "device": device, "at_s": at_s, **more}], _stops(device)

    return draw


def _late(trial: Trial, at_s: float) -> tuple[list[dict[str, Any]], Expected]:
    delay_s = float(trial.choice(0.01, 0.03, 0.05))
    return [{"kind": "late", "device": trial.choice(*SENSORS), "at_s": at_s, "delay_s": delay_s}], GOES_ON


def _saturate(trial: Trial, at_s: float) -> tuple[list[dict[str, Any]], Expected]:
    column = int(trial.rng.integers(6))
    fault = {"kind": "saturate", "device": "wrist", "column": column, "at_s": at_s}
    return [fault], _stops("wrist", 3, r"wrist\.wrench: .* is saturated")


def _drive_fault(trial: Trial, at_s: float) -> tuple[list[dict[str, Any]], Expected]:
    joint = trial.choice(*JOINTS)
    fault = {"kind": "drive_fault", "device": "arm", "joint": joint, "at_s": at_s}
    return [fault], _stops("arm", 4, rf"arm: drive fault on {joint}", drive_failed=True)


def _two_at_once(trial: Trial, at_s: float) -> tuple[list[dict[str, Any]], Expected]:
    first, second = trial.rng.permutation(SENSORS)[:2]
    later_s = round(at_s + float(trial.rng.uniform(0.0, 0.05)), 3)
    faults = [{"kind": "silence", "device": str(first), "at_s": at_s}]
    faults += [{"kind": "silence", "device": str(second), "at_s": later_s}]
    return faults, _stops(f"({first}|{second})")


def _fault_while_stopping(trial: Trial, at_s: float) -> tuple[list[dict[str, Any]], Expected]:
    """A sensor falls silent; while the arm brakes, another one does too."""
    first, second = trial.rng.permutation(SENSORS)[:2]
    faults = [{"kind": "silence", "device": str(first), "at_s": at_s}]
    faults += [{"kind": "silence", "device": str(second), "at_s": round(at_s + 0.12, 3)}]
    return faults, _stops(str(first))


def _drives_hold(trial: Trial, at_s: float) -> tuple[list[dict[str, Any]], Expected]:
    """Drives without a brake that hear nothing stop and hold: that may show before their silence does."""
    fault = {"kind": "silence", "device": "arm", "at_s": at_s}
    return [fault], Expected((3, 4), r"arm: |away from its setpoint", decides=True)


def _never_speaks(trial: Trial, at_s: float) -> tuple[list[dict[str, Any]], Expected]:
    device = trial.choice(*DEVICES)
    return [{"kind": "silence", "device": device}], Expected((4,), rf"{device}: silent")


def _fault_at_start(trial: Trial, at_s: float) -> tuple[list[dict[str, Any]], Expected]:
    joint = trial.choice(*JOINTS)
    fault = {"kind": "drive_fault", "device": "arm", "joint": joint}
    return [fault], Expected((4,), rf"arm: drive fault on {joint}", drive_failed=True)


_DRAWS: dict[str, Draw] = {
    "single samples lost": _lossy("drop"),
    "samples lost in bursts": _lossy("burst", ("wrist", "encoders")),
    "frames corrupted": _lossy("corrupt"),
    "frames twice": _lossy("duplicate"),
    "every device lossy": _all_lossy,
    "a moment's silence": _brief("silence"),
    "a counter stuck for a moment": _brief("stuck"),
    "frames late": _late,
    "a sensor falls silent": _for_good("silence", SENSORS),
    "the drives fall silent": _for_good("silence", ("arm",)),
    "two sensors fall silent": _two_at_once,
    "another fault while stopping": _fault_while_stopping,
    "only corrupt frames": _for_good("corrupt", DEVICES, rate=1.0),
    "a counter stuck for good": _for_good("stuck", DEVICES),
    "frames far too late": _for_good("late", SENSORS, delay_s=0.4),
    "a sensor overloaded": _saturate,
    "a drive fault": _drive_fault,
    "a device that never speaks": _never_speaks,
    "a drive in fault from the start": _fault_at_start,
}

#: Drawn for drives without a brake, too: what is switched off falls.
_HELD: dict[str, Draw] = {
    "no brakes: all devices lossy": _all_lossy,
    "no brakes: a silent sensor": _for_good("silence", SENSORS),
    "no brakes: silent drives": _drives_hold,
    "no brakes: two faults": _fault_while_stopping,
    "no brakes: a stuck counter": _for_good("stuck", SENSORS),
    "no brakes: an overloaded sensor": _saturate,
}

FAULTS = (
    *(Fault(name, "device", _trial(draw)) for name, draw in _DRAWS.items()),
    *(Fault(name, "device", _trial(draw, brakes=False)) for name, draw in _HELD.items()),
)
