"""Payloads by joint torques on arms whose drives are not what their file says: do intervals hold, and does a weighed
load help?

    python benchmarks/gains.py [--arms 25] [--objects 4] [--gains common both half none bound] [--spread 0.1] [--seed 0]

Each arm is a WAM with bodies, friction and gains of its own, its torques by Pinocchio's inverse dynamics, with dry
friction, offsets that differ between recordings, friction that has changed, coloured noise and a delay. It is
identified bare, from torques with the wrong gains, and weighs `--objects` objects by `weigh` with no more than the
stated spread; those of one arm share its gains, so that `--arms 100 --objects 1` says more than 25 arms do. Then it is
calibrated with one weighed load, identified anew, and weighs them again.

A spread is a standard deviation. Gains are drawn from it: common to all joints, each joint's own with the same spread
on top (both), and half of the variance of either; and not at all (none). Someone who knows that gains are off by at
most b states b / sqrt(3), the standard deviation of what is anywhere within it: with `bound` the common gain and each
joint's own on top are even draws within +-b, b being `--spread`, and that is what is stated.

Exit code 1 where a bound is missed, in any line but `none` or in all of them together: 95 % intervals of the mass
cover 90 to 99 % (as much wider as chance is, for few arms), and after the calibration masses are within 1 % (rms).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pinocchio as pin
from scipy.stats import binom

from heft.identify import Dataset, Robot, fit
from heft.identify.bodies.arrays import Array
from heft.identify.certainty.interval import Interval
from heft.identify.payload import weigh
from heft.identify.payload.weighing.gain_calibration import GainCalibration, KnownLoad, calibrate_gains
from heft.identify.result import Result

CONFIGS = Path(__file__).parents[1] / "configs" / "robots"
RATE_HZ, SECONDS, DELAY_S = 200.0, 20.0, 0.0013
NOISE = np.array(
    [0.067, 0.40, 0.081, 0.104, 0.0099, 0.0153, 0.0025]
)  # [N m]: of `configs/rigs/sim_wam7.yaml`
WEIGHED_KG = 2.0
DRAWS = ("common", "both", "half", "none", "bound")
DRAWN = [how for how in DRAWS if how != "none"]
write = sys.stdout.write


@dataclass(frozen=True)
class Load:
    """A box on the flange: mass [kg], centre of mass [m] and inertia about it [kg m2], in the flange's frame."""

    mass: float
    com: Array
    inertia_com: Array

    @classmethod
    def drawn(cls, rng: np.random.Generator, mass: float | None = None) -> Load:
        """0.5 to 3 kg, 3 to 25 cm, gripped off its centre."""
        mass = float(np.exp(rng.uniform(np.log(0.5), np.log(3.0)))) if mass is None else mass
        squares = np.exp(rng.uniform(np.log(0.03), np.log(0.25), 3)) ** 2
        axes = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        inertia = axes @ np.diag(mass / 12 * (squares.sum() - squares)) @ axes.T
        return cls(mass, np.append(rng.uniform(-0.05, 0.05, 2), rng.uniform(0.05, 0.2)), inertia)


class Arm:
    """A WAM that differs from its file: bodies, friction, and `gain` (n,) that its drives report torques with."""

    def __init__(self, rng: np.random.Generator, gain: Array) -> None:
        self.robot = Robot.load(CONFIGS / "wam7.yaml")
        self.gain, self._rng = gain, rng
        self._model = pin.buildModelFromMJCF(str(CONFIGS / "wam7.xml"))
        self._model = pin.buildReducedModel(
            self._model,
            [i for i, name in enumerate(self._model.names) if i and name not in self.robot.joints],
            pin.neutral(self._model),
        )
        for i in range(1, self._model.njoints):
            body = self._model.inertias[i]
            factor = float(np.exp(0.1 * rng.standard_normal()))
            lever = body.lever + 0.01 * rng.standard_normal(3)
            self._model.inertias[i] = pin.Inertia(factor * body.mass, lever, factor * body.inertia)
        joints = self.robot.joints
        prior = dict(zip(self.robot.parameter_names, np.asarray(self.robot.prior), strict=True))

        def term(name: str) -> Array:
            return np.array([prior[f"{joint}.{name}"] for joint in joints])

        n = len(joints)
        self._model.armature[:] = term("drive_inertia") * np.exp(0.1 * rng.standard_normal(n))
        self._viscous = term("viscous") * np.exp(0.2 * rng.standard_normal(n))
        self._coulomb = term("coulomb") * np.exp(0.2 * rng.standard_normal(n))

    def record(self, load: Load | None = None) -> Dataset:
        """A motion of its own, with the load or bare, as the drives report it."""
        rng, n = self._rng, len(self.robot.joints)
        t = np.arange(0.0, SECONDS, 1 / RATE_HZ)
        motion = _motion(rng, self.robot)
        model = self._model
        if load is not None:
            model = model.copy()
            _, pose = self.robot.frames[str(self.robot.flange)]
            R, p = pose[:3, :3], pose[:3, 3]
            body = pin.Inertia(load.mass, R @ load.com + p, R @ load.inertia_com @ R.T)
            model.inertias[model.njoints - 1] = model.inertias[model.njoints - 1] + body
        data = model.createData()
        past = motion(t - DELAY_S)
        rigid = np.array([pin.rnea(model, data, *sample) for sample in zip(*past, strict=True)])
        v = past[1]
        warm = np.exp(0.1 * rng.standard_normal(n))
        friction = warm * (self._viscous * v + self._coulomb * np.tanh(v / 0.02))
        offset = 0.1 * self._coulomb * rng.standard_normal(n)
        noise = NOISE * (rng.standard_normal(v.shape) + 0.3 * _slow(rng, v.shape))
        q = motion(t)[0] + 1e-5 * rng.standard_normal(v.shape)
        return Dataset.from_arrays(t, q, self.gain * (rigid + friction + offset) + noise)


def _slow(rng: np.random.Generator, shape: tuple[int, ...], memory_s: float = 0.2) -> Array:
    """Noise of standard deviation 1 that resembles itself for `memory_s`."""
    root = float(np.exp(-1 / (RATE_HZ * memory_s)))
    noise = rng.standard_normal(shape)
    for k in range(1, len(noise)):
        noise[k] = root * noise[k - 1] + np.sqrt(1 - root**2) * noise[k]
    return noise


def _motion(rng: np.random.Generator, robot: Robot):  # type: ignore[no-untyped-def]
    """A Fourier series of five harmonics inside the joints' limits: time to position, velocity, acceleration."""
    assert robot.limits is not None
    low, high = np.asarray(robot.limits.position).T
    middle, reach = (low + high) / 2, 0.4 * (high - low)
    w = 2 * np.pi / SECONDS * np.arange(1, 6)
    a, b = rng.standard_normal((2, 5, len(low)))
    t = np.arange(0.0, SECONDS, 0.05)[:, None]
    shape = np.abs(np.sin(t * w) @ a + np.cos(t * w) @ b).max(axis=0)
    speed = np.abs(np.cos(t * w) @ (w[:, None] * a) - np.sin(t * w) @ (w[:, None] * b)).max(axis=0)
    size = np.minimum(reach / shape, 0.8 * np.asarray(robot.limits.velocity) / speed)
    a, b = size * a, size * b

    def at(t: Array) -> tuple[Array, Array, Array]:
        s, c = np.sin(t[:, None] * w), np.cos(t[:, None] * w)
        first, second = w[:, None], w[:, None] ** 2
        return (
            middle + s @ a + c @ b,
            c @ (first * a) - s @ (first * b),
            -(s @ (second * a) + c @ (second * b)),
        )

    return at


def drawn_gain(rng: np.random.Generator, how: str, spread: float, joints: int) -> Array:
    """What the drives report of a torque of 1, shape (joints,): see the module."""
    if how == "bound":
        return np.asarray(1.0 / (1.0 + spread * (rng.uniform(-1, 1) + rng.uniform(-1, 1, joints))))
    common, own = rng.standard_normal(), rng.standard_normal(joints)
    part = {
        "common": (1.0, 0.0),
        "both": (1.0, 1.0),
        "half": (np.sqrt(0.5), np.sqrt(0.5)),
        "none": (0.0, 0.0),
    }[how]
    return np.asarray(1.0 / (1.0 + spread * np.clip(part[0] * common + part[1] * own, -3, 3)))


@dataclass(frozen=True)
class Check:
    """One object, before and after the calibration: relative error of its mass, half the width of its interval, and
    whether that has the truth; `exact`: whether it had it if gains were taken for exact.
    """

    error: tuple[float, float]
    half_width: tuple[float, float]
    covered: tuple[bool, bool]
    exact: bool


def identified(robot: Robot, bare: Dataset) -> Result:
    """The bare arm, from torques as its drives report them."""
    return fit(robot, bare, cutoff_hz=5.0)


def calibrated(result: Result, bare: Dataset, data: Dataset, load: Load) -> GainCalibration:
    """The gains by a load that was put on the scale and the ruler."""
    return calibrate_gains(
        result,
        data,
        KnownLoad(load.mass, load.com),
        refit=lambda factors: identified(result.robot, corrected(bare, factors)),
    )


def corrected(data: Dataset, gains: Array) -> Dataset:
    """As the drives report it with gains in the robot's file."""
    return replace(data, tau=data.tau * gains)


def checks(seed: int, how: str, spread: float, objects: int) -> Iterator[Check]:
    """The objects of one arm."""
    rng = np.random.default_rng([seed, DRAWS.index(how)])
    stated = spread / np.sqrt(3) if how == "bound" else spread
    arm = Arm(rng, drawn_gain(rng, how, spread, 7))
    bare = arm.record()
    result = identified(arm.robot, bare)
    weight = Load.drawn(rng, WEIGHED_KG)
    found = calibrated(result, bare, arm.record(weight), weight)
    after = identified(replace(arm.robot, gain_std=found.std), corrected(bare, found.gains))
    for _ in range(objects):
        load = Load.drawn(rng)
        data = arm.record(load)
        two = weigh(result, data, gain_spread=stated), weigh(after, corrected(data, found.gains))
        intervals = [one.interval("mass") for one in two]
        exact = weigh(result, data, gain_spread=0.0).interval("mass")
        yield Check(
            (two[0].mass / load.mass - 1, two[1].mass / load.mass - 1),
            (1.96 * two[0].std.mass / load.mass, 1.96 * two[1].std.mass / load.mass),
            (_inside(intervals[0], load.mass), _inside(intervals[1], load.mass)),
            _inside(exact, load.mass),
        )


def _inside(interval: Interval, value: float) -> bool:
    return interval.low <= value <= interval.high


def main() -> int:
    """Run, tell, judge."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--arms", type=int, default=25, help="for each way to draw gains")
    parser.add_argument("--objects", type=int, default=4, help="that each arm weighs")
    parser.add_argument("--gains", nargs="+", choices=DRAWS, default=list(DRAWS), help="ways to draw gains")
    parser.add_argument("--spread", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    arms, good = arguments.arms, True
    write(
        f"gains off by {arguments.spread:.0%} (a standard deviation; `bound`: at most), stated as that; "
        f"{arms} arms each way\n"
    )
    write(f"{'':<20}{'spread stated':>34}{'calibrated with 2 kg':>30}{'taken for':>10}\n")
    heads = ["gains", "objects", "error", "interval", "z", "covered", "error", "interval", "covered", "exact"]
    write("{:<10}{:>9}{:>9}{:>10}{:>7}{:>9}{:>11}{:>10}{:>9}{:>10}\n".format(*heads))
    pooled: list[Check] = []
    for how in arguments.gains:
        found = [
            one
            for k in range(arms)
            for one in checks(arguments.seed + k, how, arguments.spread, arguments.objects)
        ]
        pooled += found if how in DRAWN else []
        good &= _tell(how, found, arms, bounded=how in DRAWN)
    drawn = sum(how in DRAWN for how in arguments.gains)
    return 0 if not pooled or (_tell("all but none", pooled, drawn * arms) and good) else 1


def _tell(name: str, found: list[Check], arms: int, bounded: bool = True) -> bool:
    """A line of the table; True if its bounds hold."""
    error, width, covered = (
        np.array([getattr(one, name) for one in found]) for name in ("error", "half_width", "covered")
    )
    rms, median, share = np.sqrt((error**2).mean(axis=0)), np.median(width, axis=0), covered.mean(axis=0)
    z = 1.96 * float(np.sqrt(((error[:, 0] / width[:, 0]) ** 2).mean()))
    exact = float(np.mean([one.exact for one in found]))
    # Objects of one arm share its gains, so chance is that of the arms.
    low, high = (float(binom.ppf(chance, arms, 0.95)) / arms for chance in (0.005, 0.995))
    good = rms[1] < 0.01 and (not bounded or min(0.90, low) <= share[0] <= max(0.99, high))
    write(
        f"{name:<13}{len(found):>6}{rms[0]:>9.1%}{median[0]:>10.1%}{z:>7.2f}{share[0]:>9.0%}"
        f"{rms[1]:>11.2%}{median[1]:>10.2%}{share[1]:>9.0%}{exact:>10.0%}   {'ok' if good else 'MISSED'}\n"
    )
    sys.stdout.flush()
    return bool(good)


if __name__ == "__main__":
    sys.exit(main())
