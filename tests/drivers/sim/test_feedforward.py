"""The servo's own model of the arm: the robot's file, or another MJCF file of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heft.drivers.errors import OptionError
from heft.drivers.sim.model import read_structure, with_model
from heft.drivers.sim.robot import SimRobot

Make = Callable[..., Any]
START = np.array([0.0, -0.5, 0.0, 1.8, -1.8, 0.0, 0.0])


def truthful(world: Any, path: Path) -> Path:
    """The robot's file with the parameters of the true arm."""
    lines = world.robot.model.read_text(encoding="utf-8").splitlines()
    body = joint = ""
    for i, line in enumerate(lines):
        word = line.split()[0] if line.strip() else ""
        if word == "<body":
            body = line.split('name="')[1].split('"')[0]
        elif word == "<inertial":
            one = world.arm.inertias[body]
            full = one.tensor_com[(0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)]
            numbers = [" ".join(map(repr, map(float, values))) for values in (one.com, full)]
            lines[i] = f'<inertial mass="{one.mass!r}" pos="{numbers[0]}" fullinertia="{numbers[1]}"/>'
        elif word == "<joint" and 'name="' in line:
            joint = line.split('name="')[1].split('"')[0]
            k, arm = world.axes.index(joint), world.arm
            lines[i] = (
                f'<joint name="{joint}" axis="0 0 1" armature="{arm.drive_inertia[k]}" '
                f'damping="{arm.friction.viscous[k]}" frictionloss="{arm.friction.coulomb[k]}"/>'
            )
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_another_file_says_what_the_servo_knows(bench: Make, wam: SimRobot, tmp_path: Path) -> None:
    world = bench(seed=3).world
    known = with_model(wam, truthful(world, tmp_path / "true.xml"))
    np.testing.assert_allclose(known.column("drive_inertia"), world.arm.drive_inertia)
    np.testing.assert_allclose(known.column("viscous"), world.arm.friction.viscous)
    np.testing.assert_allclose(known.column("coulomb"), world.arm.friction.coulomb)
    np.testing.assert_array_equal(known.column("offset"), wam.column("offset"))
    for body, inertia in read_structure(known).inertias.items():
        np.testing.assert_allclose(inertia.pseudo, world.arm.inertias[body].pseudo, atol=1e-9)


async def test_a_servo_that_knows_the_arm_tracks_better(bench: Make, swing: Make, tmp_path: Path) -> None:
    async def script(b: Any) -> None:
        await b.arm.arm()
        await b.follow(swing(START, 0.25, 3.0))

    errors = []
    for better in (False, True):
        b = bench(options={"posture": tuple(START)}, seed=1)
        options = {"feedforward": truthful(b.world, tmp_path / "true.xml")} if better else {}
        b = await b.add("sim_drives", "arm", **options).run(script)
        motion, played = b.values("arm.motion")[:, :7], b.values("arm.played")[:, :7]
        errors.append(np.sqrt(((motion - played)[1000:] ** 2).mean()))
    assert errors[1] < 0.5 * errors[0]


def test_a_file_that_is_not_there_or_of_another_arm(bench: Make, tmp_path: Path, wam: SimRobot) -> None:
    with pytest.raises(OptionError, match=r"none.xml: no such file"):
        bench().add("sim_drives", "arm", feedforward=tmp_path / "none.xml")
    pendulum = tmp_path / "pendulum.xml"
    pendulum.write_text(
        '<mujoco><worldbody><body><joint name="pivot"/><geom size="1"/></body></worldbody></mujoco>'
    )
    with pytest.raises(
        OptionError, match=r"joints: the robot's file has joint1, .* but pendulum.xml has pivot"
    ):
        with_model(wam, pendulum)
