"""Sensors anywhere in the body agree with Pinocchio's inverse dynamics of the true parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from numpy.typing import NDArray

from heft.drivers.errors import OptionError

Make = Callable[..., Any]
Array = NDArray[np.float64]
TERMS = ("m", "mx", "my", "mz", "xx", "xy", "yy", "xz", "yz", "zz")
WINDOW_S = 0.001
CRANE = {"suspension": {"frame": "crane_hook"}}


def true_model(bench: Any) -> Any:
    """Pinocchio's model of the robot's file with the true inertias of the world."""
    model = pin.buildModelFromMJCF(str(bench.world.robot.model))
    truth = bench.world.truth()["parameters"]
    for joint in range(1, model.njoints):
        (body,) = [
            frame.name
            for frame in model.frames
            if frame.type == pin.FrameType.BODY
            and frame.parentJoint == joint
            and model.frames[frame.parentFrame].type == pin.FrameType.JOINT
        ]
        ten = np.array([truth[f"{body}.{term}"] for term in TERMS])
        model.inertias[joint] = pin.Inertia.FromDynamicParameters(ten)
    return model


def joint_motion(bench: Any, t: Array) -> tuple[Array, Array, Array]:
    """Positions, velocities and mean accelerations of the joints, shape (N, n) each."""
    world = bench.world
    before, after = world.motor(t - 0.5 * WINDOW_S).v, world.motor(t + 0.5 * WINDOW_S).v
    state = world.motor(t)
    return state.q, state.v, (after - before) / WINDOW_S


def at(model: Any, frame: str, wrench: pin.Force, joint: int) -> Array:
    """A wrench on the body of a joint, in that joint's frame, as force and torque in a frame that is fixed to it."""
    place = model.frames[model.getFrameId(frame)]
    assert place.parentJoint == joint
    answer: Array = place.placement.actInv(wrench).vector
    return answer


async def moved(bench: Any, swing: Make, amplitude: float, seconds: float = 1.2) -> Array:
    """The joints swing; times [s] in the middle of it, at which the plant still remembers all."""
    start = bench.world.present()[0].copy()

    async def script(b: Any) -> None:
        await b.arm.arm()
        await b.follow(swing(start, amplitude, seconds))

    await bench.run(script)
    now = bench.world.seconds(bench.clock.now_ns())
    return np.linspace(now - 0.5, now - 0.05, 12)


async def test_the_crane_carries_what_the_motion_of_a_free_base_needs(bench: Make, swing: Make) -> None:
    """000, Eq. 33, from the IMU and the encoders alone: the base-link equations are the crane's wrench."""
    b = bench("humanoid", options=CRANE).add("sim_drives", "arm", bandwidth_hz=8.0, reports_current=False)
    t = await moved(b, swing, 0.12)
    model = true_model(b)
    data = model.createData()
    q, v, a = joint_motion(b, t)
    imu, orientation = b.world.imu(t, WINDOW_S, "imu")
    rates = [b.world.imu(t + side * 0.5 * WINDOW_S, WINDOW_S, "imu")[0][:, :3] for side in (-1, 1)]
    crane = b.world.wrench(t, WINDOW_S, "crane_hook")
    ankle = b.world.wrench(t, WINDOW_S, "left_ankle_ft")
    place = model.frames[model.getFrameId("imu")].placement
    foot = model.getJointId("left_ankle_roll")
    for k in range(len(t)):
        # The IMU's frame is parallel to the trunk's; a rest at the origin with the gravity that it feels.
        w, alpha = imu[k, :3], (rates[1][k] - rates[0][k]) / WINDOW_S
        r = place.translation
        felt = imu[k, 3:] - np.cross(alpha, r) - np.cross(w, np.cross(w, r))
        model.gravity.linear = np.zeros(3)
        pose = np.r_[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, q[k]]
        force = pin.rnea(model, data, pose, np.r_[0.0, 0.0, 0.0, w, v[k]], np.r_[felt, alpha, a[k]])
        expected = at(model, "crane_hook", pin.Force(force[:6]), 1)
        np.testing.assert_allclose(crane[k], expected, atol=2e-3 * np.abs(crane).max())
        expected = at(model, "left_ankle_ft", data.f[foot], foot)
        np.testing.assert_allclose(ankle[k], expected, atol=2e-3 * np.abs(ankle).max())
    assert crane[:, :3].std() > 20.0  # it swings
    assert np.abs(orientation[:, :3]).max() > 0.005
    np.testing.assert_allclose(np.linalg.norm(orientation, axis=1), 1.0, atol=1e-12)


async def test_at_rest_it_hangs(bench: Make) -> None:
    """The crane carries the weight, the accelerometer feels gravity alone, and nothing turns or moves."""
    b = bench("humanoid", options=CRANE).add("sim_drives", "arm", bandwidth_hz=8.0).add("sim_imu", "imu")
    before = b.world.base()[0].copy()
    b = await b.run(lambda bench: bench.sleep(0.5))
    t = np.array([0.4])
    truth = b.world.truth()["parameters"]
    mass = sum(value for name, value in truth.items() if name.endswith(".m"))
    assert {name.split(".")[0] for name in truth if name.endswith(".m")} >= {
        "trunk",
        "left_foot",
        "right_hand",
    }
    assert np.linalg.norm(b.world.wrench(t, 0.001, "crane_hook")[0, :3]) == pytest.approx(
        9.81 * mass, rel=1e-5
    )
    inertial, orientation = b.world.imu(t, 0.001, "imu")
    x, y, z, w = orientation[0]
    up = np.array([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)])
    np.testing.assert_allclose(inertial[0, 3:], 9.81 * up, atol=2e-3)
    np.testing.assert_allclose(b.values("imu.imu")[-1, 3:6], 9.81 * up, atol=2e-3)
    np.testing.assert_allclose(inertial[0, :3], 0.0, atol=1e-3)
    np.testing.assert_allclose(b.world.base()[0], before, atol=1e-5)


async def test_a_sensor_inside_a_link_carries_what_lies_beyond_it(bench: Make, swing: Make) -> None:
    """The part of the link below the sensor, and all links after it (001)."""
    b = bench("leg").add("sim_drives", "arm", bandwidth_hz=12.0)
    t = await moved(b, swing, 0.2)
    model = true_model(b)
    data = model.createData()
    part = b.world.arm.inertias["thigh_top"]
    inertia = pin.Inertia(part.mass, part.com, part.tensor_com)
    roll, yaw = model.getJointId("hip_roll"), model.getJointId("hip_yaw")
    top = model.frames[model.getFrameId("thigh_top")].placement
    measured = b.world.wrench(t, WINDOW_S, "thigh_ft")
    for k, (q, v, a) in enumerate(zip(*joint_motion(b, t), strict=True)):
        pin.rnea(model, data, q, v, a)
        speed, push = top.actInv(data.v[roll]), top.actInv(data.a_gf[roll])
        own = pin.Force((inertia * push).vector + speed.cross(inertia * speed).vector)
        beyond = top.actInv(data.liMi[yaw].act(data.f[yaw]))
        np.testing.assert_allclose(measured[k], (own + beyond).vector, atol=2e-3 * np.abs(measured).max())


async def test_a_plate_carries_the_arm_and_its_base(bench: Make, swing: Make) -> None:
    options = {"posture": (0.0, -0.5, 0.0, 1.8, -1.8, 0.0, 0.0)}
    b = bench("wam7_on_plate", options=options).add("sim_drives", "arm")
    t = await moved(b, swing, 0.2)
    model = true_model(b)
    data = model.createData()
    measured = b.world.wrench(t, WINDOW_S, "plate")
    plate = pin.SE3(
        pin.rpy.rpyToMatrix(0.0, 0.0, np.pi / 6), np.array([0.0, 0.0, -0.346])
    )  # wam7_on_plate.xml
    weight = pin.Force(9.97 * 9.81 * np.array([0.0, 0.0, 1.0]), 9.97 * 9.81 * np.array([0.0, -0.01, 0.0]))
    for k, (q, v, a) in enumerate(zip(*joint_motion(b, t), strict=True)):
        pin.rnea(model, data, q, v, a)
        expected = plate.actInv(data.liMi[1].act(data.f[1]) + weight).vector
        np.testing.assert_allclose(measured[k], expected, atol=2e-3 * np.abs(measured).max())


async def test_an_imu_that_is_mounted_upside_down(bench: Make) -> None:
    b = bench("humanoid", options=CRANE).add("sim_drives", "arm", bandwidth_hz=8.0, reports_current=False)
    b.add("sim_imu", "imu", turned_deg=(180.0, 0.0, 0.0))
    b = await b.run(lambda bench: bench.sleep(0.1))
    assert b.values("imu.imu")[-1, 5] == pytest.approx(-9.81, abs=0.02)
    assert abs(b.values("imu.imu")[-1, 6]) == pytest.approx(1.0, abs=0.01)  # half a turn about x


async def test_a_sensor_that_is_turned_or_of_the_other_sign(bench: Make) -> None:
    posture = {"posture": (0.0, -0.5, 0.0, 1.8, -1.8, 0.0, 0.0)}
    right = bench("wam7_on_plate", options=posture).add(
        "sim_wrench", "plate", force_range=900.0, torque_range=200.0
    )
    wrong = bench("wam7_on_plate", options=posture)
    wrong.add(
        "sim_wrench",
        "plate",
        turned_deg=(0.0, 0.0, 225.0),
        reaction=True,
        force_range=900.0,
        torque_range=200.0,
    )
    right, wrong = [await b.run(lambda bench: bench.sleep(0.1)) for b in (right, wrong)]
    there, here = right.values("plate.wrench")[-1], wrong.values("plate.wrench")[-1]
    c, s = np.cos(np.deg2rad(225.0)), np.sin(np.deg2rad(225.0))
    about_z = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(here[3:], -about_z.T @ there[3:], atol=1e-3)
    assert here[2] == pytest.approx(-there[2])


async def test_an_imu_reads_what_its_options_say(bench: Make) -> None:
    sizes = {"gyro_noise": 0.002, "accelerometer_noise": 0.02, "orientation_noise": 0.001}
    biases = {"gyro_bias": 0.01, "accelerometer_bias": 0.1, "gyro_bias_drift": 0.001}
    b = bench("humanoid", options=CRANE, seed=2).add("sim_imu", "imu", **sizes, **biases)
    b = await b.run(lambda bench: bench.sleep(2.0))
    t, values = b.times("imu.imu"), b.values("imu.imu")
    slope, start = np.polyfit(t, values, 1)
    truth = b.world.truth()["sensors"]["imu.imu"]
    np.testing.assert_allclose(start[:3], truth["bias"][:3], atol=4e-4)
    np.testing.assert_allclose(slope[:3], truth["drift"][:3], atol=4e-4)
    noise = (values - start - t[:, None] * slope).std(axis=0)
    np.testing.assert_allclose(noise[:6], [0.002] * 3 + [0.02] * 3, rtol=0.08)
    stream = b.drivers["imu"].streams[0]
    assert [c.quantity for c in stream.columns] == ["gyro"] * 3 + ["accelerometer"] * 3 + ["orientation"] * 4
    assert stream.frame == "imu"
    b = bench("humanoid", options=CRANE).add("sim_imu", "imu", orientation=False)
    assert b.drivers["imu"].streams[0].width == 6


def test_places_that_cannot_be(bench: Make) -> None:
    humanoid = bench("humanoid", options=CRANE).world.robot
    with pytest.raises(
        OptionError, match=r"crane\.frame: humanoid\.xml has no site or body named 'hok'; it has"
    ):
        bench(replace(humanoid, places={"crane": "hok"}), options=CRANE)
    with pytest.raises(OptionError, match=r"simulation\.suspension: missing, and the robot's base is free"):
        bench("humanoid")
    with pytest.raises(OptionError, match=r"'left_palm' is no site of trunk in humanoid.xml"):
        bench("humanoid", options={"suspension": {"frame": "left_palm"}})
    with pytest.raises(OptionError, match="say `base: free` in the robot's file"):
        bench(replace(humanoid, free=False), options={})
    with pytest.raises(OptionError, match="hand_imu: nobody says where it sits"):
        bench("humanoid", options=CRANE).add("sim_imu", "hand_imu")
    with pytest.raises(OptionError, match="knee: nobody says where it sits"):
        bench("leg").add("sim_wrench", "knee")
