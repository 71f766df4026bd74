"""Intervals on recordings of real robots: they hold against lost samples, other halves, and the sources' own values."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from heft.identify import Dataset, Result, Robot, fit

ROOT = Path(__file__).parents[2]
CONFIGS = ROOT / "configs" / "robots"
CUTOFF_HZ = 4.5


def recording(name: str) -> dict[str, np.ndarray]:
    folder = Path(os.environ.get("HEFT_DATA", ROOT.parent / "shared" / "data"))
    if not (folder / name).is_file():
        pytest.skip(f"no {name} in {folder}; set HEFT_DATA to the folder of the recordings")
    with np.load(folder / name) as data:
        return dict(data)


@pytest.fixture(scope="module")
def panda() -> dict[str, np.ndarray]:
    return recording("panda_gaz.npz")


@pytest.fixture(scope="module")
def robot() -> Robot:
    return Robot.load(CONFIGS / "panda.yaml")


@pytest.fixture(scope="module")
def whole(panda: dict[str, np.ndarray], robot: Robot) -> Result:
    return part(panda, robot, np.ones(len(panda["t"]), dtype=bool))


def part(data: dict[str, np.ndarray], robot: Robot, keep: np.ndarray, method: str = "wls") -> Result:
    rows = Dataset.from_arrays(data["t"][keep], data["q"][keep], data["tau"][keep])
    return fit(robot, rows, method, cutoff_hz=CUTOFF_HZ)


@pytest.mark.parametrize("seed", range(3))
def test_two_per_cent_of_the_rows_less_at_random(panda, robot, whole, seed: int) -> None:
    keep = np.random.default_rng(seed).random(len(panda["t"])) > 0.02
    off = (part(panda, robot, keep).base.values - whole.base.values) / whole.base.std
    assert np.abs(off).max() < 0.3


@pytest.mark.parametrize("length", [10, 40])
def test_two_per_cent_of_the_rows_less_in_bursts(panda, robot, whole, length: int) -> None:
    rng = np.random.default_rng(0)
    keep = np.ones(len(panda["t"]), dtype=bool)
    for start in rng.integers(0, len(keep) - length, int(0.02 * len(keep) / length)):
        keep[start : start + length] = False
    off = (part(panda, robot, keep).base.values - whole.base.values) / whole.base.std
    assert np.abs(off).max() < 1.96
    assert np.median(np.abs(off)) < 0.5


@pytest.mark.parametrize("method", ["wls", "sdp"])
def test_halves_agree_within_their_intervals(panda, robot, method: str) -> None:
    first = np.arange(len(panda["t"])) < len(panda["t"]) // 2
    one, other = part(panda, robot, first, method), part(panda, robot, ~first, method)
    spread = np.sqrt(np.diag(one.base.covariance) + np.diag(other.base.covariance))
    off = np.abs(one.base.values - other.base.values) / spread
    assert np.mean(off < 1.96) >= 0.9
    assert off.max() < 4
    delays = [result.delays["torque"] for result in (one, other)]
    assert max(d.low_s for d in delays) < min(d.high_s for d in delays)
    overlap = [
        max(one.intervals[name].low, other.intervals[name].low)
        <= min(one.intervals[name].high, other.intervals[name].high)
        for name in one.intervals
    ]
    assert np.mean(overlap) > 0.95


def test_the_panda_is_late_and_its_model_does_not_quite_hold(whole) -> None:
    delay = whole.delays["torque"]
    assert 0.002 < delay.value_s < 0.006
    assert delay.low_s > 0
    assert any("the model does not hold for" in line for line in whole.warnings)


def test_friction_intervals_of_the_tx40_hold_the_sources_values() -> None:
    data = recording("staubli_tx40.npz")
    robot = Robot.load(CONFIGS / "tx40.yaml")
    dataset = Dataset.from_arrays(data["t"], data["q"], data["tau"])
    result = fit(robot, dataset, cutoff_hz=20.0, friction="file")  # the source's: Coulomb and viscous
    viscous, coulomb = [8.05, 5.53, 1.97, 1.11], [7.14, 8.26, 6.34, 2.48]
    for k, (fv, fs) in enumerate(zip(viscous, coulomb, strict=True), start=1):
        for name, goal in ((f"joint{k}.viscous", fv), (f"joint{k}.coulomb", fs)):
            interval = result.intervals[name]
            assert interval.low <= goal <= interval.high, name
            assert interval.high - interval.low < 0.4 * goal, name
