"""Identification against a bare loop over Pinocchio's regressor, against FIGAROH, and against its own size.

    python benchmarks/identification.py [--rounds 5] [--no-figaroh]

Data: the WAM trajectory of 003 (Table 5, 57 656 samples at 1 kHz, 7 joints, 98 parameters), raw positions with the
noise of a 19-bit encoder and torques with 2 % noise. Contestants take turns in one run, after one warm-up call; the
best of each counts. All figures are ratios within the run; the exit code is 1 where a bound is missed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np
import pinocchio as pin
from peers.urdf import urdf_of
from wam import SAMPLES, WAM, measured

from heft.identify import Dataset, Processing, Robot, Signals, fit
from heft.identify.bodies.cone import ConeProgram
from heft.identify.robot.regressor_check import reference_model

CHAIN = 20  # links
LOOP_RATIO = 0.7  # of the time of the bare loop
write = sys.stdout.write


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


def line(what: str, figure: str, bound: str, ok: bool | None) -> bool:
    verdict = {True: "ok", False: "MISSED", None: "skipped"}[ok]
    write(f"{what:<44} {figure:<34} {bound:<20} {verdict}\n")
    return ok is not False


def against_the_loop(
    robot: Robot, data: Dataset, motion: tuple[np.ndarray, ...], rounds: int
) -> tuple[bool, float]:
    """(a) Raw data to a `full` result, against the bare loop; the fit's best time [s] too."""
    q, dq, ddq = motion
    model = reference_model(robot.tree, robot.joints)
    work = model.createData()

    def loop() -> None:
        for k in range(len(q)):
            pin.computeJointTorqueRegressor(model, work, q[k], dq[k], ddq[k])

    loops, fits = [], []
    for _ in range(rounds):
        loops.append(seconds(loop))
        fits.append(seconds(lambda: fit(robot, data)))
    bare, ours = min(loops), min(fits)
    figure = f"{ours:.3f} s / {bare:.3f} s = {ours / bare:.2f}"
    ok = ours <= LOOP_RATIO * bare
    return line("(a) raw data to `full`, over a bare loop", figure, f"at most {LOOP_RATIO:g}", ok), ours


def against_figaroh(robot: Robot, data: Dataset, ours: float) -> bool:
    """(b) FIGAROH on the same data, in an environment of its own."""
    with tempfile.TemporaryDirectory(prefix="heft-figaroh-") as name:
        folder = Path(name)
        environment = folder / "venv"
        python = environment / "bin" / "python"
        try:
            subprocess.run([sys.executable, "-m", "venv", environment], check=True, capture_output=True)
            subprocess.run(
                [python, "-m", "pip", "install", "-q", "figaroh==1.0.2"], check=True, capture_output=True
            )
        except subprocess.CalledProcessError as exc:
            write(f"figaroh cannot be installed: {exc.stderr.decode(errors='replace')[-200:]}\n")
            return line("(b) FIGAROH over Heft", "", "at least 10", None)
        (folder / "wam.urdf").write_text(urdf_of(robot), encoding="utf-8")
        np.savez(
            folder / "data.npz",
            t=data.t,
            q=data.q,
            tau=data.tau,
            cutoff_hz=fit(robot, data).processing.cutoff_hz,
        )
        script = Path(__file__).parent / "peers" / "figaroh_wam.py"
        done = subprocess.run([python, script, folder], check=True, capture_output=True, text=True)
        theirs = json.loads(done.stdout.splitlines()[-1])
    ratio = theirs["seconds"] / ours
    figure = f"{theirs['seconds']:.2f} s / {ours:.3f} s = {ratio:.0f}"
    return line(f"(b) FIGAROH ({theirs['base']} base) over Heft", figure, "at least 10", ratio >= 10)


def growth(robot: Robot, data: Dataset, ours: float) -> bool:
    """(c) Ten times the samples."""
    long, _ = measured(robot, 10 * SAMPLES)
    signals = Signals(Processing(fit(robot, data).processing.cutoff_hz))
    short_time = min(seconds(lambda: fit(robot, data, signals=signals)) for _ in range(3))
    long_time = min(seconds(lambda: fit(robot, long, signals=signals)) for _ in range(2))
    short_peak, long_peak = (peak(lambda d=d: fit(robot, d, signals=signals)) for d in (data, long))
    ratio, more = long_time / short_time, long_peak - short_peak
    in_time = line("(c) ten times the samples: time", f"{ratio:.1f} times", "at most 11", ratio <= 11)
    in_memory = line(
        "    and memory beyond the caller's arrays", f"{more:.0f} MB more", "at most 50 MB", more <= 50
    )
    return in_time and in_memory


def long_chain() -> bool:
    """(d) A chain of 20 links at level full: the solver's time."""
    rng = np.random.default_rng(0)
    rows = [{"alpha": (-1) ** i * np.pi / 2, "a": 0.1, "d": 0.05} for i in range(CHAIN)]
    robot = Robot.from_dh(rows)
    truth = np.zeros(len(robot.parameter_names))
    for name in robot.links:
        start = robot.parameter_names.index(f"{name}.m")
        scatter = rng.normal(size=(12, 3)) * 0.05
        masses = rng.uniform(0.02, 0.1, 12)
        second = np.einsum("k,ki,kj->ij", masses, scatter, scatter)
        inertia = np.trace(second) * np.eye(3) - second
        ten = [masses.sum(), *(masses @ scatter), inertia[0, 0], inertia[0, 1], inertia[1, 1]]
        truth[start : start + 10] = [*ten, inertia[0, 2], inertia[1, 2], inertia[2, 2]]
    t = np.arange(6000) * 5e-3
    frequency = 2 * np.pi * np.linspace(0.05, 0.4, 5)
    amplitude = rng.normal(size=(2, 5, CHAIN)) * 0.2
    phase = np.multiply.outer(t, frequency)
    q = np.sin(phase) @ amplitude[0] + np.cos(phase) @ amplitude[1]
    dq = (np.cos(phase) * frequency) @ amplitude[0] - (np.sin(phase) * frequency) @ amplitude[1]
    ddq = -(np.sin(phase) * frequency**2) @ amplitude[0] - (np.cos(phase) * frequency**2) @ amplitude[1]
    tau = robot.torque(q, dq, ddq, truth)
    tau += 0.02 * tau.std(axis=0) * rng.standard_normal(tau.shape)
    solver, solve = 0.0, ConeProgram.solve

    def timed(program: ConeProgram, *arguments: object) -> object:
        nonlocal solver
        start = time.perf_counter()
        answer = solve(program, *arguments)
        solver += time.perf_counter() - start
        return answer

    with mock.patch.object(ConeProgram, "solve", timed):
        result = fit(robot, Dataset.from_arrays(t, q, tau))
    ok = result.consistent and solver < 1
    return line(
        f"(d) {CHAIN} links at level full, in the solver", f"{solver:.2f} s", "below 1 s (003: 15 s)", ok
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-figaroh", action="store_true", help="leave the peer out")
    options = parser.parse_args()
    robot = Robot.load(WAM)
    data, motion = measured(robot, SAMPLES)
    fit(robot, data)  # compiles
    in_time, ours = against_the_loop(robot, data, motion, options.rounds)
    verdicts = [in_time, growth(robot, data, ours), long_chain()]
    if not options.no_figaroh:
        verdicts.append(against_figaroh(robot, data, ours))
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    raise SystemExit(main())
