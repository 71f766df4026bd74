"""Robots, rigs and sessions that a seed draws: how fast the arm may go, how hard it may brake, where it moves."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from fault_campaign.isolation import Child, leftovers, start
from fault_campaign.plant_log import PlantLog
from fault_campaign.trial import Evidence, Expected, Trial
from heft.daq.config.session import load_session
from heft.daq.config.shipped import CONFIGS
from heft.daq.motion.plan import make_plan

__all__ = ["NAME", "Setup", "emulated", "simulated"]

NAME = "short"  # of every session
EMULATED = {
    "cia402": "emulated_wam7",
    "odrive_can": "emulated_odrive_bota",
    "mit_can": "emulated_mit_ft300",
    "moteus": "emulated_wam7",
}


@dataclass
class Setup:
    """A robot, a rig and a session, not yet written, and the trial that they are of."""

    trial: Trial
    robot: dict[str, Any]
    rig: dict[str, Any]
    session: dict[str, Any]
    runs: int = field(default=0)

    def write(self) -> Path:
        """Write the three files; the session's path."""
        for name in ("robot", "rig", "session"):
            text = yaml.safe_dump(getattr(self, name), sort_keys=False)
            (self.trial.folder / f"{name}.yaml").write_text(text, encoding="utf-8")
        return self.trial.folder / "session.yaml"

    def stand_at_start(self) -> None:
        """Let the arm stand where its motion begins."""
        leg = make_plan(load_session(self.write()))[0]
        assert leg.trajectory is not None
        self.rig["simulation"]["posture"] = leg.trajectory.start.position[0].tolist()

    def start(self, *more: str, speed: str = "max", identify: bool = False, **options: Any) -> Child:
        """`heft run` on it, as a process."""
        self.runs += 1
        arguments = ["run", str(self.write()), "--out", str(self.out), "--speed", speed, "--json"]
        arguments += ["--seed", str(self.trial.seed), "--unrehearsed", *more]
        return start(self.trial.folder, *arguments, *([] if identify else ["--no-identify"]), **options)

    @property
    def out(self) -> Path:
        """The folder of the last run."""
        return self.trial.folder / f"out{self.runs}"

    def evidence(
        self,
        child: Child,
        expected: Expected,
        *,
        at_s: float | None = None,
        fault_ns: int | None = None,
        misses: tuple[str, ...] = (),
    ) -> Evidence:
        """Wait for its end; then what came of it and of the arm.

        The fault happened at `at_s` [s] of the plant's time or at `fault_ns` of the host's, where it was one instant.
        """
        try:
            code = child.finish()
        except TimeoutError as exc:
            code, misses = -1, (*misses, f"hang: {exc}")
        whole, partial = self.out / f"{NAME}.mcap", self.out / f"{NAME}.mcap.partial"
        recording = next((path for path in (whole, partial) if path.exists()), None)
        left = leftovers(self.trial.folder, self.out, killed=expected.killed, unfinished=expected.unfinished)
        joints = list(self.robot["joints"].values())
        plant = PlantLog.read(child.plant_file)
        if at_s is not None and plant is not None:
            fault_ns = plant.start_ns + round(at_s * 1e9)
        elif fault_ns is None and plant is not None:
            fault_ns = plant.fault_ns
        return Evidence(
            expected,
            code,
            child.out,
            child.err,
            recording=recording,
            plant=plant,
            fault_ns=fault_ns,
            low=np.array([j["position"][0] for j in joints]),
            high=np.array([j["position"][1] for j in joints]),
            speed=np.array([j["velocity"] for j in joints]),
            deceleration=np.array([j["acceleration"] for j in joints]),
            leftovers=left,
            misses=misses,
        )


def simulated(trial: Trial, seconds: float = 3.0, still: bool = False) -> Setup:
    """The simulated WAM, its acceleration limits and its motion drawn."""
    robot = _read("robots/wam7.yaml")
    (trial.folder / "wam7.xml").write_bytes((CONFIGS / "robots/wam7.xml").read_bytes())
    _draw_limits(trial, robot)
    rig = _read("rigs/sim_wam7.yaml") | {"robot": "robot.yaml"}
    setup = Setup(
        trial, robot, rig, {"name": NAME, "rig": "rig.yaml", "steps": [_excitation(trial, seconds)]}
    )
    if still:
        setup.session["steps"] = [{"name": "excitation", "wait": seconds}]
    else:
        setup.stand_at_start()
    return setup


def emulated(trial: Trial, kind: str, seconds: float = 3.0) -> Setup:
    """The WAM behind drives of this kind, slow enough for a small machine to emulate in real time."""
    robot = _read("robots/wam7.yaml")
    (trial.folder / "wam7.xml").write_bytes((CONFIGS / "robots/wam7.xml").read_bytes())
    _draw_limits(trial, robot)
    rig = _read(f"rigs/{EMULATED[kind]}.yaml") | {"robot": "robot.yaml"}
    rig.pop("mqtt", None)
    rig["simulation"]["step_s"] = 0.004
    for part in (rig["devices"], rig["emulation"]["devices"]):
        part.pop("gripper", None)
    drives, model = rig["devices"]["arm"], rig["emulation"]["devices"]["arm"]
    model["servo_hz"] = 250
    if kind == "moteus":
        axes = {f"joint{i}": {"number": i} for i in range(1, 8)}
        rig["devices"]["arm"] = drives = {"kind": "moteus", "axes": axes, "watchdog_s": 0.5}
        rig["emulation"]["devices"]["arm"] = {
            "servo_hz": 250,
            "bandwidth_hz": model["bandwidth_hz"],
        }
    for name, axis in drives["axes"].items():
        axis["deceleration"] = robot["joints"][name]["acceleration"]
    drives |= {"timeout_s": 0.1, "rate_hz": 125 if kind == "odrive_can" else 100}
    if kind == "odrive_can":
        drives["catch_up"] = 10  # their filter bridges what a busy machine leaves out
    rig["devices"]["wrist"]["timeout_s"] = 0.1
    session = {
        "name": NAME,
        "rig": "rig.yaml",
        "rate_hz": 200,
        "watch": {"tracking_error": 0.3},
        "steps": [_excitation(trial, seconds)],
    }
    setup = Setup(trial, robot, rig, session)
    setup.stand_at_start()
    return setup


def _excitation(trial: Trial, seconds: float) -> dict[str, Any]:
    series = {"seconds": seconds, "period_s": 4.0, "blend_s": 0.5, "harmonics": 2, "seed": trial.seed}
    return {"name": "excitation", "use": "identification", "fourier": series}


def _draw_limits(trial: Trial, robot: dict[str, Any]) -> None:
    """Accelerations from 1 to 20 rad/s2: what the arm may do, and how hard it brakes."""
    acceleration = float(trial.choice(1.0, 2.0, 5.0, 10.0, 20.0))
    for joint in robot["joints"].values():
        joint["acceleration"] = acceleration


def _read(path: str) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load((CONFIGS / path).read_text(encoding="utf-8"))
    return data
