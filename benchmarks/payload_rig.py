"""Payloads on the simulated rig, from the gripper's event to what is told: how close, how sure, how soon.

`configs/sessions/pick_and_weigh.yaml` on one seed after the other, each recording weighed by `heft payload`; one of
them block by block too, as the live service sees it.
Run: `python benchmarks/payload_rig.py [sessions]`; three pick-ups each.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from daq.recording import Recording
from heft.configs import CONFIGS
from identify.consistency import consistency
from identify.payload.live import LivePayload, rehearse
from identify.payload.recorded import weigh_recording
from identify.recorded import robot_of

SESSION = CONFIGS / "sessions" / "pick_and_weigh.yaml"


def heft(*arguments: str) -> str:
    """Standard output of the command line."""
    done = subprocess.run(
        [sys.executable, "-m", "heft.main", *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout


def weigh(folder: Path, seed: int, worst: dict[str, float], hits: dict[str, list[bool]]) -> float:
    """One session; the part of real time that weighing its recording took."""
    out = folder / str(seed)
    heft("run", str(SESSION), "--speed", "max", "--no-identify", "--seed", str(seed), "--out", str(out))
    file = out / "pick_and_weigh.mcap"
    truth = json.loads((out / "pick_and_weigh.truth.json").read_text(encoding="utf-8"))
    begin = time.process_time()
    weighed = weigh_recording(file)
    spent = time.process_time() - begin
    payloads = weighed.to_dict()["payloads"]
    if len(payloads) != len(truth["payloads"]):
        raise RuntimeError(f"seed {seed}: {len(payloads)} pick-ups found, {len(truth['payloads'])} happened")
    pickups = [pickup for pickup in weighed.pickups if pickup.t_pick is not None]
    for facts, pickup, true in zip(payloads, pickups, truth["payloads"], strict=True):
        judge(facts, true, worst, hits)
        still = [e.estimate for e in pickup.estimates if e.time - pickup.t_pick <= 0.5][-1]
        hits["still: mass"].append(abs(still.mass - true["mass"]) < 1.96 * still.std.mass)
        keep(worst, "still: mass [%]", 100 * abs(still.mass / true["mass"] - 1))
        hits["consistent"] += [consistency(e.estimate.ten, "full").ok for e in pickup.estimates]
    return spent / (truth["payloads"][-1]["t_drop"] + 0.5)


def judge(facts: Any, true: Any, worst: dict[str, float], hits: dict[str, list[bool]]) -> None:
    """The last estimate of a pick-up against the truth."""
    com, inertia = np.array(true["com"]), np.array(true["inertia"])
    keep(worst, "moved: mass [%]", 100 * abs(facts["mass"] / true["mass"] - 1))
    keep(worst, "moved: com [mm]", 1000 * float(np.abs(facts["com"] - com).max()))
    moments = np.linalg.eigvalsh(inertia - true["mass"] * (com @ com * np.eye(3) - np.outer(com, com)))
    if moments[-1] > 2e-3:
        keep(
            worst, "moved: largest moment [%]", 100 * abs(facts["principal"]["moments"][0] / moments[-1] - 1)
        )
    std = facts["std"]
    hits["mass"].append(abs(facts["mass"] - true["mass"]) < 1.96 * std["mass"])
    hits["com"] += list(np.abs(facts["com"] - com) < 1.96 * np.array(std["com"], dtype=np.float64))
    off = np.abs(facts["inertia"] - inertia) / np.array(std["inertia"], dtype=np.float64)
    hits["inertia"] += list(off[np.triu_indices(3)] < 1.96)


def keep(worst: dict[str, float], name: str, value: float) -> None:
    """The largest so far."""
    worst[name] = max(worst[name], value)


def latency(file: Path) -> list[float]:
    """From each gripper's event to its first estimate [s].

    The recording's blocks as they arrived, through what the live service thinks with, one after the other: each begins
    when it has arrived and the one before is done, and takes its processor time, so that the figure does not depend on
    what else the machine does.
    """
    recording, robot = Recording.open(file), robot_of(file)
    rehearse(robot, 1000.0)
    live = LivePayload(recording.streams, robot)
    names = (live.names.position, live.names.wrench, live.names.gripper)
    blocks = [block for name in names if name is not None for block in recording.blocks(name)]
    blocks.sort(key=lambda block: int(block.host_ns[-1]))
    found: list[float] = []
    done = 0.0
    for block in blocks:
        begin = time.process_time()
        news = live.take([block])
        done = max(done, int(block.host_ns[-1]) * 1e-9) + time.process_time() - begin
        found += [done - pickup.t_signal for pickup in news if pickup.number > len(found)]
    return found


def rig(count: int) -> bool:
    """All of it for `count` sessions; whether all that is promised was kept."""
    worst: dict[str, float] = defaultdict(float)
    hits: dict[str, list[bool]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="heft-") as name:
        shares = [weigh(Path(name), seed, worst, hits) for seed in range(count)]
        waits = latency(Path(name) / "0" / "pick_and_weigh.mcap")
    for what, value in worst.items():
        print(f"rig, worst of {3 * count}: {what} {value:.3f}")
    for what, values in hits.items():
        print(f"rig, {what}: {np.mean(values):.1%} of {len(values)}")
    print(f"rig: weighing a recording takes {np.mean(shares):.0%} of its duration")
    late = max(waits)
    print(f"rig, live: at most {1000 * late:.0f} ms from the gripper's event to the first estimate")
    kept = worst["still: mass [%]"] < 2 and worst["moved: mass [%]"] < 0.5 and worst["moved: com [mm]"] < 1
    return bool(kept and all(hits["consistent"]) and late < 0.1)


def main() -> int:
    """0 if all that is promised was kept."""
    return 0 if rig(int(sys.argv[1]) if len(sys.argv) > 1 else 4) else 1


if __name__ == "__main__":
    sys.exit(main())
