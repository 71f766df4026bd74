"""Trouble on the wire in mid-motion: whatever drives the arm, it stops in time, and the reason names the device.

Each rig is an emulated one, with its real drivers; `tests/drivers/devices/can/test_motion.py` has every fault of every
drive, bus-off among them, without a session. Times are those of the recording. A fault counts from the moment it
is injected, which is when the arm moves; the slack allows for a host that other tests keep busy.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from heft.daq.bus.runtime import private_endpoints
from heft.daq.clock import RealClock
from heft.daq.config.session import load_session
from heft.daq.config.shipped import CONFIGS
from heft.daq.motion.state import State
from heft.daq.priority import ahead_of_others
from heft.daq.recording import Recording
from heft.daq.session.session import Session
from heft.daq.session.sink import Sink
from heft.drivers.block import Block
from heft.drivers.plant.faults import DriveFault, Fault, Silence

pytestmark = [pytest.mark.slow, pytest.mark.alone]

SLACK_S = 1.0  # the motion would go on for three seconds more
TO = [0.5, -0.9, 0.4, 1.4, -1.4, 0.4, 0.4]


def rig(kind: str) -> dict[str, Any]:
    """The emulated rig with drives of this kind, slowed down."""
    name = {
        "cia402": "emulated_wam7",
        "odrive_can": "emulated_odrive_bota",
        "mit_can": "emulated_mit_ft300",
        "moteus": "emulated_wam7",
        "dynamixel": "emulated_dynamixel",
    }
    content: dict[str, Any] = yaml.safe_load(
        (CONFIGS / f"rigs/{name[kind]}.yaml").read_text(encoding="utf-8")
    )
    content["robot"] = str(CONFIGS / "robots/wam7.yaml")
    content["simulation"]["step_s"] = 0.004
    content.pop("mqtt", None)
    for part in (content["devices"], content["emulation"]["devices"]):
        part.pop("gripper", None)
    arm = content["devices"]["arm"]
    emulated = content["emulation"]["devices"]["arm"]
    emulated["servo_hz"] = 250
    if kind == "moteus":
        axes = {f"joint{i}": {"number": i, "deceleration": 10} for i in range(1, 8)}
        content["devices"]["arm"] = arm = {"kind": "moteus", "axes": axes, "watchdog_s": 0.5}
        content["emulation"]["devices"]["arm"] = {
            "servo_hz": 250,
            "bandwidth_hz": emulated["bandwidth_hz"],
        }
    arm |= {"timeout_s": 0.3, "rate_hz": 125 if kind == "odrive_can" else 100}
    if kind in ("odrive_can", "dynamixel"):
        arm["catch_up"] = 10  # their filter, or their position loop, bridges what a busy machine leaves out
    return content


class Saboteur(Sink):
    """Injects a fault as soon as the setpoints move."""

    def __init__(self, make: Callable[[float], Fault]) -> None:
        self._make = make
        self.session: Session | None = None
        self.at_ns = 0

    def block(self, block: Block) -> None:
        if self.at_ns or block.stream.name != "arm.played" or self.session is None:
            return
        if np.abs(block.si[:, 7:14]).max() > 0.1:
            cell = self.session.rig.cell
            assert cell is not None
            self.at_ns = int(block.host_ns[-1])
            cell.inject(self._make((self.at_ns - cell.start_ns) * 1e-9))


FAULTS: dict[str, tuple[Callable[[float], Fault], str, float]] = {
    # What happens, what the reason says, and within which time [s] it must be noticed by configuration.
    "drive fault": (lambda t: DriveFault(device="arm", joint="joint4", at_s=t), r"arm: .*joint4", 0.1),
    "silent bus": (lambda t: Silence(device="arm", at_s=t), r"arm: .*silent", 0.5),
    "silent sensor": (lambda t: Silence(device="wrist", at_s=t), r"wrist: .*silent", 0.5),
}


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("cia402", "silent sensor"),  # ATI
        ("odrive_can", "silent sensor"),  # Bota
        ("mit_can", "silent bus"),
        ("moteus", "drive fault"),
        ("dynamixel", "silent bus"),
        ("dynamixel", "drive fault"),
    ],
)
async def test_motion_stops_and_the_device_is_named(kind: str, what: str, tmp_path: Path) -> None:
    watch = {"stream_age_s": 0.5, "tracking_error": 0.4, "velocity_margin": 2.0}
    steps = [{"name": "reach", "move": {"to": TO, "fraction": 0.1}}]
    content = {"name": "short", "rig": "rig.yaml", "rate_hz": 200, "watch": watch, "steps": steps}
    for name, part in (("rig", rig(kind)), ("session", content)):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(part), encoding="utf-8")
    make, says, within_s = FAULTS[what]
    saboteur = Saboteur(make)
    with private_endpoints() as endpoints, ahead_of_others():
        session = Session(
            load_session(tmp_path / "session.yaml"),
            clock=RealClock(),
            out=tmp_path / "out",
            endpoints=endpoints,
            sinks=[saboteur],
        )
        saboteur.session = session
        session.rig.cell.log_to = tmp_path / "plant.npz"
        outcome = await session.run()
    assert saboteur.at_ns, f"it never moved: {outcome.reason}"
    assert outcome.state is State.FAILED
    assert re.match(says, outcome.reason), outcome.reason
    recording = Recording.open(outcome.file)
    (stopping,) = [e for e in recording.events if e.facts.get("state") == "stopping"]
    assert (stopping.t_ns - saboteur.at_ns) * 1e-9 < within_s + SLACK_S
    with np.load(tmp_path / "plant.npz") as plant:
        assert np.abs(plant["v"][-1]).max() < 0.01, "the arm still moves"
        assert np.abs(plant["q"][-1] - np.array(TO)).max() > 0.05, "it went all the way"
