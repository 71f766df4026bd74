"""Several recordings: offsets and delays of their own, or in common; a known load on the flange."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from heft.identify import Dataset, Result, Robot, Signals, fit
from heft.identify.bodies import from_mass_com_inertia
from heft.identify.data import filtered_rows
from heft.identify.errors import DataError

ROWS = [
    {"alpha": -np.pi / 2, "a": 0.0, "d": 0.1},
    {"alpha": 0.0, "a": 0.4, "d": 0.0},
    {"alpha": np.pi / 2, "a": 0.3, "d": 0.0},
]
LINK = [2.0, 0.2, 0.1, 0.1, 0.10, 0.0, 0.12, 0.0, 0.0, 0.15]
OFFSETS = ((0.3, -1.0, 0.4), (-0.5, 1.5, 0.1))
DELAYS_S = (0.002, 0.009)
NOISE = 0.05
LOAD = (1.5, np.array([0.02, -0.01, 0.08]), np.diag([4e-3, 3e-3, 5e-3]))


@pytest.fixture(scope="module")
def robot() -> Robot:
    prior = np.array([*LINK, *LINK, *LINK, *(0.1, 0.8, 0.6, 0.0) * 3])
    return replace(Robot.from_dh(ROWS), prior=prior)


def recorded(
    robot: Robot,
    seed: int,
    offset: tuple[float, ...] = (0.0, 0.0, 0.0),
    delay_s: float = 0.0,
    seconds: float = 20.0,
    load: bool = False,
) -> Dataset:
    """Torques of the robot's prior, `delay_s` late, with offsets and noise."""
    rng, t = np.random.default_rng(seed), np.arange(round(500 * seconds)) * 2e-3
    a, b = rng.uniform(-0.6, 0.6, (2, 3, 3))
    w = 2 * np.pi / 5 * np.arange(1, 4)

    def motion(t: np.ndarray) -> tuple[np.ndarray, ...]:
        s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
        return s @ a + c @ b, (c * w) @ a - (s * w) @ b, -(s * w**2) @ a - (c * w**2) @ b

    assert robot.prior is not None
    parameters = robot.prior.copy()
    if load:
        parameters[20:30] += from_mass_com_inertia(*LOAD)
    tau = robot.torque(*motion(t - delay_s), parameters) + offset
    tau = tau + NOISE * rng.standard_normal(tau.shape)
    return Dataset.from_arrays(t, motion(t)[0] + 1e-6 * rng.standard_normal((len(t), 3)), tau)


@pytest.fixture(scope="module")
def several(robot: Robot) -> list[Dataset]:
    return [recorded(robot, k, OFFSETS[k], DELAYS_S[k], (20.0, 12.0)[k]) for k in range(2)]


@pytest.fixture(scope="module")
def result(robot: Robot, several: list[Dataset]) -> Result:
    return fit(robot, several, "wls", cutoff_hz=10.0)


def misses(robot: Robot, result: Result) -> np.ndarray:
    """Errors of the base parameters in standard deviations, offsets aside."""
    assert robot.prior is not None
    off = (result.base.values - result.base.matrix @ robot.prior) / result.base.std
    return np.array([x for x, name in zip(off, result.base.names, strict=True) if ".offset" not in name])


def test_each_has_its_own_offset_and_delay(robot: Robot, result: Result) -> None:
    for one, offset, delay_s in zip(result.recordings, OFFSETS, DELAYS_S, strict=True):
        assert [one.offsets[joint] for joint in robot.joints] == pytest.approx(list(offset), abs=0.02)
        assert one.delay.low_s < delay_s < one.delay.high_s
        assert one.delay.value_s == pytest.approx(delay_s, abs=2e-4)
    assert np.abs(misses(robot, result)).max() < 4
    assert np.sqrt((misses(robot, result) ** 2).mean()) < 1.4


def test_with_a_common_one_the_parameters_are_wrong(
    robot: Robot, several: list[Dataset], result: Result
) -> None:
    assert robot.prior is not None
    for common in ("offsets", "delay"):
        shared = fit(robot, several, "wls", cutoff_hz=10.0, signals=Signals(common=(common,)))
        truth = result.base.matrix @ robot.prior
        links = np.array([".offset" not in name for name in result.base.names])
        own, other = (
            np.abs((one.base.values - truth) / result.base.std)[links].max() for one in (result, shared)
        )
        assert other > 3 * own, common
        assert shared.fit.total > 1.1 * result.fit.total


def test_the_reported_offset_and_delay_are_means_with_the_spread(robot: Robot, result: Result) -> None:
    for j, joint in enumerate(robot.joints):
        interval = result.intervals[f"{joint}.offset"]
        mean = (20 * OFFSETS[0][j] + 12 * OFFSETS[1][j]) / 32  # by rows
        assert interval.value == pytest.approx(mean, abs=0.03)
        assert interval.low <= min(one[j] for one in OFFSETS) + 0.02
        assert interval.high >= max(one[j] for one in OFFSETS) - 0.02
    (delay,) = result.delays.values()
    assert delay.low_s < min(DELAYS_S) < max(DELAYS_S) < delay.high_s


def test_the_same_answer_as_with_a_column_for_each_offset(robot: Robot, several: list[Dataset]) -> None:
    """Against least squares with six offsets, solved in full."""
    result = fit(robot, several, "ols", cutoff_hz=10.0, signals=Signals(delay_s=0.005))
    rows, torques = [], []
    independent = [
        i
        for i in range(len(robot.parameter_names))
        if result.base.matrix[:, i].any() and not robot.parameter_names[i].endswith(".offset")
    ]
    for g, data in enumerate(several):
        for block in filtered_rows(robot, data, result.processing, delay_s=0.005):
            for j in range(3):
                part = block.layout.row(j)
                dense = np.zeros((len(block.table), len(robot.parameter_names) + 1))
                dense[:, block.layout.parameters[part]] = block.table[:, part]
                own = np.zeros((len(dense), 6))
                own[:, 3 * g + j] = dense[:, robot.parameter_names.index(f"joint{j + 1}.offset")]
                kept = block.keep[:, j]
                rows.append(np.hstack([dense[:, independent], own])[kept])
                torques.append(block.torque[kept, j])
    found = np.linalg.lstsq(np.concatenate(rows), np.concatenate(torques), rcond=1e-10)[0]
    base = result.base.matrix[:, independent] @ found[: len(independent)]
    for value, expected, name in zip(result.base.values, base, result.base.names, strict=True):
        if ".offset" not in name:
            assert value == pytest.approx(expected, rel=1e-6, abs=1e-7), name
    own = np.array([[one.offsets[joint] for joint in robot.joints] for one in result.recordings])
    np.testing.assert_allclose(own.ravel(), found[len(independent) :], atol=1e-6)


def test_intervals_cover_over_seeds(robot: Robot) -> None:
    pooled = []
    for seed in range(8):
        data = [recorded(robot, 10 * seed + k, OFFSETS[k], DELAYS_S[k], 8.0) for k in range(2)]
        pooled.append(misses(robot, fit(robot, data, "wls", cutoff_hz=8.0)))
    inside = np.mean(np.abs(np.concatenate(pooled)) < 1.98)
    assert 0.9 < inside <= 1.0


def test_robust_weights_go_with_own_offsets(robot: Robot, several: list[Dataset]) -> None:
    tau = several[0].tau.copy()
    tau[2000:2300] += 40.0
    knocked = [Dataset.from_arrays(several[0].t, several[0].q, tau), several[1]]
    result = fit(robot, knocked, "irls", cutoff_hz=10.0)
    assert [result.recordings[0].offsets[joint] for joint in robot.joints] == pytest.approx(
        list(OFFSETS[0]), abs=0.05
    )
    assert np.abs(misses(robot, result)).max() < 6


def test_a_recording_too_slow_for_its_own_delay_shares_one(robot: Robot, several: list[Dataset]) -> None:
    creeping = recorded(robot, 7)
    slow = Dataset.from_arrays(creeping.t, 0.02 * creeping.q + 0.5, 0 * creeping.tau + 1.0)
    result = fit(robot, [several[0], slow], "wls", cutoff_hz=10.0)
    assert any("one delay was taken out of all recordings" in line for line in result.warnings)
    assert result.recordings[0].delay == result.recordings[1].delay


def test_parts_of_one_recording_have_them_in_common(robot: Robot, several: list[Dataset]) -> None:
    halves = [replace(part, part_of="session") for part in several[0].split(0.5)]
    assert fit(robot, halves, "wls", cutoff_hz=10.0).recordings == ()


def test_a_known_load_joins_the_fit(robot: Robot) -> None:
    bare = recorded(robot, 0, OFFSETS[0], DELAYS_S[0])
    loaded = recorded(robot, 1, OFFSETS[1], DELAYS_S[1], load=True)
    told = fit(robot, [bare, loaded.with_load(*LOAD)], "wls", cutoff_hz=10.0)
    assert np.abs(misses(robot, told)).max() < 4
    untold = fit(robot, [bare, loaded], "wls", cutoff_hz=10.0)
    assert (
        np.abs(
            misses(robot, replace(untold, base=replace(untold.base, covariance=told.base.covariance)))
        ).max()
        > 20
    )
    assert told.recordings[1].load is not None
    assert any("known load of 1.5 kg" in line for line in told.warnings)
    prediction = told.predict(loaded.with_load(*LOAD))
    assert np.abs(prediction.residual).max() < 0.2
    assert np.abs(prediction.measured).max() > np.abs(told.predict(bare).measured).max()
    assert told.relative_error(loaded.with_load(*LOAD)).total < 0.5 * told.relative_error(loaded).total


def test_loads_that_cannot_be() -> None:
    t = np.arange(100) * 1e-3
    data = Dataset.from_arrays(t, np.sin(t)[:, None], np.cos(t)[:, None])
    with pytest.raises(DataError, match="mass of 0 kg or more"):
        data.with_load(-1.0, (0, 0, 0))
    with pytest.raises(DataError, match="the largest is above the sum"):
        data.with_load(1.0, (0, 0, 0), np.diag([1e-3, 1e-3, 5e-3]))
    with pytest.raises(DataError, match="none may be below 0"):
        data.with_load(1.0, (0, 0, 0), np.diag([-1e-3, 1e-3, 1e-3]))


def test_the_result_keeps_it(result: Result, several: list[Dataset]) -> None:
    again = Result.from_dict(json.loads(json.dumps(result.to_dict())))
    assert [one.to_dict() for one in again.recordings] == [one.to_dict() for one in result.recordings]
    assert result.provenance.configuration["common"] == []
    own = [again.predict(one) for one in several]
    assert max(float(np.abs(one.residual.mean(axis=0)).max()) for one in own) < 0.01


def test_what_can_be_common(robot: Robot, several: list[Dataset]) -> None:
    with pytest.raises(DataError, match="'friction' in common; choose of offsets, delay"):
        fit(robot, several, signals=Signals(common=("friction",)))
