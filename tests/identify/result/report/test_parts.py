"""Numbers, ticks, envelopes, autocorrelation, geometry, recordings, figures."""

from pathlib import Path

import numpy as np
import pytest

from heft.identify.bodies import from_mass_com_inertia
from heft.identify.errors import ResultError
from heft.identify.result.report import write_figures
from heft.identify.result.report.arm_view import scene
from heft.identify.result.report.autocorrelation import autocorrelation
from heft.identify.result.report.numbers import count, fixed, percent, plain, spread, times, unit
from heft.identify.result.report.plot import AxisRange, Line, envelope, plot, ticks


@pytest.mark.parametrize(
    ("value", "digits", "said"),
    [
        (1.23456, 4, "1.235"),
        (-40.0, 3, "−40.0"),
        (0.0, 4, "0"),
        (999.96, 4, "1000"),
        (0.00012345, 3, "0.000123"),
        (1.2e-7, 2, "1.2·10⁻⁷"),
        (-3.45e9, 3, "−3.45·10⁹"),
        (float("inf"), 3, "∞"),
        (float("-inf"), 3, "−∞"),
        (float("nan"), 3, "unknown"),
    ],
)
def test_plain_numbers(value: float, digits: int, said: str) -> None:
    assert plain(value, digits) == said


def test_numbers_with_their_intervals() -> None:
    assert spread(1.37274, 0.0035) == ("1.3727", "0.0035")
    assert spread(-0.5, 0.12) == ("−0.50", "0.12")
    assert spread(12345.0, 678.0) == ("12345", "678")
    assert spread(1.0, float("inf")) == ("1.000", "∞")
    assert spread(1.0, 0.0) == ("1.00000", "0")
    assert fixed(-0.04, 1) == "0.0"
    assert (percent(0.0175), percent(0.5), percent(float("inf"))) == ("1.75\u202f%", "50.0\u202f%", "unknown")
    assert (times(2.34), times(51.9)) == ("2.3", "52")
    assert count(60760) == "60\u202f760"
    assert (unit("kg m2"), unit("N m s/rad"), unit("-")) == ("kg·m²", "N·m·s/rad", "")


@pytest.mark.parametrize(
    ("low", "high"), [(-47, 47), (0, 23), (-0.013, 0.013), (1e-7, 3e-7), (99, 101), (-5.5, 6)]
)
@pytest.mark.parametrize("least", [3, 4])
def test_ticks_are_round_inside_and_enough(low: float, high: float, least: int) -> None:
    found = ticks(low, high, least)
    assert least <= len(found) <= 3 * least
    assert low - 1e-9 <= found[0] < found[-1] <= high + 1e-9
    step = found[1] - found[0]
    np.testing.assert_allclose(np.diff(found), step)
    assert f"{step:.6e}"[0] in "125"


def test_an_envelope_keeps_the_extremes() -> None:
    x = np.arange(100_000.0)
    y = np.sin(x / 500)
    y[[777, 50_001]] = 9.0, -9.0
    few_x, few_y = envelope(x, y, 1000)
    assert len(few_x) <= 1000
    assert (few_y.max(), few_y.min()) == (9.0, -9.0)
    assert np.all(np.diff(few_x) > 0)
    y[20_000:30_000] = np.nan
    assert np.isnan(envelope(x, y, 1000)[1]).any()
    assert envelope(x[:10], y[:10], 1000)[0] is not None


def test_a_plot_reads_back() -> None:
    y = np.array([0.0, 1.0, -1.0, np.nan, 0.5])
    scale = AxisRange(-1.0, 1.0)
    html = plot([Line("model", np.arange(5.0), y)], 4.0, scale, label="a > b", unit="N m", kind="torque")
    assert 'd="M0 5000L1000 0L2000 10000M4000 2500"' in html
    assert 'viewBox="0 0 4000 10000"' in html
    assert 'aria-label="a &gt; b"' in html
    assert AxisRange.around(np.zeros(3)).high > 0
    assert AxisRange.around(np.array([np.nan])).high > AxisRange.around(np.array([np.nan])).low


def test_autocorrelation_of_noise_and_of_a_pattern() -> None:
    rng = np.random.default_rng(0)
    time = 0.05 * np.arange(2000)
    used = np.ones(2000, dtype=bool)
    noise = rng.normal(size=2000)
    found = autocorrelation(time, noise, used)
    assert found.like_noise
    assert found.outside < 0.15
    assert found.step_s == pytest.approx(0.05)
    slow = np.convolve(noise, np.ones(10) / 10, "same")
    pattern = autocorrelation(time, slow, used)
    assert not pattern.like_noise
    np.testing.assert_allclose(pattern.values[:9], 1 - np.arange(1, 10) / 10, atol=0.1)


def test_autocorrelation_does_not_cross_gaps() -> None:
    rng = np.random.default_rng(1)
    slow = np.convolve(rng.normal(size=3000), np.ones(10) / 10, "same")
    kept = np.r_[0:1000, 1500:3000]
    used = np.ones(3000, dtype=bool)
    used[200:300] = False
    whole = autocorrelation(0.1 * np.arange(3000), slow, used)
    cut = autocorrelation(0.1 * kept, slow[kept], used[kept])
    np.testing.assert_allclose(cut.values[:5], whole.values[:5], atol=0.05)
    still = autocorrelation(0.1 * kept, slow[kept], np.zeros(len(kept), dtype=bool))
    assert len(still.values) == 0
    assert still.like_noise


def test_an_ellipsoid_has_the_links_inertia(result) -> None:
    """Its half axes a: a solid ellipsoid has the moment m (b^2 + c^2) / 5 about a."""
    drawn = scene(result, None)
    for link, one in zip(result.parameters.links, drawn.ellipsoids[:2], strict=True):
        squares = np.linalg.eigvalsh(one.shape)
        moments = link.mass / 5 * (squares.sum() - squares[::-1])
        np.testing.assert_allclose(np.sort(moments), link.principal_moments, rtol=1e-9)
        assert one.real
    pose = result.robot.tree.poses(np.zeros(2))[1]
    com = result.parameters["link2"].com
    np.testing.assert_allclose(drawn.ellipsoids[1].centre, pose[:3, :3] @ com + pose[:3, 3])
    assert drawn.radius > np.linalg.norm(drawn.ellipsoids[1].centre - drawn.middle)


def test_a_sphere_stays_a_sphere() -> None:
    ten = from_mass_com_inertia(2.0, np.zeros(3), 0.4 * 2.0 * 0.1**2 * np.eye(3))
    from heft.identify.bodies import second_moment_about_com

    half = np.sqrt(5 * np.linalg.eigvalsh(second_moment_about_com(ten)) / 2.0)
    np.testing.assert_allclose(half, 0.1)


def test_figures(result, evidence, tmp_path: Path) -> None:
    files = write_figures(result, tmp_path / "figures", evidence)
    assert [file.name for file in files] == [
        "torques_1_unseen.png",
        "autocorrelation_1_unseen.png",
        "torques_2_seen.png",
        "autocorrelation_2_seen.png",
        "parameters.png",
        "arm.png",
    ]
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files)


def test_figures_without_matplotlib(result, evidence, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(
        ResultError, match=r"figures need matplotlib, which is missing; pip install heft\[figures\]"
    ):
        write_figures(result, tmp_path, evidence)
