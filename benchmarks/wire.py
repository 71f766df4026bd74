"""Is an arm identified as well through real drivers and wires as by simulated drivers?

    python benchmarks/wire.py [--seed 0] [--keep FOLDER] [SESSION ...]

Each session of an emulated rig (`configs/sessions/emulated_*.yaml`) is run twice with one seed, so on the same true arm
and with the same setpoints: as it is, in real time, and on its *twin*, whose simulated devices have the rates, servo
rates, resolutions and noise of the emulated ones. The twin runs as fast as it goes. Then both results predict

*own*      the validation of their own recording: what each user sees
*same*     the validation of the twin's recording, read with the twin's filter and delay: unseen by both
*truth*    the torque that the true arm needs for the validation's setpoints: no noise, only the models' errors

The bound is on *same*: through the wire at most 1.10 times the twin's error (1.05 for ROS 2, Dynamixel and a UR); the
exit code is 1 beyond it.
A session takes a minute of real time on an otherwise idle machine.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from heft.daq.config.robot import load_robot
from heft.daq.config.session import load_session
from heft.daq.config.shipped import CONFIGS
from heft.daq.motion.plan import make_plan
from heft.daq.recording import Recording
from heft.drivers.codecs.dynamixel_models import MODELS
from heft.identify.data.from_recording import datasets_of
from heft.identify.information.reduction import reduce
from heft.identify.result import RelativeError, Result, load
from heft.main import main as heft

#: Sessions, and the bound of each.
SESSIONS = {
    "emulated_wam7": 1.10,
    "emulated_odrive_bota": 1.10,
    "emulated_mit_ft300": 1.10,
    "emulated_ros2": 1.05,
    "emulated_dynamixel": 1.05,
    "emulated_ur10e": 1.05,
}
VALIDATION = "validation"


# -- the twin ----------------------------------------------------------------------------------------------------------


def twin_of(name: str, folder: Path) -> Path:
    """The session on simulated devices that are as good as the emulated ones; the file's path."""
    session = _read(CONFIGS / "sessions" / f"{name}.yaml")
    rig = _read(CONFIGS / "sessions" / session["rig"])
    emulation = rig.pop("emulation")["devices"]
    devices = rig["devices"]
    robot = CONFIGS / "rigs" / rig["robot"]
    joints = load_robot(robot).joints.values()
    rig["robot"] = str(robot)
    rig.pop("mqtt", None)
    rig["devices"] = {
        "arm": drives(
            devices["arm"], emulation["arm"], [joint.gear * joint.torque_constant for joint in joints]
        ),
    }
    if "wrist" in devices:
        rig["devices"]["wrist"] = wrench(devices["wrist"], emulation["wrist"])
    elif devices["arm"]["kind"] == "ur_rtde":  # has one inside
        rig["devices"]["wrist"] = wrench(devices["arm"], emulation["arm"])
    session["rig"] = "rig.yaml"
    for step in session["steps"]:
        if "design" in step:
            step["design"] = str((CONFIGS / "sessions" / step["design"]).resolve())
    for file, content in (("rig.yaml", rig), ("session.yaml", session)):
        (folder / file).write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return folder / "session.yaml"


def drives(
    device: dict[str, Any], emulated: dict[str, Any], torque_per_ampere: Sequence[float]
) -> dict[str, Any]:
    """Drives that tell as often, as finely and with as much noise; rounding counts as noise of its size."""
    rate_hz = float(device.get("state_hz", device.get("feedback_hz", device["rate_hz"])))
    loops = max(1.0, emulated.get("window_s", 0.0) * emulated["servo_hz"])
    counts = torque_counts(emulated, torque_per_ampere)
    noises = emulated["torque_noise"]
    if "current_noise" in emulated:  # of what is sent
        noises = [i * size for i, size in zip(emulated["current_noise"], torque_per_ampere, strict=True)]
    return {
        "kind": "sim_drives",
        "rate_hz": rate_hz,
        "servo_hz": emulated["servo_hz"],
        "bandwidth_hz": emulated.get("bandwidth_hz", 8.0),
        "position_bits": position_bits(device),
        "velocity_noise": emulated.get("velocity_noise", 0.0),
        "torque_noise": [
            math.hypot(noise / math.sqrt(loops), count / math.sqrt(12.0))
            for noise, count in zip(noises, counts, strict=True)
        ],
        "current_resolution": 1e-4,
        "current_delay_s": 0.5 / rate_hz,
        "watchdog_s": max(0.1, 10.0 / rate_hz),
    }


def position_bits(device: dict[str, Any]) -> float | list[float]:
    """Counts of a joint's turn, as a power of two: of servos that are not all alike, one by one."""
    if device["kind"] != "dynamixel":
        return POSITION_BITS[device["kind"]]
    axes = device["axes"].values()
    return [math.log2(MODELS[axis["model"]].turn * abs(axis.get("gear", 1.0))) for axis in axes]


def torque_counts(emulated: dict[str, Any], torque_per_ampere: Sequence[float]) -> list[float]:
    """What one count of current or torque is worth at the joint [N m]."""
    if "motors" in emulated:  # 12 bits over the range of torque
        return [2.0 * LARGEST_TORQUE[motor["model"]] / 4095 for motor in emulated["motors"]]
    if "servos" in emulated:  # 1 mA, 2.69 mA
        steps = [2.69e-3 if servo["model"].startswith("X") else 1e-3 for servo in emulated["servos"]]
        return [step * size for step, size in zip(steps, torque_per_ampere, strict=True)]
    if "nodes" not in emulated:  # a double
        return [0.0] * len(torque_per_ampere)
    if "rated_current" in emulated["nodes"][0]:  # thousandths of it
        rated = [node["rated_current"] for node in emulated["nodes"]]
        return [1e-3 * amperes * size for amperes, size in zip(rated, torque_per_ampere, strict=True)]
    return [0.0] * len(emulated["nodes"])  # a float


def wrench(device: dict[str, Any], emulated: dict[str, Any]) -> dict[str, Any]:
    """A sensor as fast and as noisy."""
    rate_hz = WRENCH_HZ[device["kind"]]
    return {
        "kind": "sim_wrench",
        "rate_hz": rate_hz,
        "delay_s": max(0.003, 0.5 / rate_hz),
        "force_noise": emulated["force_noise"],
        "torque_noise": emulated["torque_noise"],
    }


#: Two to this are the position counts of a turn: as in the rig; a float's 24 bits over 42 turns; 16 bits over 25 rad.
POSITION_BITS = {"cia402": 22, "odrive_can": 18, "mit_can": 14, "ros2": 22, "ur_rtde": 24}
LARGEST_TORQUE = {"DM10010": 200.0, "DM8009": 54.0, "DM4340": 28.0, "DM4310": 10.0}
WRENCH_HZ = {"ati_rdt": 1000.0, "bota_serial": 400.0, "robotiq_ft300": 100.0, "ur_rtde": 500.0}


# -- what both know ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """A session that has been run and identified."""

    result: Result
    file: Path
    lost: int

    @property
    def own(self) -> float:
        return self.result.relative_error(
            datasets_of(Recording.open(self.file), self.result.robot, VALIDATION)
        ).total

    def on(self, other: Run) -> float:
        """Error on another's validation, read as the other reads it."""
        (data,) = datasets_of(Recording.open(other.file), self.result.robot, VALIDATION)
        delay_s = other.result.delay_of(data)
        information = reduce(self.result.robot, data, other.result.processing, delay_s=delay_s)
        robot, values = self.result.robot, self.result.parameters.values
        return RelativeError.of(information, values, robot.tree.prismatic).total

    def on_truth(self, session: Path, truth: dict[str, float]) -> float:
        """Relative error [rms over rms] on what the true arm needs for the validation's setpoints."""
        robot = self.result.robot
        (leg,) = [
            leg
            for leg in make_plan(load_session(session))
            if leg.step is not None and leg.step.use == VALIDATION
        ]
        assert leg.trajectory is not None
        whole = leg.trajectory.window(0, len(leg.trajectory))
        motion = (whole.position, whole.velocity, whole.acceleration)
        needed = robot.torque(*motion, [truth[name] for name in robot.parameter_names])
        predicted = robot.torque(*motion, self.result.parameters.values)
        size = np.sqrt((needed**2).mean(axis=0))
        return float(np.sqrt((((predicted - needed) / size) ** 2).mean()))


def run(session: Path, out: Path, *more: str) -> Run:
    """`heft run` with its identification."""
    said, report = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(report), contextlib.redirect_stderr(said):
        code = heft(["run", str(session), "--out", str(out), "--json", *more])
    if code != 0:
        raise SystemExit(f"heft run {session}: exit code {code}\n{said.getvalue()}")
    (file,) = out.glob("*.mcap")
    return Run(load(out / "result.json"), file, json.loads(report.getvalue())["lost"])


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return content


def measure(name: str, folder: Path, seed: str) -> float:
    """Run both, print three lines; the ratio that is bounded, over its bound."""
    folder.mkdir(parents=True, exist_ok=True)
    session = CONFIGS / "sessions" / f"{name}.yaml"
    twin = run(twin_of(name, folder), folder / "twin", "--seed", seed, "--speed", "max")
    wire = run(session, folder / "wire", "--seed", seed)
    (file,) = (folder / "twin").glob("*.truth.json")
    truth = json.loads(file.read_text(encoding="utf-8"))["parameters"]
    same = (wire.on(twin), twin.on(twin))
    pairs = {
        "own": (wire.own, twin.own),
        "same": same,
        "truth": (wire.on_truth(session, truth), twin.on_truth(session, truth)),
    }
    for what, (a, b) in pairs.items():
        bound = f"{SESSIONS[name]:8.2f}" if what == "same" else ""
        print(f"{name:22}{what:8}{100 * a:9.3f}{100 * b:9.3f}{a / b:8.2f}{bound}", flush=True)
    print(f"{'':22}lost    {wire.lost:9}{twin.lost:9}", flush=True)
    return same[0] / same[1] / SESSIONS[name]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", default="0", help="of the simulated plant: which arm it really is")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave recordings and results there")
    parser.add_argument("sessions", nargs="*", metavar="SESSION", help=f"of {', '.join(SESSIONS)}")
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.sessions if name not in SESSIONS]
    if unknown:
        parser.error(f"{', '.join(unknown)}: no such session; one of {', '.join(SESSIONS)}")
    print(f"{'torque error [%] on':30}{'wire':>9}{'twin':>9}{'ratio':>8}{'bound':>8}")
    with tempfile.TemporaryDirectory(prefix="heft-") as temporary:
        folder = chosen.keep or Path(temporary)
        ratios = [measure(name, folder / name, chosen.seed) for name in chosen.sessions or SESSIONS]
    return int(max(ratios) > 1.0)


if __name__ == "__main__":
    sys.exit(main())
