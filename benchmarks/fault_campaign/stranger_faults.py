"""Strangers and careless colleagues: garbage on the channels, commands that are none of theirs, a second session."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import can
import numpy as np
import zmq

from fault_campaign.cell import Cell
from fault_campaign.isolation import Child, start
from fault_campaign.motion import Setup, emulated, simulated
from fault_campaign.trial import Evidence, Expected, Fault, Trial
from heft.daq.bus.control import ControlClient
from heft.daq.bus.setpoint_codec import encode
from heft.daq.errors import BusError
from heft.drivers.errors import HeftError
from heft.drivers.setpoints import Setpoints

__all__ = ["FAULTS"]

GOES_ON = Expected((0,))
_FOR_S = 0.8  # a stranger goes on for so long

Act = Callable[[Trial, dict[str, str]], str | None]


def _channels(setup: Setup) -> dict[str, str]:
    """The endpoints of the running session, as it announces them."""
    for path in (setup.trial.folder / "run").rglob("session.json"):
        with suppress(OSError, json.JSONDecodeError):
            entry = json.loads(path.read_text(encoding="utf-8"))
            return dict(entry.get("endpoints", entry))
    raise RuntimeError("no session is announced")


def _trial(act: Act, expected: Expected = GOES_ON) -> Callable[[Trial], Evidence]:
    """A simulated session in real time; in the middle of its motion a stranger acts on its channels."""

    def run(trial: Trial) -> Evidence:
        setup = simulated(trial, seconds=2.0)
        child = setup.start(speed="1")
        moving = child.wait_for("excitation")
        time.sleep(float(trial.rng.uniform(0.3, 0.8)))
        misses = [] if moving else ["it never moved"]
        wrong = act(trial, _channels(setup)) if moving else None
        misses += [wrong] if wrong else []
        return setup.evidence(child, expected, misses=tuple(misses))

    return run


def _garbage(channel: str, most: int) -> Act:
    """Messages of any size and shape on one channel."""

    def act(trial: Trial, channels: dict[str, str]) -> None:
        with zmq.Context() as context, context.socket(zmq.DEALER) as stranger:
            stranger.linger = 0
            stranger.connect(channels[channel])
            until = time.monotonic() + _FOR_S
            while time.monotonic() < until:
                size = int(trial.rng.integers(0, most))
                parts = [trial.rng.bytes(size // 3 + 1) for _ in range(int(trial.rng.integers(1, 5)))]
                with suppress(zmq.Again):
                    stranger.send_multipart(parts, zmq.NOBLOCK)
                time.sleep(0.002)

    return act


def _stalled_observer(trial: Trial, channels: dict[str, str]) -> None:
    """Subscribes to everything and reads nothing."""
    with zmq.Context() as context, context.socket(zmq.SUB) as observer:
        observer.linger = 0
        observer.subscribe(b"")
        observer.connect(channels["telemetry"])
        time.sleep(_FOR_S)


def _setpoints(make: Callable[[Trial], Setpoints]) -> Act:
    """Somebody of the same user plays setpoints of his own: they are refused, and not one of them is played."""

    def act(trial: Trial, channels: dict[str, str]) -> str | None:
        payload, buffers = encode(make(trial))

        async def ask() -> str | None:
            async with ControlClient(channels["control"]) as control:
                try:
                    await control.request("play", payload, buffers)
                except (BusError, HeftError):
                    return None
                return "setpoints of a stranger were accepted"

        return asyncio.run(ask())

    return act


def _chunk(trial: Trial, position: Any) -> Setpoints:
    count = 50
    t = time.monotonic_ns() + 200_000_000 + np.arange(count, dtype=np.int64) * 1_000_000
    q = np.broadcast_to(np.asarray(position, float), (count, 7)).copy()
    return Setpoints(0, t, q, np.zeros((count, 7)), np.zeros((count, 7)), last=False)


def _nan(trial: Trial) -> Setpoints:
    return _chunk(trial, np.full(7, np.nan))


def _jump(trial: Trial) -> Setpoints:
    return _chunk(trial, trial.rng.uniform(-2.0, 2.0, 7))


def _second_out(trial: Trial) -> Evidence:
    """A second run with the same --out is refused and takes nothing from the first."""
    setup = simulated(trial, seconds=1.5)
    child = setup.start(speed="1", identify=bool(trial.seed % 2))
    child.wait_for("excitation")
    second = start(
        trial.folder, "run", str(setup.write()), "--out", str(setup.out), "--speed", "max", "--json"
    )
    code = second.finish()
    misses = () if code == 2 else (f"the second run with the same --out ended with {code}",)
    return setup.evidence(child, Expected((0, 1)), misses=misses)


def _on_the_same_devices(
    command: Callable[[Setup], Child], codes: tuple[int, ...]
) -> Callable[[Trial], Evidence]:
    """Somebody opens the devices of a running session a second time: he is told, the arm goes on."""

    def run(trial: Trial) -> Evidence:
        setup = emulated(trial, "cia402", seconds=3.0)
        with Cell(setup) as cell:
            child = setup.start("--arm", "wam7", speed="1")
            child.wait_for("excitation")
            time.sleep(float(trial.rng.uniform(0.3, 1.0)))
            second = command(setup)
            code = second.finish()
            misses = () if code in codes else (f"the second one ended with {code}: {second.err[-200:]}",)
            return replace(setup.evidence(child, GOES_ON, misses=misses), plant=cell.plant())

    return run


def _probe(setup: Setup) -> Child:
    return start(setup.trial.folder, "devices", "probe", str(setup.trial.folder / "rig.yaml"))


def _session(setup: Setup) -> Child:
    out = str(setup.trial.folder / "second")
    return start(
        setup.trial.folder,
        "run",
        str(setup.trial.folder / "session.yaml"),
        "--out",
        out,
        "--arm",
        "wam7",
        "--unrehearsed",
        "--json",
    )


def _foreign_frames(trial: Trial) -> Evidence:
    """Another node chatters on the bus: frames that are nobody's, as fast as a bus carries them."""
    setup = emulated(trial, "cia402", seconds=3.0)
    with Cell(setup) as cell:
        arm = setup.rig["devices"]["arm"]
        child = setup.start("--arm", "wam7", speed="1")
        child.wait_for("excitation")
        options = {key: arm[key] for key in ("channel",) if key in arm}
        options |= {"port": arm["multicast_port"]} if "multicast_port" in arm else {}
        with can.Bus(interface="udp_multicast", hop_limit=0, **options) as bus:
            until = time.monotonic() + 1.5
            while time.monotonic() < until:
                number = int(trial.rng.integers(0x6A0, 0x700))
                bus.send(can.Message(arbitration_id=number, data=trial.rng.bytes(8), is_extended_id=False))
                time.sleep(0.0005)
        return replace(setup.evidence(child, GOES_ON), plant=cell.plant())


FAULTS = (
    Fault("garbage on control", "stranger", _trial(_garbage("control", 100_000)), real_time=True),
    Fault("garbage on telemetry", "stranger", _trial(_garbage("telemetry", 100_000)), real_time=True),
    Fault("an observer that stalls", "stranger", _trial(_stalled_observer), real_time=True),
    Fault(
        "setpoints that are no numbers",
        "stranger",
        _trial(_setpoints(_nan), Expected((0, 3, 4))),
        real_time=True,
    ),
    Fault("setpoints that jump", "stranger", _trial(_setpoints(_jump), Expected((0, 3, 4))), real_time=True),
    Fault("the same --out twice", "stranger", _second_out, real_time=True),
    Fault("a second session on the rig", "stranger", _on_the_same_devices(_session, (2, 4)), real_time=True),
    Fault("a probe of a moving rig", "stranger", _on_the_same_devices(_probe, (2, 4)), real_time=True),
    Fault("foreign frames on the bus", "stranger", _foreign_frames, real_time=True),
)
