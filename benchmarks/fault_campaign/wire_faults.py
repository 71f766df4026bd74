"""Trouble on the wires of emulated rigs: real drivers of four kinds of drive and three sensors, in real time."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psutil

from fault_campaign.motion import emulated
from fault_campaign.trial import Evidence, Expected, Fault, Trial

__all__ = ["FAULTS"]

DRIVES = ("cia402", "odrive_can", "mit_can", "moteus")
JOINTS = tuple(f"joint{i}" for i in range(1, 8))
GOES_ON = Expected((0,))
FOR_A_WHILE_S = 1.2  # of motion after a fault that must not stop it

Draw = Callable[[Trial, str], tuple[dict[str, Any], Expected]]


def _stops(says: str, code: int = 4, *, drive_failed: bool = False) -> Expected:
    return Expected((code,), says, decides=True, drive_failed=drive_failed)


def _trial(draw: Draw) -> Callable[[Trial], Evidence]:
    def run(trial: Trial) -> Evidence:
        kind = DRIVES[trial.seed % len(DRIVES)]
        setup = emulated(trial, kind, seconds=3.0)
        fault, expected = draw(trial, kind)
        after_s = round(float(trial.rng.uniform(0.3, 1.5)), 3)
        return setup.evidence(setup.start(speed="1", faults=[fault], after_s=after_s), expected)

    return run


def _device(trial: Trial) -> str:
    return str(trial.choice("arm", "wrist"))


def _silent(device: str) -> Draw:
    return lambda trial, kind: ({"kind": "silence", "device": device}, _stops(rf"{device}: "))


def _lossy(wire_fault: str, *devices: str) -> Draw:
    def draw(trial: Trial, kind: str) -> tuple[dict[str, Any], Expected]:
        rate = float(trial.choice(0.002, 0.01))
        return {"kind": wire_fault, "device": trial.choice(*devices), "rate": rate}, GOES_ON

    return draw


def _late(trial: Trial, kind: str) -> tuple[dict[str, Any], Expected]:
    return {"kind": "late", "device": "wrist", "delay_s": float(trial.choice(0.01, 0.04))}, GOES_ON


def _brief(trial: Trial, kind: str) -> tuple[dict[str, Any], Expected]:
    return {"kind": "silence", "device": "wrist", "duration_s": float(trial.choice(0.02, 0.05))}, GOES_ON


def _drive_fault(trial: Trial, kind: str) -> tuple[dict[str, Any], Expected]:
    joint = trial.choice(*JOINTS)
    fault = {"kind": "drive_fault", "device": "arm", "joint": joint}
    return fault, _stops(rf"arm: .*{joint}", drive_failed=True)


def _bus_off(trial: Trial, kind: str) -> tuple[dict[str, Any], Expected]:
    return {"kind": "bus_off", "device": "arm"}, _stops(r"arm: .*bus", drive_failed=True)


def _saturated(trial: Trial, kind: str) -> tuple[dict[str, Any], Expected]:
    return {"kind": "saturate", "device": "wrist"}, _stops(r"wrist", 3)


def _flood(trial: Trial) -> Evidence:
    """Somebody throws datagrams at every UDP port of the program: forged frames, or the largest there are."""
    setup = emulated(trial, "cia402", seconds=3.0)
    child = setup.start(speed="1")
    size = int(trial.choice(36, 1400, 65_000))
    moving = child.wait_for("excitation")
    time.sleep(float(trial.rng.uniform(0.3, 1.0)))
    ended = threading.Event()

    def flood() -> None:
        with suppress(psutil.Error), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            ports = [c.laddr.port for c in psutil.Process(child.pid).net_connections("udp") if c.laddr]
            data = trial.rng.bytes(size)
            until = time.monotonic() + 1.5
            while ports and time.monotonic() < until and not ended.is_set():
                for port in ports:
                    with suppress(OSError):
                        stranger.sendto(data, ("127.0.0.1", port))

    thread = threading.Thread(target=flood)
    thread.start()
    try:
        misses = () if moving else ("it never moved",)
        return setup.evidence(child, Expected((0,)), misses=misses)
    finally:
        ended.set()
        thread.join()


_DRAWS: dict[str, Draw] = {
    "a silent bus": _silent("arm"),
    "a silent sensor line": _silent("wrist"),
    "frames lost on a wire": _lossy("drop", "arm", "wrist"),
    "frames cut short": _lossy("truncate", "wrist"),
    "frames garbled on a wire": _lossy("corrupt", "arm", "wrist"),
    "frames twice on a wire": _lossy("duplicate", "wrist"),
    "a slow line": _late,
    "a line that stutters": _brief,
    "a fault in one drive": _drive_fault,
    "bus-off": _bus_off,
    "an overloaded F/T sensor": _saturated,
}

FAULTS = (
    *(Fault(name, "wire", _trial(draw), real_time=True) for name, draw in _DRAWS.items()),
    Fault("a flood on the UDP ports", "stranger", _flood, real_time=True),
)
