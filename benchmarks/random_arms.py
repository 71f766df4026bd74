"""Arms that nobody has met: random lengths, masses, friction and files, in motions of several qualities, by seed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from heft.identify import Dataset, Robot
from heft.identify.bodies import from_mass_com_inertia
from heft.identify.bodies.parameters import Layout
from heft.identify.robot.limits import Limits

__all__ = ["QUALITIES", "RandomArm", "random_arm"]

QUALITIES = ("exciting", "short", "slow", "one-way")
RATE_HZ = 250.0
FILE_SPREAD = 0.15  # of masses in the robot's file
FILE_OFFSET = 0.02  # [m] of centres of mass in the robot's file


@dataclass(frozen=True)
class RandomArm:
    """A robot with a file that is somewhat wrong, and its motion: what is fitted, what is held back."""

    name: str
    robot: Robot
    fit: Dataset
    unseen: Dataset


def random_arm(seed: int) -> RandomArm:
    """An arm of five to seven joints, 0.5 to 1.6 m of reach and 5 to 60 kg; its motion is one of `QUALITIES`."""
    rng = np.random.default_rng([12, seed])
    quality, n = QUALITIES[seed % len(QUALITIES)], int(rng.integers(5, 8))
    size = rng.uniform(0.5, 1.6)
    rows = [
        {
            "alpha": float(rng.choice([0.5, -0.5]) * np.pi),
            "a": float(rng.uniform(0, 0.1) * size),
            "d": float(rng.uniform(0.1, 0.45) * size * (k % 2 == 0)),
            "theta": 0.0,
        }
        for k in range(n)
    ]
    rows[1] |= {"alpha": 0.0, "a": 0.4 * size}
    plain = Robot.from_dh(rows)
    masses = 20.0 * size**3 * rng.uniform(0.6, 1.6) * 0.65 ** np.arange(n)
    truth, file = {}, {}
    for k, (link, mass) in enumerate(zip(plain.links, masses, strict=True)):
        half = 0.5 * max(np.hypot(rows[k]["a"], rows[k]["d"]), 0.12 * size)
        centre = rng.normal(size=3) * 0.4 * half
        radii = half * rng.uniform(0.3, 0.6, 3)
        inertia = mass * np.diag((radii**2).sum() - radii**2)
        truth[link] = from_mass_com_inertia(mass, centre, inertia)
        off = mass * float(np.exp(FILE_SPREAD * rng.normal()))
        told = centre + FILE_OFFSET * rng.normal(size=3)
        file[link] = from_mass_com_inertia(off, told, inertia * off / mass)
    weight = 9.81 * 0.3 * size * masses.sum() * 0.5 ** np.arange(n)
    friction = {
        f"{joint}.{term}": float(share * weight[k] * rng.uniform(0.5, 1.5))
        for k, joint in enumerate(plain.joints)
        for term, share in (("viscous", 0.05), ("coulomb", 0.05), ("offset", 0.01), ("drive_inertia", 0.01))
    }
    layout = Layout(plain.parameter_names)
    values = layout.pack({**truth, **friction})
    limits = replace(Limits.none(n), velocity=np.full(n, 3.0))
    robot = replace(plain, prior=layout.pack(file), limits=limits, name=f"arm {seed}")
    seen, unseen = (_motion(robot, values, quality, rng) for _ in range(2))
    return RandomArm(f"arm {seed} {quality}", robot, seen, unseen)


def _motion(robot: Robot, values: np.ndarray, quality: str, rng: np.random.Generator) -> Dataset:
    n = len(robot.joints)
    seconds = {"exciting": 20.0, "short": 6.0, "slow": 40.0, "one-way": 5.0}[quality]
    t = np.arange(0, seconds, 1 / RATE_HZ)
    if quality == "one-way":
        s = t / seconds
        shape = np.stack(
            [
                10 * s**3 - 15 * s**4 + 6 * s**5,
                (30 * s**2 - 60 * s**3 + 30 * s**4) / seconds,
                (60 * s - 180 * s**2 + 120 * s**3) / seconds**2,
            ]
        )
        start, way = rng.uniform(-1, 1, n), rng.choice([-1, 1], n) * rng.uniform(0.8, 1.6, n)
        q, dq, ddq = shape[:, :, None] * way
        q = q + start
    else:
        q, dq, ddq = np.zeros((3, len(t), n))
        for k in range(1, 6):
            w = 2 * np.pi * k * {"exciting": 0.1, "short": 0.17, "slow": 0.05}[quality]
            a, phase = 0.6 * rng.normal(size=n) / k, rng.uniform(0, 2 * np.pi, n)
            angle = np.outer(t, np.full(n, w)) + phase
            q, dq, ddq = q + a * np.sin(angle), dq + a * w * np.cos(angle), ddq - a * w**2 * np.sin(angle)
    tau = robot.torque(q, dq, ddq, values)
    noise = 0.01 * np.sqrt((tau**2).mean(axis=0)) * rng.normal(size=tau.shape)
    return Dataset.from_arrays(t, q + 2e-5 * rng.normal(size=q.shape), tau + noise)
