"""A load from a whole motion's joint torques, with drives whose gains are off; the plant of benchmarks/gains.py."""

from __future__ import annotations

import importlib.util
import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from heft.identify import Dataset, Robot, fit, load
from heft.identify.bodies.consistency import consistency
from heft.identify.errors import DataError, ParameterError, ProblemError
from heft.identify.payload import weigh
from heft.identify.payload.weighing.gain_calibration import KnownLoad, calibrate_gains
from heft.identify.result import Result
from heft.identify.robot import PriorSpread

ROOT = Path(__file__).parents[4]
GAINS = np.array([1.12, 0.95, 1.06, 0.9, 1.0, 1.1, 0.97])

pytestmark = pytest.mark.xdist_group("gains")  # they share results; find them once


def _plant() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gains_benchmark", ROOT / "benchmarks" / "gains.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


plant = _plant()


class Bench:
    """One arm with wrong gains: its bare data, its result, and data with a load."""

    def __init__(self, gain: np.ndarray, seed: int = 1) -> None:
        self.arm = plant.Arm(np.random.default_rng(seed), gain)
        self.bare: Dataset = self.arm.record()
        self.result: Result = plant.identified(self.arm.robot, self.bare)
        self.load: Any = plant.Load.drawn(np.random.default_rng(5))
        self.data: Dataset = self.arm.record(self.load)


@pytest.fixture(scope="module")
def right() -> Bench:
    return Bench(np.ones(7))


@pytest.fixture(scope="module")
def wrong() -> Bench:
    return Bench(GAINS)


def test_a_load_is_weighed_without_the_torque_of_a_joint(wrong: Bench) -> None:
    arm = replace(wrong.arm.robot, unmeasured=(wrong.arm.robot.joints[4],))
    bare = plant.identified(arm, wrong.bare)
    found, all_of_them = (
        weigh(bare, wrong.data, gain_spread=0.1),
        weigh(wrong.result, wrong.data, gain_spread=0.1),
    )
    assert abs(found.mass - wrong.load.mass) < 4 * found.std.mass
    assert 0.8 * all_of_them.std.mass < found.std.mass < 2 * all_of_them.std.mass
    tau = np.array(wrong.data.tau)
    tau[:, 4] = 7.0  # whatever it measures
    assert weigh(bare, replace(wrong.data, tau=tau), gain_spread=0.1).mass == found.mass
    known = KnownLoad(wrong.load.mass, wrong.load.com)
    with pytest.raises(DataError, match="identified without the torque of"):
        calibrate_gains(bare, wrong.data, known)


def test_a_load_is_weighed(right: Bench) -> None:
    found = weigh(right.result, right.data, gain_spread=0.0)
    assert found.frame == "flange"
    assert found.mass == pytest.approx(right.load.mass, rel=0.01)
    assert abs(found.mass - right.load.mass) < 4 * found.std.mass
    assert np.all(np.abs(found.com - right.load.com) < 4 * found.std.com)
    assert consistency(found.ten, "full").ok
    assert "mass" not in found.prior_dominated
    assert "inertia" in found.prior_dominated  # of 2 kg, by motors that carry 20
    low, high = found.interval("mass")
    assert low < found.mass < high
    assert any("taken for exact" in line for line in found.warnings)
    again = weigh(right.result, [right.data, right.arm.record(right.load)], gain_spread=0.0)
    assert again.std.mass < found.std.mass
    assert again.mass == pytest.approx(right.load.mass, rel=0.01)


def test_a_common_gain_is_an_equal_error_of_the_mass_and_the_interval_says_so(right: Bench) -> None:
    scaled = fit(right.arm.robot, replace(right.bare, tau=1.1 * right.bare.tau), cutoff_hz=5.0)
    data = replace(right.data, tau=1.1 * right.data.tau)
    exact = weigh(scaled, data, gain_spread=0.0)
    assert exact.mass == pytest.approx(1.1 * right.load.mass, rel=0.01)
    assert not exact.interval("mass").low <= right.load.mass
    found = weigh(scaled, data, gain_spread=0.1)
    low, high = found.interval("mass")
    assert low < right.load.mass < high
    assert found.std.mass / found.mass == pytest.approx(0.08, abs=0.025)
    assert not found.warnings
    assert "mass" not in found.prior_dominated  # no motion would tell more
    assert found.std.com == pytest.approx(exact.std.com, rel=1.0)  # a factor moves no centre


@pytest.mark.slow
def test_gains_of_single_joints_are_found_beside_the_load(wrong: Bench) -> None:
    """A tenth between neighbours, taken for exact, leaves more in the residuals than noise does."""
    exact = weigh(wrong.result, wrong.data, gain_spread=0.0)
    found = weigh(wrong.result, wrong.data, gain_spread=0.1)
    low, high = found.interval("mass")
    assert low < wrong.load.mass < high
    assert np.linalg.norm(found.com - wrong.load.com) < 0.003
    assert exact.std.com.max() > 3 * found.std.com.max()
    assert np.all(np.abs(found.com - wrong.load.com) < 4 * found.std.com)


def test_what_the_bare_data_say_of_the_gains(wrong: Bench) -> None:
    assert wrong.result.gains is not None
    logs, covariance = wrong.result.gains.posterior(0.01 + 0.0025 * np.eye(7))
    own = logs + np.log(GAINS)
    own -= own.mean()
    assert np.abs(own).max() < 0.05  # of up to 0.12
    common = np.full(7, 1 / 7)
    assert 0.05 < np.sqrt(common @ covariance @ common) < 0.11


def test_a_weighed_load_tells_the_gains(wrong: Bench) -> None:
    known = KnownLoad(wrong.load.mass, wrong.load.com)
    once = calibrate_gains(wrong.result, wrong.data, known)
    assert once.gains * GAINS == pytest.approx(np.ones(7), abs=0.03)
    found = plant.calibrated(wrong.result, wrong.bare, wrong.data, wrong.load)
    assert found.gains * GAINS == pytest.approx(np.ones(7), abs=0.02)
    assert np.all(np.abs(found.gains * GAINS - 1) < 4 * found.std)
    assert found.common.low < np.exp(-np.log(GAINS).mean()) < found.common.high
    assert list(found.intervals) == list(wrong.arm.robot.joints)
    robot = replace(wrong.arm.robot, gain_std=found.std)
    result = plant.identified(robot, plant.corrected(wrong.bare, found.gains))
    other = plant.Load.drawn(np.random.default_rng(9))
    weighed = weigh(result, plant.corrected(wrong.arm.record(other), found.gains))
    assert weighed.mass == pytest.approx(other.mass, rel=0.01)
    assert weighed.interval("mass").low < other.mass < weighed.interval("mass").high


@pytest.mark.slow
def test_the_inertia_of_a_weighed_load_may_be_told(wrong: Bench) -> None:
    told = KnownLoad(wrong.load.mass, wrong.load.com, wrong.load.inertia_com)
    loose = calibrate_gains(wrong.result, wrong.data, replace(told, inertia_com=None, mass_std=0.05))
    sure = calibrate_gains(wrong.result, wrong.data, told)
    assert sure.common.std < loose.common.std / 3
    assert loose.common.std / loose.common.value > 0.8 * 0.05 / wrong.load.mass  # no better than the scale


@pytest.mark.slow
def test_a_result_keeps_what_it_knows_of_gains(wrong: Bench, tmp_path: Path) -> None:
    again = load(wrong.result.save(tmp_path / "result.json"))
    one, two = (weigh(result, wrong.data, gain_spread=0.1) for result in (wrong.result, again))
    assert one.mass == two.mass
    old = json.loads((tmp_path / "result.json").read_text())
    del old["gains"]
    (tmp_path / "old.json").write_text(json.dumps(old))
    before = weigh(load(tmp_path / "old.json"), wrong.data, gain_spread=0.1)  # each joint by itself
    assert before.std.mass > one.std.mass / 2


def test_offset_friction_and_delay_are_the_recordings_own(right: Bench) -> None:
    v = np.gradient(right.data.q, right.data.t, axis=0)
    late = np.array([np.interp(right.data.t - 0.004, right.data.t, tau) for tau in right.data.tau.T]).T
    tau = late + 0.3 * np.sign(GAINS - 1) + 0.2 * v
    found = weigh(right.result, replace(right.data, tau=tau), gain_spread=0.0)
    assert found.mass == pytest.approx(right.load.mass, rel=0.02)
    assert abs(found.mass - right.load.mass) < 4 * found.std.mass


def test_nothing_on_the_flange_weighs_nothing(right: Bench) -> None:
    found = weigh(right.result, right.arm.record(), gain_spread=0.1)
    assert found.mass < 0.05
    assert found.mass - 4 * found.std.mass < 0
    assert found.empty
    assert found.interval("mass").low == 0.0


def test_without_a_flange_in_the_last_links_frame(right: Bench) -> None:
    bare = replace(right.result, robot=replace(right.result.robot, flange=None))
    found, flange = weigh(bare, right.data), weigh(right.result, right.data)
    assert found.frame == right.arm.robot.links[-1]
    assert found.mass == pytest.approx(flange.mass)


def test_intervals_of_links_allow_for_gains(right: Bench) -> None:
    spread = PriorSpread(0.05, 0.1, 0.2, gain=0.1)
    data = replace(right.bare, tau=1.1 * right.bare.tau)
    exact, unsure = (
        fit(replace(right.arm.robot, spread=one), data, cutoff_hz=5.0)
        for one in (replace(spread, gain=0.0), spread)
    )
    assert unsure.intervals["joint2.viscous"].std > 3 * exact.intervals["joint2.viscous"].std
    truth = right.result.intervals["joint2.viscous"].value
    inside = unsure.intervals["joint2.viscous"]
    assert inside.low < truth < inside.high
    assert not exact.intervals["joint2.viscous"].low < truth
    gain = unsure.intervals["joint2.gain"]
    assert gain.low < 1 / 1.1 < gain.high
    assert not any(name.endswith(".gain") for name in exact.intervals)
    np.testing.assert_array_equal(unsure.parameters.values, exact.parameters.values)  # as the drives report
    wide = np.sqrt(np.diag(unsure.base.covariance)) / np.sqrt(np.diag(exact.base.covariance))
    assert np.median(wide) > 1.2


def test_link_masses_that_are_sure_tell_the_common_gain() -> None:
    robot = Robot.load(ROOT / "configs" / "robots" / "wam7.yaml")
    assert robot.prior is not None
    sure = replace(robot, spread=PriorSpread(0.005, 0.1, 0.2, gain=0.1))
    rng = np.random.default_rng(0)
    t = np.arange(0.0, 20.0, 0.01)
    q, dq, ddq = plant._motion(rng, robot)(t)
    tau = 1.1 * robot.torque(q, dq, ddq, robot.prior) + plant.NOISE * rng.standard_normal(q.shape)
    result = fit(sure, Dataset.from_arrays(t, q, tau), cutoff_hz=5.0)
    gains = [result.intervals[f"{joint}.gain"] for joint in robot.joints]
    assert [one.value for one in gains] == pytest.approx([1 / 1.1] * 7, abs=0.02)
    assert all(one.std < 0.03 for one in gains)
    assert any("should be multiplied by" in line for line in result.warnings)


def test_what_is_wrong_is_said(right: Bench) -> None:
    with pytest.raises(ProblemError, match="below 1"):
        weigh(right.result, right.data, gain_spread=1.5)
    with pytest.raises(ProblemError, match="one for each of 7 joints"):
        weigh(right.result, right.data, gain_spread=[0.1, 0.1])
    with pytest.raises(DataError, match="6 joints in the data"):
        weigh(right.result, Dataset.from_arrays(right.data.t, right.data.q[:, :6], right.data.tau[:, :6]))
    still = replace(right.data, q=0.0 * right.data.q, tau=0.0 * right.data.tau)
    with pytest.raises(DataError, match="moves"):
        weigh(right.result, still)
    with pytest.raises(ParameterError, match="no interval of 'weight'"):
        weigh(right.result, right.data).interval("weight")
    with pytest.raises(ParameterError, match="above zero"):
        KnownLoad(-1.0, np.zeros(3))
    with pytest.raises(ParameterError, match="no body has"):
        KnownLoad(1.0, np.zeros(3), np.diag([1.0, 1.0, 3.0]))


@pytest.mark.slow
def test_a_dozen_objects() -> None:
    """Of four arms, each with gains drawn in another way; the campaign is benchmarks/gains.py."""
    found = [one for k, how in enumerate(plant.DRAWN) for one in plant.checks(k, how, 0.1, objects=3)]
    assert len(found) == 12
    assert sum(one.covered[0] for one in found) >= 10
    assert max(abs(one.error[1]) for one in found) < 0.02
    assert sum(one.covered[1] for one in found) >= 10
