"""The world as a whole: seeds, truth, and steps that leave no trace."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio
import pytest
from numpy.typing import NDArray

from heft.daq.config.rig import load_rig
from heft.daq.rig import Rig
from heft.drivers.errors import OptionError
from heft.drivers.plant import history

Make = Callable[..., Any]
START = np.array([0.0, -0.5, 0.0, 1.8, -1.8, 0.0, 0.0])
CAN = {"mass": 0.5, "com": (0.0, 0.0, 0.1), "inertia": (0.001, 0.001, 0.0005, 0, 0, 0)}
RIGS = Path(__file__).parents[3] / "configs" / "rigs"


async def session(bench: Make, swing: Make, seed: int, *, gripper: bool = False, chatty: bool = False) -> Any:
    b = bench(seed=seed, options={"posture": tuple(START)}).add("sim_drives", "arm", torque_noise=0.1)
    b.add("sim_encoders", "encoders").add("sim_wrench", "wrist", force_noise=0.05)
    if gripper:
        b.add("sim_gripper", "gripper", current_noise=0.01)

    async def script(b: Any) -> None:
        await b.arm.arm()
        await b.follow(swing(START, 0.25, 0.8))
        for _ in range(100):
            if chatty:  # whoever asks, and however often: the plant's way does not depend on it
                b.world.advance(b.clock.now_ns())
            await b.sleep(0.001)

    return await b.run(script)


def as_bytes(b: Any, stream: str) -> bytes:
    return b"".join(
        x.tobytes() for block in b.blocks[stream] for x in (block.host_ns, block.ticks, block.values)
    )


async def test_one_seed_one_recording(bench: Make, swing: Make) -> None:
    one, two = await session(bench, swing, 7), await session(bench, swing, 7, chatty=True)
    other = await session(bench, swing, 8)
    for stream in ("arm.motion", "arm.current", "arm.played", "encoders.position", "wrist.wrench"):
        assert as_bytes(one, stream) == as_bytes(two, stream)
        assert as_bytes(one, stream) != as_bytes(other, stream)


async def test_another_device_changes_no_other(bench: Make, swing: Make) -> None:
    one, two = await session(bench, swing, 7), await session(bench, swing, 7, gripper=True)
    for stream in ("arm.motion", "arm.current", "encoders.position", "wrist.wrench"):
        assert as_bytes(one, stream) == as_bytes(two, stream)


def test_the_truth(bench: Make, wam: Any) -> None:
    b = bench(seed=4).add("sim_drives", "arm").add("sim_encoders", "encoders")
    truth = json.loads(json.dumps(b.world.truth()))
    assert truth["seed"] == 4
    names = [
        f"link{i}.{k}"
        for i in range(1, 8)
        for k in ("m", "mx", "my", "mz", "xx", "xy", "yy", "xz", "yz", "zz")
    ]
    names += [f"joint{i}.{k}" for i in range(1, 8) for k in ("drive_inertia", "viscous", "coulomb", "offset")]
    assert set(truth["parameters"]) == set(names)
    assert 0.5 < truth["parameters"]["link7.m"] < 1.2  # the hand belongs to link 7
    cad = bench(options={"perturbation": {"inertia": 0, "drive_inertia": 0, "friction": 0}}).world.truth()[
        "parameters"
    ]
    assert cad["joint2.coulomb"] == pytest.approx(wam.joints[1].coulomb)
    assert cad["link3.m"] == pytest.approx(1.80228141)
    model = pinocchio.buildModelFromMJCF(str(wam.model))
    for i in range(1, 8):
        parameters = [v for name, v in cad.items() if name.startswith(f"link{i}.")]
        np.testing.assert_allclose(parameters, model.inertias[i].toDynamicParameters(), atol=1e-12)


def test_a_world_has_one_drive(bench: Make) -> None:
    with pytest.raises(OptionError, match="second: a motor of the simulated arm has one drive"):
        bench().add("sim_drives", "arm").add("sim_drives", "second")


@pytest.mark.parametrize("name", ["sim_wam7", "sim_wam7_lossy", "sim_wam7_hard"])
async def test_the_shipped_rigs(name: str, bench: Make, swing: Make) -> None:
    config = load_rig(RIGS / f"{name}.yaml")
    b = bench()
    rig = Rig(config, b.clock, seed=2)
    b.world, b.drivers = rig.world, rig.drivers

    async def script(b: Any) -> None:
        await b.arm.arm()
        await b.follow(swing(np.array(config.simulation.posture), 0.2, 1.5))
        await b.arm.hold()
        await b.drivers["gripper"].grip("hammer")
        await b.sleep(1.0)

    await b.run(script)
    assert not b.errors
    error = np.abs(b.values("arm.motion")[:, :7] - b.values("arm.played")[:, :7])
    empty = b.times("arm.motion") < b.world.truth()["payloads"][0]["t_pick"]
    assert error[empty].max() < 0.01
    assert error[-50:].max() < 0.01  # the hammer pulls the hand away, and the drives bring it back
    lost = {driver.name: driver.counters.lost for driver in rig}
    assert (sum(lost.values()) > 0) == name.endswith("lossy"), lost
    truth = json.loads(json.dumps(b.world.truth()))
    assert truth["delays"]["arm.current"] == 0.0013
    assert truth["delays"]["wrist.wrench"] == 0.003
    assert all(abs(clock["drift_ppm"]) <= 50 for clock in truth["clocks"].values())
    assert (truth["hard"] is not None) == name.endswith("hard")


async def test_another_robot_runs_on_the_same_plant(bench: Make, swing: Make) -> None:
    b = bench("panda")
    start = b.world.dynamics.q.copy()
    b.add("sim_drives", "arm", bandwidth_hz=10.0).add("sim_encoders", "encoders").add("sim_wrench", "wrist")
    b.add("sim_gripper", "gripper", objects={"can": CAN})

    async def script(b: Any) -> None:
        await b.arm.arm()
        await b.drivers["gripper"].grip("can")
        await b.follow(swing(start, 0.1, 1.0))

    await b.run(script)
    assert not b.errors
    assert np.abs(b.values("encoders.position") - start).max() > 0.1
    assert np.abs(b.values("arm.motion")[-900:, :7] - b.values("arm.played")[-900:, :7]).max() < 0.02
    assert len(b.world.truth()["payloads"]) == 1


def test_a_robot_that_cannot_exist_is_refused(bench: Make) -> None:
    """The table of 004 has a link whose inertia breaks the triangle inequality."""
    with pytest.raises(OptionError, match=r"MuJoCo refuses ddarm.xml: .*A \+ B >= C"):
        bench("ddarm")


def regress(b: Any, span: tuple[float, float]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Regressor (T, 7, 98) and torque (T, 7) of what the plant really did, by Pinocchio, at 250 Hz."""
    t = np.arange(*span, 0.004)
    h = b.world._history
    state, window = h.state(t), 0.001
    acceleration = (h.state(t + window / 2).v - h.state(t - window / 2).v) / window
    model = pinocchio.buildModelFromMJCF(str(b.world.robot.model))
    data = model.createData()
    Y = np.zeros((len(t), 7, 98))
    for k in range(len(t)):
        Y[k, :, :70] = pinocchio.computeJointTorqueRegressor(
            model, data, state.q[k], state.v[k], acceleration[k]
        )
    for j in range(7):
        v = state.v[:, j]
        Y[:, j, 70 + 4 * j : 74 + 4 * j] = np.column_stack(
            [acceleration[:, j], v, np.tanh(v / 0.02), np.ones_like(v)]
        )
    return Y, h.mean_torque(t - window / 2, t + window / 2)


@pytest.mark.slow
async def test_halving_the_step_moves_no_base_parameter(bench: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the standard deviations of 20 + 20 s at 1 kHz with 2 % torque noise; and the truth is found again."""
    monkeypatch.setattr(history, "CAPACITY", 1 << 16)
    rng = np.random.default_rng(0)
    t = np.arange(0.0, 40.0, 0.001)
    omega = 2 * np.pi * 0.05 * np.arange(1, 6)
    c, s = rng.uniform(-0.35, 0.35, (2, 7, 5))
    ease = np.minimum(t / 2.0, 1.0)[:, None]
    slow = ease**3 * (10 - 15 * ease + 6 * ease**2)
    q = (
        START
        + slow
        * (np.sin(np.outer(t, omega)) @ (c / omega).T + (1 - np.cos(np.outer(t, omega))) @ (s / omega).T)
        * 0.6
    )
    motion = (q, np.gradient(q, 0.001, axis=0), np.gradient(np.gradient(q, 0.001, axis=0), 0.001, axis=0))

    solutions, sigma = {}, None
    for step in (0.001, 0.0005):
        b = bench(seed=3, options={"posture": tuple(START), "step_s": step}).add(
            "sim_drives", "arm", clock_drift_ppm=0
        )

        async def script(b: Any) -> None:
            await b.arm.arm()
            await b.follow(motion)

        await b.run(script)
        Y, torque = regress(b, (0.5, 40.4))
        noise = 0.02 * np.sqrt(np.square(torque).mean(axis=0))
        W, y = (Y / noise[:, None]).reshape(-1, 98), (torque / noise).reshape(-1)
        if sigma is None:  # base directions: the singular vectors that the motion excites
            _, values, directions = np.linalg.svd(np.linalg.qr(W, mode="r"))
            rank = int((values > 1e-9 * values[0]).sum())
            base = directions[:rank]
            sigma = 1.0 / values[:rank] / np.sqrt(4.0)  # four times the samples at 1 kHz
        solutions[step], *_ = np.linalg.lstsq(W @ base.T, y, rcond=None)
    assert rank == 69
    shift = np.abs(solutions[0.001] - solutions[0.0005]) / sigma
    assert shift.max() < 0.05  # asked for: 0.2
    truth = b.world.truth()["parameters"]
    names = [
        f"link{i}.{k}"
        for i in range(1, 8)
        for k in ("m", "mx", "my", "mz", "xx", "xy", "yy", "xz", "yz", "zz")
    ]
    names += [f"joint{i}.{k}" for i in range(1, 8) for k in ("drive_inertia", "viscous", "coulomb", "offset")]
    error = np.abs(solutions[0.001] - base @ [truth[name] for name in names]) / sigma
    assert error.max() < 0.3
