"""The page: complete, self-contained, honest, and the same for the same inputs."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from heft.identify.bodies.consistency import LEVELS
from heft.identify.errors import ResultError
from heft.identify.result import Parameters
from heft.identify.result.report import Evidence, write_report
from heft.identify.result.report.page import render

SECTIONS = [
    *("verdict", "torques", "residuals", "cutoff", "parameters", "arm"),
    *("identifiability", "notes", "recordings", "provenance"),
]


def test_every_part_is_there_and_the_contents_point_to_it(rendered, result, evidence) -> None:
    page = rendered(result, evidence)
    assert [name for name in page.ids if not name.endswith("-title")] == SECTIONS
    assert page.links == [f"#{name}" for name in SECTIONS[1:]]
    assert page.count("figure", "joint") == 2 * 2  # motions, joints
    assert page.count("div", "torque") == page.count("div", "residual") == 4
    assert page.count("figure", "card") == 2 + 2  # autocorrelations, spectra
    assert page.count("ellipse", "model") == page.count("ellipse", "prior") == 2
    assert page.count("div", "range") == len(result.base.names)
    assert all(name in page.said for name in result.base.names)


def test_nothing_is_fetched(result, evidence) -> None:
    text = render(result, evidence)
    assert not re.search(r"https?://|//[a-z]+\.[a-z]+/|@import|url\(|<link|<img|src=", text)
    assert "default-src 'none'" in text


def test_names_are_text(rendered, result, evidence) -> None:
    page = rendered(result, evidence)
    assert "two <b>joints</b>" in page.said
    assert "<b>joints</b>" not in render(result, evidence)


def test_equal_inputs_give_equal_pages(result, evidence) -> None:
    assert render(result, evidence) == render(result, evidence)


def test_figures_have_words(rendered, result, evidence) -> None:
    """Every plot and drawing says what it shows to those who cannot see it; tables have captions."""
    page = rendered(result, evidence)
    pictures = [found for _, found in page.tags if found.get("role") == "img"]
    assert len(pictures) > 10
    assert all(found["aria-label"] for found in pictures)
    names = [tag for tag, _ in page.tags]
    assert names.count("table") == names.count("caption") >= 5


def test_the_verdict_of_a_good_model(rendered, result, evidence) -> None:
    page = rendered(result, evidence)
    assert page.count("section", "good") == 1
    assert "can be used: it predicts the torque of motion that it has not seen to within" in page.said
    assert "times as much" in page.said  # what was known before is 10 % off
    assert "do not read the mass of a single link as if it had been weighed" in page.said


def test_without_validation_it_is_used_with_care(rendered, result, evidence) -> None:
    seen = replace(evidence, motions=evidence.motions[1:])
    page = rendered(replace(result, validation=None), seen)
    assert page.count("section", "care") == 1
    assert "not tried on motion that the fit has not seen" in page.said


def test_reasons_stand_at_the_head_with_the_number_of_warnings(rendered, result, evidence) -> None:
    missed = replace(result.validation, per_joint=np.array([0.01, 0.69]))
    page = rendered(replace(result, validation=missed, rank=result.rank - 3, warnings=("a", "b")), evidence)
    assert page.count("ol", "reasons") == 1
    assert (page.count("li", "unfit"), page.count("li", "care")) == (1, 1)
    assert "not fit for use it misses 69.0 % of joint2's torque" in " ".join(page.said.split())
    assert "2 warnings" in page.said
    assert "no warnings" in rendered(replace(result, warnings=()), evidence).said


def test_a_motion_that_showed_too_little_asks_for_care(rendered, result, evidence) -> None:
    page = rendered(replace(result, rank=result.rank - 3), evidence)
    assert page.count("section", "care") == 1
    assert f"only {result.rank - 3} of {result.rank} combinations" in page.said


def test_a_model_that_predicts_badly_is_not_fit_for_use(rendered, result, evidence) -> None:
    page = rendered(replace(result, validation=replace(result.validation, total=0.31)), evidence)
    assert page.count("section", "unfit") == 1
    assert "it misses 31.0" in page.said


@pytest.mark.parametrize("level", LEVELS[:3])
def test_a_body_that_could_not_exist_is_named(level: str, rendered, result, evidence) -> None:
    values = result.parameters.values.copy()
    values[result.layout.link("link2")] = -1.0
    page = rendered(replace(result, level=level, parameters=Parameters(result.layout, values)), evidence)
    assert page.count("section", "unfit") == 1
    assert "link2 could not exist as a body" in page.said


def test_a_link_with_broken_inertia_is_drawn_all_the_same(rendered, result, evidence) -> None:
    values = result.parameters.values.copy()
    values[result.layout.index("link2.zz")] = 5.0
    page = rendered(replace(result, parameters=Parameters(result.layout, values)), evidence)
    assert "link2 could not exist and has no ellipsoid" in page.said
    assert page.count("ellipse", "model") == 2


def test_without_evidence_there_are_no_torques(rendered, result) -> None:
    page = rendered(result, Evidence())
    assert "torques" not in page.ids
    assert page.count("ellipse", "model") == 2


def test_without_prior_nothing_is_compared(rendered, result, evidence) -> None:
    bare = replace(result, prior=None, intervals={})
    seen = replace(evidence, motions=tuple(replace(m, prior=None) for m in evidence.motions))
    page = rendered(bare, seen)
    assert "known before (CAD)" not in page.said
    assert page.count("ellipse", "prior") == 0
    assert page.count("div", "range") == 0


def test_warnings_are_told(rendered, result, evidence) -> None:
    page = rendered(replace(result, warnings=("joint2 rests for 3 s: <move it>",)), evidence)
    assert "joint2 rests for 3 s: <move it>" in page.said


def test_a_long_motion_leaves_a_small_file(robot, record, result, tmp_path) -> None:
    long = record(robot, 3, seconds=400.0)
    evidence = Evidence.of(result, [long] * 4, [long])
    assert evidence.motions[0].shown_s < 121 < evidence.motions[0].duration_s
    path = write_report(result, tmp_path / "report.html", evidence)
    assert path.stat().st_size < 1_500_000
    assert "400.0 s, of which the first 120 s" in path.read_text()


def test_what_is_known_before_is_judged_on_the_same_motion(evidence) -> None:
    from heft.identify.result.report.verdict import prior_error

    assert prior_error(evidence, "unseen") == pytest.approx(1 - 1 / 1.1, rel=0.05)
    assert prior_error(Evidence(), "unseen") is None


def test_gaps_and_rest_break_the_lines(rendered, result, evidence) -> None:
    first = evidence.motions[0]
    p = first.prediction
    kept = np.r_[0:40, 80 : len(p.time)]
    moving = p.moving[kept].copy()
    moving[100:110] = False
    cut = replace(
        p,
        time=p.time[kept],
        measured=p.measured[kept],
        predicted=p.predicted[kept],
        std=p.std[kept],
        moving=moving,
    )
    page = rendered(
        result, replace(evidence, motions=(replace(first, prediction=cut, prior=first.prior[kept]),))
    )
    drawn = [(found["class"], found["d"]) for tag, found in page.tags if tag == "path"]
    paths = dict(reversed(drawn))  # the first of each kind
    assert paths["measured"].count("M") == paths["model"].count("M") == 2
    assert paths["rest"].count("M") == 3


def test_plotting_is_done_here_only_and_loaded_when_asked_for() -> None:
    root = Path(__file__).parents[4]
    users = {
        path.relative_to(root).as_posix()
        for package in ("drivers", "daq", "identify", "heft")
        for path in (root / package).rglob("*.py")
        if path.resolve() == path and "matplotlib" in path.read_text(encoding="utf-8")
    }
    assert users == {"identify/result/report/figures.py"}
    code = "import sys, heft.identify.result.report; print('matplotlib' in sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "False"


def test_a_report_is_written_whole_or_not_at_all(result, tmp_path: Path) -> None:
    with pytest.raises(ResultError, match=r"report\.html: cannot be written: .*; choose another place"):
        write_report(result, tmp_path / "nowhere" / "report.html")
    (tmp_path / "report.html").mkdir()
    with pytest.raises(ResultError, match="cannot be written"):
        write_report(result, tmp_path / "report.html")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
