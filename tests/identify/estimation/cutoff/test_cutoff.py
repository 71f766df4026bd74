"""The cut-off: what a first look sees, what it expects, and what it takes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from heft.identify import Dataset, Processing, Result, Robot, Signals, fit
from heft.identify.estimation.cutoff import Tradeoff, choice, choose
from heft.identify.estimation.cutoff.spectra import PART_S, PARTS, estimate_spectra

ROWS = [{"alpha": -np.pi / 2, "a": 0.0, "d": 0.1}, {"alpha": 0.0, "a": 0.4, "d": 0.0}]
LINK = [2.0, 0.2, 0.1, 0.1, 0.10, 0.0, 0.12, 0.0, 0.0, 0.15]
NOISE = 0.05
Make = Callable[..., Dataset]


@pytest.fixture(scope="module")
def robot() -> Robot:
    prior = np.array([*LINK, *LINK, 0.1, 0.8, 0.6, 0.1, 0.1, 0.8, 0.6, 0.1])
    return replace(Robot.from_dh(ROWS), prior=prior)


@pytest.fixture(scope="module")
def make(robot: Robot) -> Make:
    def data(
        seconds: float = 30.0, positions: float = 1e-7, delay_s: float = 0.0, vibration: float = 0.0
    ) -> Dataset:
        """Three harmonics of 4 s; noise on torques and positions; the second joint's torque trembles at 9 to 11 Hz."""
        rng, t = np.random.default_rng(1), np.arange(round(1000 * seconds)) * 1e-3
        a, b = np.random.default_rng(4).uniform(-0.6, 0.6, (2, 3, 2))
        w = 2 * np.pi / 4 * np.arange(1, 4)

        def motion(t: np.ndarray) -> tuple[np.ndarray, ...]:
            s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
            return s @ a + c @ b, (c * w) @ a - (s * w) @ b, -(s * w**2) @ a - (c * w**2) @ b

        tau = robot.torque(*motion(t - delay_s), robot.prior) + NOISE * rng.standard_normal((len(t), 2))
        for f in (9.0, 9.7, 10.3, 11.0):
            tau[:, 1] += vibration * np.sin(2 * np.pi * f * t + f)
        return Dataset.from_arrays(t, motion(t)[0] + positions * rng.standard_normal((len(t), 2)), tau)

    return data


@pytest.mark.parametrize("delay_s", [0.0, 0.006])
def test_the_residual_of_a_good_model_is_the_sensors_noise(robot: Robot, make: Make, delay_s: float) -> None:
    found = estimate_spectra(robot, [make(delay_s=delay_s)], Processing(12.0), 20.0)
    assert found is not None
    np.testing.assert_allclose(np.sqrt(500 * found.floor), NOISE, rtol=0.03)
    upper = found.frequency > 2
    level = np.sqrt(found.residual[:, upper] @ found.width[upper] / found.width[upper].sum() / found.floor)
    np.testing.assert_allclose(level, 1.0, atol=0.1)
    assert found.torque[1].sum() == pytest.approx(float((make().tau[:, 1] ** 2).mean()), rel=0.2)


def test_a_good_arm_is_cut_where_arms_bend(robot: Robot, make: Make) -> None:
    processing, found = choose(robot, [make()])
    assert processing.cutoff_hz == 20.0
    assert found is not None
    assert "arms bend" in found.reason
    assert found.taken.std == 1.0
    kept = [one.kept for one in found.candidates]
    assert kept == sorted(kept)
    assert kept[-1] > 0.99
    assert found.taken.residual == pytest.approx(1.0, abs=0.1)


def test_noise_of_positions_is_foreseen_and_lowers_the_cutoff(robot: Robot, make: Make) -> None:
    data = make(positions=5e-5)
    processing, found = choose(robot, [data])
    assert found is not None
    assert 3 < processing.cutoff_hz < 10
    assert "noise of the positions" in found.reason
    for name in ("position_noise", "bias"):
        values = [getattr(one, name) for one in found.candidates]
        assert values == sorted(values), name
    assert found.taken.position_noise < 0.05 < found.candidates[found.chosen + 1].position_noise
    assert found.candidates[-1].position_noise > 0.8
    assert found.candidates[-1].residual > 3


def test_what_trembles_is_cut_off(robot: Robot, make: Make) -> None:
    processing, found = choose(robot, [make(vibration=0.1)])
    assert found is not None
    assert processing.cutoff_hz < 9
    assert "as loud" in found.reason or "errors are" in found.reason
    assert found.candidates[-1].residual > 2 * found.taken.residual


def test_expected_standard_deviations_are_those_of_fits(robot: Robot, make: Make) -> None:
    data = make()
    _, found = choose(robot, [data])
    assert found is not None
    sizes = {}
    for one in (found.candidates[-1], found.candidates[2]):
        std = fit(robot, data, "wls", cutoff_hz=one.cutoff_hz, signals=Signals(delay_s=0.0)).base.std
        sizes[one.cutoff_hz] = float(np.exp(np.log(std).mean())), one.std
    (high, told_high), (low, told_low) = sizes.values()
    assert low / high == pytest.approx(told_low / told_high, rel=0.12)


def test_a_given_cutoff_is_kept_and_shown_beside_others(robot: Robot, make: Make) -> None:
    result = fit(robot, make(seconds=10.0), "wls", cutoff_hz=3.3)
    assert result.processing.cutoff_hz == 3.3
    assert result.tradeoff is not None
    assert result.tradeoff.given
    assert result.tradeoff.taken.cutoff_hz == 3.3
    assert len(result.tradeoff.candidates) > 4


def test_a_long_session_is_looked_at_in_parts(robot: Robot, make: Make) -> None:
    whole = make(seconds=90.0)
    parts = [whole.between(0, 50), whole.between(50, 90)]
    _, found = choose(robot, parts)
    assert found is not None
    assert found.looked_s < PARTS * PART_S
    again = choose(robot, parts)[1]
    assert again is not None
    assert again.to_dict() == found.to_dict()


def test_too_full_of_gaps_to_look(robot: Robot, make: Make) -> None:
    whole = make(seconds=20.0)
    there = np.arange(len(whole)) % 200 < 120  # 80 ms of every 200 ms are lost
    processing, found = choose(robot, [Dataset.from_arrays(whole.t[there], whole.q[there], whole.tau[there])])
    assert 3 < processing.cutoff_hz <= 20
    assert found.cutoff_hz == processing.cutoff_hz
    assert (found.taken, found.spectrum) == (None, None)
    assert found.reason == "no look at other cut-offs: gaps and the filters' ends leave nothing of the data"
    assert Tradeoff.from_dict(json.loads(json.dumps(found.to_dict()))) == found


def test_a_look_that_fails_is_told(robot: Robot, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A safe value from the motion alone, and a word about it in the result."""
    monkeypatch.setattr(choice, "estimate_spectra", lambda *_: None)
    result = fit(robot, make(seconds=10.0), "wls")
    assert result.tradeoff is not None
    assert result.tradeoff.reason.startswith("no look at other cut-offs: no stretch")
    assert 5 < result.processing.cutoff_hz <= 20
    assert any("20 Hz is a safe value from the motion alone: no look" in line for line in result.warnings)


def test_a_given_one_that_has_no_others_says_why(robot: Robot, make: Make) -> None:
    periodic = Processing(5.0, derivative="fourier", period_s=4.0)
    processing, found = choose(robot, [make(seconds=8.0)], periodic)
    assert processing == periodic
    assert (found.given, found.warnings) == (True, ())
    assert "whole periods are averaged" in found.reason


def test_torques_without_noise_or_without_torque(robot: Robot, make: Make) -> None:
    """Interpolated or computed torques have no noise of their own; a joint may have no torque at all."""
    data = make(seconds=10.0)
    still = data.tau.copy()
    still[:, 0] = 0.0
    smooth = robot.torque(data.q, np.gradient(data.q, 1e-3, axis=0), 0 * data.q, robot.prior)
    for tau in (still, np.round(smooth, 1), np.zeros_like(still)):
        processing, found = choose(robot, [Dataset.from_arrays(data.t, data.q, tau)])
        assert processing.cutoff_hz > 1
        assert found is None or np.isfinite([one.std for one in found.candidates]).all()


def test_results_keep_it_and_older_ones_have_none(robot: Robot, make: Make) -> None:
    result = fit(robot, make(seconds=10.0), "wls")
    text = json.loads(json.dumps(result.to_dict()))
    again = Result.from_dict(text)
    assert again.to_dict() == result.to_dict()
    assert isinstance(again.tradeoff, Tradeoff)
    text.pop("tradeoff")
    assert Result.from_dict(text).tradeoff is None
