"""Regressors and their reduction, against a bare Python loop that calls Pinocchio's regressor; ratios of one run.

    python benchmarks/regressor.py [--rounds 5]

Data: the WAM trajectory of 003 (Table 5, 57 656 samples at 1 kHz, 7 joints, 98 parameters), raw positions with the
noise of a 19-bit encoder and torques with 2 % noise. The loop and the reduction take turns; the best of each counts.
"""

from __future__ import annotations

import argparse
import sys
import time
import tracemalloc
from collections.abc import Callable
from math import pi
from pathlib import Path

import numpy as np
import pinocchio as pin

from identify.dataset import Dataset, Processing, choose_cutoff, survey
from identify.reduction import reduce
from identify.robot import Robot
from identify.robot.check import reference_model

WAM = Path(__file__).parents[1] / "configs" / "robots" / "wam7.yaml"
SAMPLES = 57656
SINES = [
    [0.05, -0.29, 0.48, 0.55, 0.65],
    [0.03, 0.29, -0.23, 0.32, 0.82],
    [-0.07, 0.40, 0.45, 0.40, -0.03],
    [0.14, -0.35, 0.15, 0.11, 0.93],
    [0.21, 0.35, 0.16, -0.02, 0.03],
    [-0.11, 0.28, 0.36, -0.06, 0.33],
    [-0.01, 0.24, 0.37, -0.45, 0.75],
]
COSINES = [
    [0.19, -0.40, -0.18, 0.63, -0.46],
    [0.09, -0.08, 0.05, -0.02, 0.65],
    [-0.49, 0.32, -0.26, -0.63, 0.06],
    [-0.14, 0.06, -0.13, -0.14, -0.03],
    [-0.51, 0.14, 0.37, -0.15, -0.17],
    [0.13, 0.07, 0.67, -0.15, -0.22],
    [0.24, 0.24, -0.22, -0.50, -0.52],
]
OFFSETS = [-0.29, 0.11, -0.02, 1.67, -2.41, 0.20, 0.58]


def trajectory(samples: int) -> tuple[np.ndarray, ...]:
    """t, q, dq, ddq of 003, Eq. 78."""
    t = np.arange(samples) * 1e-3
    w = 0.1 * pi * np.arange(1, 6)
    sine, cosine = np.sin(np.multiply.outer(t, w)), np.cos(np.multiply.outer(t, w))
    a, b = np.array(SINES), np.array(COSINES)
    q = sine @ (a / w).T - cosine @ (b / w).T + OFFSETS
    return t, q, cosine @ a.T + sine @ b.T, cosine @ (b * w).T - sine @ (a * w).T


def measured(robot: Robot, samples: int) -> tuple[Dataset, tuple[np.ndarray, ...]]:
    """A dataset with noise, and the true motion."""
    t, q, dq, ddq = trajectory(samples)
    assert robot.prior is not None
    tau = robot.torque(q, dq, ddq, robot.prior)
    rng = np.random.default_rng(0)
    tau += 0.02 * np.sqrt((tau**2).mean(axis=0)) * rng.standard_normal(tau.shape)
    count = 2 * pi / 2**19
    return Dataset.from_arrays(t, np.round(q / count) * count, tau), (q, dq, ddq)


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def peak(work: Callable[[], object]) -> float:
    """Most memory that `work` held at once [MB]."""
    tracemalloc.start()
    work()
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found / 1e6


def identify(robot: Robot, data: Dataset) -> None:
    """From raw positions and torques to information: cut-off, filter, derivatives, regressor, reduction."""
    processing = Processing(choose_cutoff(data))
    reduce(robot, data, processing, survey(robot, data, processing))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    robot = Robot.load(WAM)
    data, (q, dq, ddq) = measured(robot, SAMPLES)
    model = reference_model(robot.tree, robot.joints)
    work = model.createData()

    def loop() -> None:
        for k in range(SAMPLES):
            pin.computeJointTorqueRegressor(model, work, q[k], dq[k], ddq[k])

    identify(robot, data)  # compiles
    bare, ours = [], []
    for _ in range(rounds):
        bare.append(seconds(loop))
        ours.append(seconds(lambda: identify(robot, data)))
    best, least = min(ours), min(bare)
    write = sys.stdout.write
    write(
        f"bare loop over Pinocchio's regressor  {least:.3f} s   {least / SAMPLES * 1e6:.2f} us per sample\n"
    )
    write(f"raw data to information               {best:.3f} s   {best / SAMPLES * 1e6:.2f} us per sample\n")
    write(
        f"ratio                                 {best / least:.2f}     (must leave room for the solver below 1)\n"
    )
    long, _ = measured(robot, 10 * SAMPLES)
    tenfold = min(seconds(lambda: identify(robot, long)) for _ in range(2))
    peaks = [peak(lambda data=data: identify(robot, data)) for data in (data, long)]
    write(
        f"ten times the samples                 {tenfold:.3f} s   {tenfold / best:.1f} times (at most 11)\n"
    )
    write(
        f"memory beyond the caller's arrays     {peaks[0]:.0f} MB, then {peaks[1]:.0f} MB (at most 50 more)\n"
    )
    return 0 if best < least and tenfold <= 11 * best and peaks[1] - peaks[0] <= 50 else 1


if __name__ == "__main__":
    raise SystemExit(main())
