"""Every noise, bias, drift, delay, clock and loss is what the options say, measured from the yielded blocks."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from heft.drivers.errors import OptionError

Make = Callable[..., Any]
START = np.array([0.0, -0.5, 0.0, 1.8, -1.8, 0.0, 0.0])


async def wait(bench: Any, seconds: float) -> Any:
    return await bench.run(lambda b: b.sleep(seconds))


async def move(bench: Any, swing: Make, seconds: float = 2.0) -> Any:
    """All joints swing; the bench keeps what came."""

    async def script(b: Any) -> None:
        await b.arm.arm()
        await b.follow(swing(START, 0.25, seconds))
        await b.sleep(0.05)

    return await bench.run(script)


def best_delay(t: NDArray[np.float64], measured: NDArray[np.float64], truth: Make) -> float:
    """The delay d [s] for which truth(t - d) is closest to what was measured: one Gauss-Newton step from a scan."""
    scan = np.arange(0.0, 0.006, 0.0005)
    d = scan[np.argmin([np.square(truth(t - d) - measured).sum() for d in scan])]
    slope = (truth(t - d - 1e-5) - truth(t - d + 1e-5)) / 2e-5
    return float(d + (slope * (measured - truth(t - d))).sum() / np.square(slope).sum())


async def test_encoders_count(bench: Make) -> None:
    """19 bits per turn, and the count nearest to the position."""
    b = await wait(bench(options={"posture": tuple(START)}).add("sim_encoders", "encoders"), 0.1)
    stream = b.drivers["encoders"].streams[0]
    counts = b.blocks["encoders.position"][0].values
    np.testing.assert_array_equal(counts, np.tile(np.rint(START / (2 * np.pi) * 2**19), (len(counts), 1)))
    np.testing.assert_allclose(stream.scale, 2 * np.pi / 2**19)


async def test_quantisation_of_a_moving_joint(bench: Make, swing: Make) -> None:
    b = (
        bench(options={"posture": tuple(START)})
        .add("sim_drives", "arm")
        .add("sim_encoders", "encoders", bits=12)
    )
    b = await move(b, swing)
    error = b.values("encoders.position") - b.world.joint_positions(b.times("encoders.position"))
    step = 2 * np.pi / 2**12
    assert np.abs(error).max() < 0.51 * step
    moving = error[1000:2000]
    np.testing.assert_allclose(moving.std(axis=0), step / np.sqrt(12), rtol=0.15)


async def test_noise(bench: Make) -> None:
    b = bench(options={"posture": tuple(START)})
    b.add("sim_encoders", "encoders", noise=0.001).add(
        "sim_wrench", "wrist", force_noise=0.05, torque_noise=0.002
    )
    torque_noise = (0.1, 0.4, 0.1, 0.1, 0.05, 0.05, 0.02)
    b.add("sim_drives", "arm", torque_noise=torque_noise, velocity_noise=0.01, current_resolution=1e-5)
    b = await wait(b, 4.0)
    np.testing.assert_allclose(b.values("encoders.position").std(axis=0), 0.001, rtol=0.06)
    np.testing.assert_allclose(b.values("wrist.wrench").std(axis=0), [0.05] * 3 + [0.002] * 3, rtol=0.06)
    torque = b.values("arm.current") * b.world.robot.column("torque_per_ampere")
    np.testing.assert_allclose(torque.std(axis=0), torque_noise, rtol=0.06)
    np.testing.assert_allclose(b.values("arm.motion")[:, 7:].std(axis=0), 0.01, rtol=0.06)
    truth = b.world.truth()["noise"]
    np.testing.assert_allclose(truth["wrist.wrench"], [0.05] * 3 + [0.002] * 3)
    np.testing.assert_allclose(truth["arm.current"] * b.world.robot.column("torque_per_ampere"), torque_noise)
    noise = b.values("wrist.wrench") - b.values("wrist.wrench").mean(axis=0)
    white = (noise[1:] * noise[:-1]).mean(axis=0) / np.square(noise).mean(axis=0)
    assert np.abs(white).max() < 0.06


async def test_bias_and_its_drift(bench: Make) -> None:
    b = bench(options={"posture": tuple(START)}, seed=5)
    b.add(
        "sim_wrench", "wrist", force_bias=2.0, torque_bias=0.1, force_bias_drift=0.1, torque_bias_drift=0.005
    )
    b = await wait(b, 3.0)
    t, wrench = b.times("wrist.wrench"), b.values("wrist.wrench")
    still = b.world.wrench(np.array([1.0]), 0.001)[0]
    slope, start = np.polyfit(t, wrench - still, 1)
    truth = b.world.truth()["sensors"]["wrist.wrench"]
    np.testing.assert_allclose(start, truth["bias"], atol=1e-3)
    np.testing.assert_allclose(slope, truth["drift"], atol=1e-3)
    assert 0.3 < np.std(np.array(truth["bias"]) / ([2.0] * 3 + [0.1] * 3)) < 2.0
    assert 0.3 < np.std(np.array(truth["drift"]) / ([0.1] * 3 + [0.005] * 3)) < 2.0


async def test_delays(bench: Make, swing: Make) -> None:
    """Current 1.3 ms, F/T 3 ms, encoders as given; each found again from the values alone, to 10 us."""
    b = bench(options={"posture": tuple(START)}).add("sim_drives", "arm", current_resolution=1e-6)
    b.add("sim_wrench", "wrist", force_resolution=1e-6, torque_resolution=1e-6).add(
        "sim_encoders", "encoders", delay_s=0.002
    )
    b = await move(b, swing, 3.0)
    use = slice(600, 3200)
    world = b.world
    for stream, truth, expected in (
        (
            "arm.current",
            lambda t: world.mean_torque(t, 0.001) / world.robot.column("torque_per_ampere"),
            0.0013,
        ),
        ("wrist.wrench", lambda t: world.wrench(t, 0.001), 0.003),
        ("encoders.position", lambda t: world.joint_positions(t), 0.002),
    ):
        found = best_delay(b.times(stream)[use], b.values(stream)[use], truth)
        assert found == pytest.approx(expected, abs=1e-5), stream
        assert world.truth()["delays"][stream] == expected
    assert world.truth()["delays"]["arm.motion"] == 0.0


async def test_wrench_moves_with_the_motion_three_milliseconds_ago(bench: Make, swing: Make) -> None:
    """Independent of the world's own wrench: Newton's law for the hand, from the positions that encoders gave."""
    import mujoco

    b = bench(options={"posture": tuple(START), "perturbation": {"inertia": 0.0}})
    b.add("sim_drives", "arm").add("sim_encoders", "encoders", bits=30).add("sim_wrench", "wrist")
    b = await move(b, swing, 2.0)
    model = mujoco.MjModel.from_xml_path(str(b.world.robot.model))
    data = mujoco.MjData(model)

    def hand(q: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        data.qpos = q
        mujoco.mj_kinematics(model, data)
        return data.body("hand").xipos.copy(), data.site("sensor").xmat.reshape(3, 3).copy()

    t, q = b.times("encoders.position"), b.values("encoders.position")
    h = 10  # acceleration of the centre of mass over 20 ms, from positions alone
    rows = range(800, 2000, 40)
    force_at = []
    for i in rows:
        before, (now, rotation), after = hand(q[i - h])[0], hand(q[i]), hand(q[i + h])[0]
        acceleration = (after - 2 * now + before) / (h * 0.001) ** 2
        force_at.append(rotation.T @ (model.body("hand").mass[0] * (acceleration - b.world.robot.gravity)))
    stamps = b.times("wrist.wrench")
    wrench = b.values("wrist.wrench")[:, :3]

    def misfit(delay: float) -> float:
        there = np.column_stack([np.interp(t[list(rows)] + delay, stamps, column) for column in wrench.T])
        return float(np.abs(there - force_at).max())

    assert misfit(0.003) < 0.02
    assert misfit(0.003) < min(misfit(0.001), misfit(0.005))


async def test_clocks_drift_and_jitter_is_one_sided(bench: Make) -> None:
    b = bench(seed=3).add("sim_encoders", "encoders", clock_drift_ppm=400, latency_s=0.0004, jitter_s=0.0002)
    b.add("sim_wrench", "wrist")
    b = await wait(b, 8.0)
    truth = b.world.truth()["clocks"]
    assert abs(truth["encoders"]["drift_ppm"]) < 400
    assert abs(truth["wrist"]["drift_ppm"]) < 50
    assert truth["encoders"]["offset_s"] != truth["wrist"]["offset_s"]
    blocks = b.blocks["encoders.position"]
    ticks = np.concatenate([block.ticks for block in blocks]) * 1e-6
    host = np.concatenate([block.host_ns for block in blocks])
    assert (np.diff(host) >= 0).all()
    late = (host - b.world.start_ns) * 1e-9 - b.times("encoders.position")
    assert late.min() == pytest.approx(0.0004, abs=2e-5)  # the latency; nothing is ever early
    assert late.mean() - 0.0004 == pytest.approx(0.0002, rel=0.1)
    assert late.std() == pytest.approx(0.0002, rel=0.1)
    drift = (ticks[-1] - ticks[0]) / ((host[-1] - host[0]) * 1e-9) - 1.0
    assert drift * 1e6 == pytest.approx(
        truth["encoders"]["drift_ppm"], abs=150
    )  # as good as two stamps can tell
    assert b.world.truth()["delays"]["encoders.position"] == 0.0004


async def test_ticks_wrap(bench: Make) -> None:
    b = await wait(bench().add("sim_encoders", "encoders", tick_bits=16, block=10), 0.5)
    ticks = np.concatenate([block.ticks for block in b.blocks["encoders.position"]])
    assert ticks.min() >= 0
    assert ticks.max() < 1 << 16
    assert (np.diff(ticks) < 0).sum() in (7, 8)
    np.testing.assert_allclose(np.diff(ticks) % (1 << 16), 1000, atol=1)


async def test_blocks_are_cut_by_count(bench: Make) -> None:
    b = bench().add("sim_encoders", "encoders", block=25).add("sim_gripper", "gripper")
    b = await wait(b, 0.5)
    assert {len(block) for block in b.blocks["encoders.position"]} == {25}
    assert {len(block) for block in b.blocks["gripper.state"]} == {1}
    for blocks in b.blocks.values():
        assert blocks[0].sequence == 0
        assert all(x.next_sequence == y.sequence for x, y in pairwise(blocks))


async def test_full_scale_is_marked(bench: Make) -> None:
    b = bench(options={"posture": tuple(START)}).add("sim_wrench", "wrist", force_range=5.0)
    b = await wait(b, 0.1)
    block = b.blocks["wrist.wrench"][0]
    clipped = block.validity[0] == 1
    assert clipped[:3].any()
    assert not clipped[3:].any()
    np.testing.assert_array_equal(np.abs(block.values[0, clipped]), 5000)
    assert np.isnan(block.si[0, clipped]).all()


def test_options_that_cannot_be(bench: Make) -> None:
    with pytest.raises(OptionError, match=r"wrist: delay_s is 0.0001 s, less than half a sample period"):
        bench().add("sim_wrench", "wrist", delay_s=0.0001)
    with pytest.raises(OptionError, match=r"encoders.noise: 2 numbers, expected 7"):
        bench().add("sim_encoders", "encoders", noise=(0.1, 0.2))
    with pytest.raises(OptionError, match=r"arm: watchdog_s is 0.02 s, but the host reads blocks of 0.01 s"):
        bench().add("sim_drives", "arm", watchdog_s=0.02)
    with pytest.raises(OptionError, match=r"simulation.posture: 5.0 rad for joint1 is outside"):
        bench(options={"posture": (5.0, 0, 0, 0, 0, 0, 0)})
