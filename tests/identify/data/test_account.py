"""What became of samples and rows: sums add up, for every way to lose them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from heft.identify import Dataset, Processing, Result, fit
from heft.identify.data import survey
from heft.identify.data.account import ENDS, GAPS, GRID, GUARD, REST, TRIMMED, UNMEASURED, USED, row_account
from heft.identify.data.rows import filtered_rows, within
from heft.identify.robot import Robot

Make = Callable[..., Dataset]


def test_rows_of_a_whole_recording(arm: Robot, make: Make) -> None:
    data, processing = make(np.arange(20001) * 1e-3), Processing(5.0, trim_s=(2.0, 1.5))
    found = row_account(arm, survey(arm, data, processing), processing, 0.0)
    assert found[GRID] == 3 * 201  # ten rows a second
    assert found[USED] == 3 * (201 - 20 - 15)
    assert found[GAPS] == found[GUARD] == found[REST] == 0
    assert found[ENDS] + found[TRIMMED] == 3 * 35
    assert (
        found[ENDS]
        == found[GRID] - row_account(arm, survey(arm, data, Processing(5.0)), Processing(5.0), 0.0)[USED]
    )


def test_rows_of_a_joint_that_is_not_measured(arm: Robot, make: Make) -> None:
    data, processing = make(np.arange(20001) * 1e-3), Processing(5.0)
    some = replace(arm, unmeasured=arm.joints[1:2])
    found = survey(some, data, processing)
    counts, whole = row_account(some, found, processing, 0.0), row_account(arm, found, processing, 0.0)
    assert counts[UNMEASURED] == whole[USED] / 3
    assert counts[USED] + counts[UNMEASURED] == whole[USED]
    assert counts[GRID] == whole[GRID] == sum(n for reason, n in counts.items() if reason != GRID)
    assert counts[USED] == sum(int(one.keep.sum()) for one in filtered_rows(some, data, processing, found))


@pytest.mark.parametrize("delay_s", [0.0, 0.0307, -0.02])
@pytest.mark.parametrize("seed", range(3))
def test_rows_add_up_with_gaps_rest_and_delay(arm: Robot, make: Make, delay_s: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    t = np.arange(30000) * 1e-3
    keep = np.ones(len(t), dtype=bool)
    for start, length in zip(rng.integers(0, 30000, 25), rng.integers(2, 400, 25), strict=True):
        keep[start : start + length] = False
    data = make(t[keep])
    q = data.q.copy()
    q[(data.t > 12) & (data.t < 15), 1] = q[np.searchsorted(data.t, 12), 1]
    data = Dataset.from_arrays(data.t, q, data.tau)
    processing = Processing(6.0)
    found = survey(arm, data, processing)
    counts = row_account(arm, found, processing, delay_s)
    blocks = list(filtered_rows(arm, data, processing, found, delay_s))
    assert counts[USED] == sum(int(block.keep.sum()) for block in blocks)
    assert counts[GUARD] + counts[REST] == sum(int((~block.keep).sum()) for block in blocks)
    assert counts[GRID] == sum(n for reason, n in counts.items() if reason != GRID)
    spacing = processing.decimation(1000.0) * 1e-3
    pieces = len(found.sampling.pieces)
    assert counts[GRID] == pytest.approx(3 * data.duration_s / spacing, abs=3 * 2 * pieces)
    assert min(counts[GAPS], counts[GUARD], counts[REST], counts[ENDS]) > 0


def test_a_result_has_the_table_for_the_rows_that_were_used(arm: Robot, truth: np.ndarray, harmonic) -> None:  # type: ignore[no-untyped-def]
    t = np.arange(16000) * 1e-3
    _, q, dq, ddq = harmonic(t - 0.0047)
    tau = arm.torque(q, dq, ddq, truth) + 0.05 * np.random.default_rng(0).standard_normal(q.shape)
    data = Dataset.from_arrays(t, harmonic(t)[1], tau)
    result = fit(arm, [data.between(0, 9), data.between(9.2, 16)], "wls", cutoff_hz=8.0)
    rows = [origin.rows for origin in result.provenance.data]
    assert sum(one[USED] for one in rows) == result.fit.rows.sum()
    assert all(one[GRID] == sum(one.values()) - one[GRID] for one in rows)
    again = Result.from_dict(result.to_dict())
    assert again.provenance == result.provenance
    old = result.to_dict()
    for origin in old["provenance"]["data"]:
        del origin["rows"], origin["sent"]
    assert Result.from_dict(old).provenance.data[0].rows == {}


def test_times_in_intervals() -> None:
    time = np.arange(10.0)
    assert np.flatnonzero(within(time, [(2.0, 3.0), (2.5, 4.5), (8.0, 8.0)], 0.5)).tolist() == [2, 3, 4, 8]
    assert not within(time, [], 1.0).any()
