"""Kept triangles: an estimate from them is that from the recordings, for one and for several together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from heft.daq.recording import Recording
from heft.identify.errors import DataError, ProblemError
from heft.identify.fit import identify_recordings
from heft.identify.fleet.together import fit_kept
from heft.identify.fleet.triangles import KeptTriangles, kept_of
from heft.identify.result import Result

SETTINGS = {"cutoff_hz": 8.0, "friction": "file"}


def identified(
    paths: list[Path], method: str, **settings: object
) -> tuple[Result, list[KeptTriangles], float]:
    kept: list[KeptTriangles] = []
    inflation: list[float] = []

    def keep(alignment: object) -> None:
        kept.extend(kept_of(alignment, {}))  # type: ignore[arg-type]
        inflation.append(alignment.problem.inflation)  # type: ignore[attr-defined]

    opened = [Recording.open(path) for path in paths]
    result = identify_recordings(opened, method=method, settings={**SETTINGS, **settings}, keep=keep)
    return result, kept, inflation[0]


@pytest.fixture(scope="module")
def alone(recordings: list[Path]) -> list[KeptTriangles]:
    """Triangles of each recording's own fit, written and read back."""
    kept = [identified([path], "wls")[1][0] for path in recordings]
    return [KeptTriangles.decoded(one.encoded()) for one in kept]


def test_triangles_come_back_as_they_were_written(recordings: list[Path], alone: list[KeptTriangles]) -> None:
    _, (kept,), _ = identified(recordings[:1], "wls")
    again = alone[0]
    np.testing.assert_array_equal(again.information.factors, kept.information.factors)
    np.testing.assert_array_equal(again.information.rates, kept.information.rates)
    np.testing.assert_array_equal(again.information.rows, kept.information.rows)
    assert again.processing == kept.processing
    assert again.delay_s == kept.delay_s
    assert again.digest == Recording.open(recordings[0]).digest
    np.testing.assert_allclose(again.temperature, 300.0, atol=0.01)
    assert kept.encoded() == again.encoded()


@pytest.mark.parametrize("method", ["wls", "ols", "sdp", "closest"])
def test_one_session_has_the_estimate_of_its_recording(
    recordings: list[Path], alone: list[KeptTriangles], method: str
) -> None:
    result, _, _ = identified(recordings[:1], method)
    found = fit_kept(alone[:1], method)
    np.testing.assert_allclose(found.estimate.base, result.base.values, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("method", ["wls", "sdp"])
def test_sum_of_triangles_is_the_fit_of_all_recordings(
    recordings: list[Path], alone: list[KeptTriangles], method: str
) -> None:
    """Own offsets and delays of each, common parameters: as `fit` on the four recordings."""
    result, _, inflation = identified(recordings, method)
    found = fit_kept(alone, method, inflation=inflation)
    scale = np.sqrt(np.diag(result.base.covariance))
    assert np.abs((found.estimate.base - result.base.values) / scale).max() < 1e-3
    np.testing.assert_allclose(found.estimate.base, result.base.values, rtol=1e-5, atol=1e-6)
    for mine, theirs in zip(found.sessions, result.recordings, strict=True):
        assert mine.delay_s == pytest.approx(theirs.delay.value_s, abs=2e-7)
        for joint, offset in theirs.offsets.items():
            assert mine.offsets[joint] == pytest.approx(offset, abs=1e-5)


def test_other_method_level_and_prior_need_no_recording(alone: list[KeptTriangles]) -> None:
    names = alone[0].robot.parameter_names
    plain = fit_kept(alone, "sdp", "full").parameters
    heavy = fit_kept(alone, "sdp", "mass", prior={names[0].split(".")[0]: [9.0, *[0.0] * 9]}).parameters
    assert plain != heavy
    with pytest.raises(ProblemError, match="irls"):
        fit_kept(alone, "irls")


def test_covariance_counts_what_sessions_scatter(recordings: list[Path], alone: list[KeptTriangles]) -> None:
    result, _, _ = identified(recordings, "wls")
    std = np.sqrt(np.diag(fit_kept(alone, "wls").covariance))
    assert 0.3 < np.median(std / np.sqrt(np.diag(result.base.covariance))) < 1.5


def test_triangles_that_do_not_belong_together_are_refused(
    recordings: list[Path], alone: list[KeptTriangles]
) -> None:
    _, (other,), _ = identified(recordings[1:2], "wls", cutoff_hz=5.0)
    with pytest.raises(DataError, match="cut-off of 5 Hz"):
        fit_kept([alone[0], other])
    with pytest.raises(DataError, match="same data"):
        fit_kept([alone[0], alone[0]])
    with pytest.raises(DataError, match="no triangles"):
        KeptTriangles.decoded(b"nothing")
    with pytest.raises(DataError, match="no triangles"):
        KeptTriangles.decoded(alone[0].encoded()[:-200])


def test_triangles_of_a_session_whose_time_nobody_knows_come_back(alone: list[KeptTriangles]) -> None:
    unknown = replace(alone[0], facts={"session": "one", "utc_s": float("nan")})
    assert KeptTriangles.decoded(unknown.encoded()).facts == {"session": "one", "utc_s": None}


def test_a_joint_that_one_session_did_not_believe_is_measured_by_the_others(
    recordings: list[Path], alone: list[KeptTriangles]
) -> None:
    (doubted,) = identified(recordings[:1], "wls", unmeasured=["joint2"])[1]
    assert doubted.robot.unmeasured == ("joint2",)
    assert doubted.information.rows[1] == 0
    one, other = fit_kept([doubted, alone[1]]), fit_kept([alone[1], doubted])
    assert one.base == other.base == fit_kept(alone[:2]).base
    np.testing.assert_allclose(one.estimate.base, other.estimate.base, rtol=1e-6, atol=1e-9)
    assert one.rows == sum(int(each.information.rows.sum()) for each in (doubted, alone[1]))
    assert len(fit_kept([doubted]).base) < len(one.base)
