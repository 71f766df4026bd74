"""Payload identification: how fast, how close, and whether the intervals hold.

Pick-ups of 0.3 to 3 kg on a simulated wrist sensor (point masses; 0.05 N and 2 mN m at 1 kHz, bias with drift, 3 ms of
delay known to 0.1 ms, noisy accelerations): half a second standing still, then five seconds of motion.
Then two sessions on the simulated rig (`payload_rig.py`).
Run: `python benchmarks/payload.py [pick-ups]`.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections import defaultdict
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from payload_rig import rig

from identify.consistency import consistency
from identify.payload import PayloadEstimate, PayloadEstimator, WristSensor, fit_wrench, principal_inertia

SENSOR = WristSensor(delay_std=1e-4)
RATE_HZ = 1000


def simulator() -> ModuleType:
    """The simulator that the tests use."""
    path = Path(__file__).parents[1] / "tests" / "identify" / "payload" / "simulator.py"
    spec = importlib.util.spec_from_file_location("payload_simulator", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def grasped(run: Any, gravity: Any = (0.0, 0.0, -9.81)) -> PayloadEstimator:
    """An estimator that has seen the bare gripper and is told of the pick-up."""
    estimator = PayloadEstimator(SENSOR, gripper=run.gripper.ten, gravity=gravity)
    estimator.update(**run.samples(0.0, run.time[run.picked]))
    estimator.grasped()
    return estimator


def speed(run: Any) -> None:
    """Processor time of updates and of estimates, against the sensor's own time."""
    start, end = run.time[run.picked], run.time[-1]
    for name, gravity in (("gravity known", (0.0, 0.0, -9.81)), ("gravity estimated", None)):
        for block in (20, 100):
            estimator = grasped(run, gravity)
            blocks = [run.samples(at, at + block / RATE_HZ) for at in np.arange(start, end, block / RATE_HZ)]
            count = sum(len(one["time"]) for one in blocks)
            begin = time.process_time()
            for one in blocks:
                estimator.update(**one)
            spent = time.process_time() - begin
            print(
                f"update, {name}, blocks of {block}: {count / spent:,.0f} samples/s per core, "
                f"{count / RATE_HZ / spent:.0f} times real time"
            )
        estimator = grasped(run, gravity)
        spent, estimates = 0.0, 0
        for one in blocks:
            estimator.update(**one)
            begin = time.process_time()
            estimator.estimate()
            spent, estimates = spent + time.process_time() - begin, estimates + 1
        print(
            f"estimate, {name}: {1000 * spent / estimates:.1f} ms each, "
            f"ten a second take {10 * spent / estimates:.0%} of a core"
        )
    estimator = grasped(run)
    begin = time.perf_counter()
    estimator.update(**run.samples(start, start + 0.02))
    estimator.estimate()
    print(f"first estimate: 20 ms of samples and {1000 * (time.perf_counter() - begin):.1f} ms of work")
    part = {name: values[run.picked :] for name, values in run.kinematics.items()}
    begin = time.process_time()
    fit_wrench(wrench=run.wrench[run.picked :], gripper=run.gripper.ten, **part)
    print(f"fit_wrench: {1000 * (time.process_time() - begin):.0f} ms for {len(part['rotation'])} samples")


def follow(run: Any) -> tuple[PayloadEstimate, PayloadEstimate, bool]:
    """Estimates half a second after lifting and at the end; whether all ten a second could exist."""
    estimator = grasped(run)
    start, estimates = run.time[run.picked], []
    for at in np.arange(start, run.time[-1], 0.1):
        estimator.update(**run.samples(at, at + 0.1))
        estimates.append(estimator.estimate())
    return estimates[4], estimates[-1], all(consistency(one.ten, "full").ok for one in estimates)


def coverage(source: ModuleType, count: int) -> bool:
    """Errors and coverage of 95 % intervals over `count` pick-ups; whether all that is promised was kept."""
    worst: dict[str, float] = defaultdict(float)
    hits: dict[str, list[bool]] = defaultdict(list)
    consistent = True
    for seed in range(count):
        run = source.pick_up(1000 + seed)
        still, moved, all_consistent = follow(run)
        consistent &= all_consistent
        body = run.body
        worst["still: mass [%]"] = max(worst["still: mass [%]"], 100 * abs(still.mass / body.mass - 1))
        worst["moved: mass [%]"] = max(worst["moved: mass [%]"], 100 * abs(moved.mass / body.mass - 1))
        away = 1000 * float(np.abs(moved.com - body.com).max())
        worst["moved: com [mm]"] = max(worst["moved: com [mm]"], away)
        principal = principal_inertia(moved)
        largest = float(np.linalg.eigvalsh(body.inertia(body.com))[-1])
        if largest > 2e-3 and principal.measured[0]:
            off = 100 * abs(principal.moments[0] / largest - 1)
            worst["moved: largest moment [%]"] = max(worst["moved: largest moment [%]"], off)
        inertia = np.abs(moved.inertia - body.inertia(np.zeros(3))) / moved.std.inertia
        hits["still: mass"].append(abs(still.mass - body.mass) < 1.96 * still.std.mass)
        hits["mass"].append(abs(moved.mass - body.mass) < 1.96 * moved.std.mass)
        hits["com"] += list(np.abs(moved.com - body.com) < 1.96 * moved.std.com)
        told = np.isfinite(moved.std.inertia) & np.triu(np.ones((3, 3), dtype=bool))
        hits["inertia"] += list((inertia < 1.96)[told])
    for name, value in worst.items():
        print(f"worst of {count}: {name} {value:.3f}")
    shares = {name: float(np.mean(values)) for name, values in hits.items()}
    for name, share in shares.items():
        print(f"95 % intervals cover, {name}: {share:.1%} of {len(hits[name])}")
    print(f"every estimate consistent at level full: {consistent}")
    kept = worst["still: mass [%]"] < 2 and worst["moved: mass [%]"] < 0.5 and worst["moved: com [mm]"] < 1
    return bool(kept and consistent and all(0.90 <= share <= 0.99 for share in shares.values()))


def main() -> int:
    """0 if all that is promised was kept."""
    source = simulator()
    speed(source.pick_up(3))
    kept = coverage(source, int(sys.argv[1]) if len(sys.argv) > 1 else 100)
    return 0 if rig(2) and kept else 1


if __name__ == "__main__":
    sys.exit(main())
