"""The WAM's file: MuJoCo, Pinocchio and an independent recursive Newton-Euler agree on it, and so does paper 003."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import mujoco
import numpy as np
import pinocchio
import pytest
from numpy.typing import NDArray

from heft.daq.config.robot import load_robot
from heft.drivers.sim.model import read_structure
from heft.drivers.sim.robot import SimRobot

Vector = NDArray[np.float64]


class Chain:
    """The serial chain in an MJCF file, read by this test alone: one hinge at each body's origin, fixed bodies too."""

    def __init__(self, path: Path) -> None:
        root = ET.parse(path).getroot()
        option, world = root.find("option"), root.find("worldbody")
        assert option is not None
        assert world is not None
        self.gravity = _numbers(option.get("gravity"))
        self.bodies: list[ET.Element] = []
        body = world.find("body")
        while body is not None:
            self.bodies.append(body)
            body = body.find("body")

    def inverse_dynamics(self, q: Vector, v: Vector, a: Vector) -> Vector:
        """Joint torques [N m] by recursive Newton-Euler in body frames, drive inertia included."""
        rotations, positions, axes, joint = [], [], [], 0
        w, dw, acc = np.zeros(3), np.zeros(3), -self.gravity
        wrenches = []
        for body in self.bodies:
            fixed = _rotation(_numbers(body.get("quat", "1 0 0 0")))
            p = _numbers(body.get("pos", "0 0 0"))
            hinge = body.find("joint")
            axis = np.zeros(3) if hinge is None else _numbers(hinge.get("axis"))
            rate, rise, angle = (0.0, 0.0, 0.0) if hinge is None else (v[joint], a[joint], q[joint])
            joint += hinge is not None
            R = fixed @ _about(axis, angle)  # body to parent
            acc = R.T @ (acc + np.cross(dw, p) + np.cross(w, np.cross(w, p)))
            w_parent = R.T @ w
            w = w_parent + axis * rate
            dw = R.T @ dw + axis * rise + np.cross(w_parent, axis * rate)
            inertial = body.find("inertial")
            assert inertial is not None
            m, c = float(inertial.get("mass", "")), _numbers(inertial.get("pos"))
            xx, yy, zz, xy, xz, yz = _numbers(inertial.get("fullinertia"))
            I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])  # noqa: E741
            force = m * (acc + np.cross(dw, c) + np.cross(w, np.cross(w, c)))
            wrenches.append((force, I @ dw + np.cross(w, I @ w) + np.cross(c, force)))
            rotations.append(R)
            positions.append(p)
            axes.append(None if hinge is None else (axis, float(hinge.get("armature", "0"))))
        torque, f, n = [], np.zeros(3), np.zeros(3)
        for i in reversed(range(len(self.bodies))):
            f, n = wrenches[i][0] + f, wrenches[i][1] + n  # about this body's origin
            if axes[i] is not None:
                axis, armature = axes[i]
                torque.append(axis @ n + armature * a[len(q) - 1 - len(torque)])
            f = rotations[i] @ f
            n = rotations[i] @ n + np.cross(positions[i], f)
        return np.array(torque[::-1])


def _numbers(text: str | None) -> Vector:
    assert text is not None
    return np.array([float(x) for x in text.split()])


def _rotation(quaternion: Vector) -> Vector:
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _about(axis: Vector, angle: float) -> Vector:
    return _rotation(np.concatenate([[np.cos(0.5 * angle)], np.sin(0.5 * angle) * axis]))


def states(seed: int, n: int = 200) -> NDArray[np.float64]:
    """q, v, a at random, shape (n, 3, 7)."""
    return np.random.default_rng(seed).standard_normal((n, 3, 7)) * [[1.5], [3.0], [10.0]]


def test_mujoco_agrees_with_an_independent_newton_euler(wam: SimRobot) -> None:
    chain = Chain(wam.model)
    model = mujoco.MjModel.from_xml_path(str(wam.model))
    data = mujoco.MjData(model)
    for q, v, a in states(0):
        data.qpos, data.qvel, data.qacc = q, v, a
        mujoco.mj_inverse(model, data)
        np.testing.assert_allclose(data.qfrc_inverse, chain.inverse_dynamics(q, v, a), rtol=0, atol=1e-10)


def test_mujoco_agrees_with_pinocchio(wam: SimRobot) -> None:
    model = mujoco.MjModel.from_xml_path(str(wam.model))
    data = mujoco.MjData(model)
    other = pinocchio.buildModelFromMJCF(str(wam.model))
    assert tuple(other.names)[1:] == wam.axes
    other_data = other.createData()
    for q, v, a in states(1):
        data.qpos, data.qvel, data.qacc = q, v, a
        mujoco.mj_inverse(model, data)
        torque = pinocchio.rnea(other, other_data, q, v, a)
        np.testing.assert_allclose(data.qfrc_inverse, torque, rtol=0, atol=1e-10)


def test_geometry_is_that_of_table_2(wam: SimRobot) -> None:
    """The flange is where the product of the Denavit-Hartenberg matrices of 003 says."""
    half = np.pi / 2
    table = [
        (-half, 0, 0),
        (half, 0, 0),
        (-half, 0.045, 0.55),
        (half, -0.045, 0),
        (-half, 0, 0.3),
        (half, 0, 0),
    ]
    table.append((0.0, 0.0, 0.06))
    model = mujoco.MjModel.from_xml_path(str(wam.model))
    data = mujoco.MjData(model)
    for q, _, _ in states(2, 20):
        pose = np.eye(4)
        for (alpha, a, d), theta in zip(table, q, strict=True):
            ca, sa, ct, st = np.cos(alpha), np.sin(alpha), np.cos(theta), np.sin(theta)
            pose = pose @ np.array(
                [
                    [ct, -st * ca, st * sa, a * ct],
                    [st, ct * ca, -ct * sa, a * st],
                    [0, sa, ca, d],
                    [0, 0, 0, 1],
                ]
            )
        data.qpos = q
        mujoco.mj_kinematics(model, data)
        np.testing.assert_allclose(data.site("flange").xpos, pose[:3, 3], atol=1e-12)
        np.testing.assert_allclose(data.site("flange").xmat.reshape(3, 3), pose[:3, :3], atol=1e-12)


def test_inertias_give_the_cad_column_of_table_6(wam: SimRobot) -> None:
    """Base parameters of 003 that are sums of link parameters in DH frames (without the hand)."""
    half = np.pi / 2
    dh = [
        (-half, 0, 0),
        (half, 0, 0),
        (-half, 0.045, 0.55),
        (half, -0.045, 0),
        (-half, 0, 0.3),
        (half, 0, 0),
        (0, 0, 0.06),
    ]
    bodies = read_structure(wam).inertias
    m, h, L = {}, {}, {}  # mass, first moment, inertia about DH frame i
    for i, (alpha, a, d) in enumerate(dh, start=1):
        pose = np.eye(4)
        pose[:3, :3] = _about(np.array([1.0, 0.0, 0.0]), alpha)
        pose[:3, 3] = a, 0.0, d
        link = bodies[f"link{i}"].moved(np.linalg.inv(pose))
        m[i], h[i], L[i] = link.mass, link.moment, link.tensor
    beyond = {i: sum(m[k] for k in range(i, 8)) for i in range(1, 8)}
    assert L[1][1, 1] + L[2][2, 2] == pytest.approx(0.1328, abs=6e-5)  # beta 1, without the drive inertia
    assert h[2][2] - h[3][1] + 0.55 * beyond[3] == pytest.approx(2.333, abs=6e-4)  # beta 11
    assert h[4][0] - 0.045 * beyond[4] == pytest.approx(-0.1235, abs=6e-5)  # beta 31
    assert h[4][2] - h[5][1] + 0.3 * beyond[5] == pytest.approx(0.501, abs=6e-4)  # beta 32
    assert h[5][2] + h[6][1] == pytest.approx(-0.00658, abs=6e-6)  # beta 43
    assert h[6][2] + h[7][2] + 0.06 * m[7] == pytest.approx(0.01421, abs=6e-6)  # beta 54
    assert beyond[1] == pytest.approx(19.4554560, abs=1e-6)


def test_robot_file_agrees_with_the_model(wam: SimRobot) -> None:
    model = mujoco.MjModel.from_xml_path(str(wam.model))
    np.testing.assert_allclose(model.dof_armature, wam.column("drive_inertia"))
    np.testing.assert_allclose(model.jnt_range, [joint.position for joint in wam.joints])
    np.testing.assert_allclose(model.opt.gravity, wam.gravity)


def test_every_link_and_every_drawn_arm_fits_into_its_box(wam: SimRobot) -> None:
    """In a box [l, u] every mass distribution has integral of (x - l)(u - x) dm > 0 along each axis."""
    from heft.drivers.sim.truth import PerturbationOptions, draw_arm

    boxes = {name: link.box for name, link in load_robot(wam.model.with_suffix(".yaml")).links.items()}
    structure = read_structure(wam)
    arms = [
        draw_arm(wam, structure, PerturbationOptions(inertia=size), np.random.default_rng(seed)).inertias
        for seed, size in [(0, 0.0), *((seed, 0.05) for seed in range(40))]
    ]
    for inertias in arms:
        for link, inertia in structure.lump(inertias).items():
            low, high = (np.array(corner) for corner in boxes[link] or ())
            second = np.diag(inertia.pseudo[:3, :3])
            room = -second + (low + high) * inertia.moment - low * high * inertia.mass
            assert inertia.consistent
            assert (room > 0.0).all(), (link, room)
