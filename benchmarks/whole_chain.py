"""A new user's whole way with an arm that has a controller, on the emulated UR10e, command by command in real time.

    python benchmarks/whole_chain.py [--keep FOLDER]

`heft devices probe`; the bare arm excited, identified and validated; the weighed block moved; `heft calibrate gains`;
the bare arm identified anew and validated on motion that it has not seen; and `heft payload --live --apply`, after
which the controller must hold hand and object within 1 % of the truth, one second after the wrist has moved (mass, and
distance of the centre of mass over its distance from the flange), and its operator's load again when the object is
gone. The calibration starts from a robot's file whose torque constants are up
to 9 % wrong, and must find what they are to be multiplied by inside its intervals (of six joints one may lie outside).

Takes some five minutes on a machine that does nothing else. Exit code 1 where a step fails or a bound is missed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from heft.daq.config.shipped import CONFIGS
from heft.daq.recording import Recording

#: A file's torque constants over the true ones: most of it alike for all joints.
WRONG = {"joint1": 1.06, "joint2": 1.07, "joint3": 1.05, "joint4": 1.08, "joint5": 1.06, "joint6": 1.09}
LOAD = "1.6,0.004,-0.003,0.165"  # the block: kg, and metres in the flange's frame
BOUND, AFTER_NS = 0.01, 1_000_000_000
write = sys.stdout.write


class Failed(Exception):
    """A step that did not end as it should."""


def wrong_file(folder: Path) -> Path:
    """The robot's file with torque constants that are off, beside its model."""
    source = CONFIGS / "robots" / "ur10e.yaml"
    config = yaml.safe_load(source.read_text())
    for joint, factor in WRONG.items():
        config["joints"][joint]["torque_constant"] *= factor
    (folder / config["model"]).write_bytes((source.parent / config["model"]).read_bytes())
    target = folder / source.name
    target.write_text(yaml.safe_dump(config, sort_keys=False))
    return target


def heft(folder: Path, *words: str, codes: Sequence[int] = (0,)) -> list[dict[str, Any]]:
    """What a command says as JSON, one object a line; its time is printed."""
    began = time.monotonic()
    done = subprocess.run(
        (sys.executable, "-m", "heft", *words, "--json"), cwd=folder, capture_output=True, text=True
    )
    write(f"heft {' '.join(words)}: exit code {done.returncode}, {time.monotonic() - began:.0f} s\n")
    if done.returncode not in codes:
        raise Failed(done.stderr.strip()[-2000:] or done.stdout.strip()[-2000:])
    return [json.loads(line) for line in done.stdout.splitlines()]


def told(what: str, identified: dict[str, Any]) -> bool:
    """Whether an identification's answer is fit for use; what it says is printed."""
    error = identified["relative_error"]
    verdict = identified["verdict"]
    write(
        f"{what}: unseen motion {error['validation']:.2%}, {identified['total_mass']:.2f} kg, {verdict['grade']}: "
        f"{verdict['headline']}\n"
    )
    return bool(verdict["grade"] != "unfit")


def controller_holds(out: Path, lines: list[dict[str, Any]]) -> bool:
    """Whether the controller held hand and object a second after the wrist had moved, and the old load at the end."""
    applied = [facts for facts in lines if facts["schema"] == "heft.applied"]
    recording = Recording.open(out / "pick_and_weigh_ur10e.mcap")
    moved_ns = next(one.end_ns for one in recording.segments if one.name == "weigh the block")
    load = [
        facts["load"]
        for facts in applied
        if facts["event"] == "applied" and facts["t_ns"] <= moved_ns + AFTER_NS
    ][-1]
    truth = json.loads(next(out.glob("*.truth.json")).read_text())
    hand, block = truth["hand"], truth["payloads"][0]
    mass = hand["mass"] + block["mass"]
    com = (hand["mass"] * np.array(hand["com"]) + block["mass"] * np.array(block["com"])) / mass
    heavier = load["mass"] / mass - 1
    off = float(np.linalg.norm(np.array(load["com"]) - com) / np.linalg.norm(com))
    write(
        f"  controller: {load['mass']:.4f} kg, truth {mass:.4f} ({heavier:+.2%}), centre of mass off by {off:.2%}, "
        f"bounds {BOUND:.0%}; at the end {applied[-1]['event']}\n"
    )
    return max(abs(heavier), off) < BOUND and bool(applied[-1]["event"] == "restored")


def chain(folder: Path) -> bool:
    """All steps; whether the bounds hold."""
    sessions = CONFIGS / "sessions"
    robot = str(wrong_file(folder))
    probed = heft(folder, "devices", "probe", str(CONFIGS / "rigs" / "emulated_ur10e.yaml"))
    write(f"  {json.dumps(probed)[:200]}\n")
    (bare,) = heft(folder, "run", str(sessions / "emulated_ur10e.yaml"), "--out", "bare")
    good = told("  bare arm", bare["identification"])
    heft(folder, "run", str(sessions / "emulated_ur10e_loaded.yaml"), "--out", "loaded", "--no-identify")
    recordings = ("bare/emulated_ur10e.mcap", "loaded/emulated_ur10e_loaded.mcap")
    (found,) = heft(folder, "calibrate", "gains", *recordings, "--load", LOAD, "--robot", robot)
    held = 0
    for joint, gain in found["gains"].items():
        true = 1 / WRONG[joint]
        held += gain["low"] <= true <= gain["high"]
        write(
            f"  {joint}: gain {gain['gain']:.4f} [{gain['low']:.4f}, {gain['high']:.4f}], true {true:.4f}\n"
        )
    write(f"  {held} of {len(WRONG)} intervals hold the truth\n")
    good &= held >= len(WRONG) - 1
    (anew,) = heft(folder, "identify", recordings[0], "--robot", robot, "--out", "calibrated")
    good &= told("  calibrated", anew)
    applied = heft(
        folder, "payload", "--live", str(sessions / "pick_and_weigh_ur10e.yaml"), "--apply", "--out", "live"
    )
    return controller_holds(folder / "live", applied) and good


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keep", type=Path, help="an empty folder for all that is made")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (chosen.keep or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        try:
            return int(not chain(folder))
        except Failed as exc:
            write(f"FAILED: {exc}\n")
            return 1


if __name__ == "__main__":
    sys.exit(main())
