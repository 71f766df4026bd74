"""The report as a user gets it from `heft run`, opened in a browser: nothing fails, and the figures are there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from heft import identify
from heft.daq.config.shipped import CONFIGS
from heft.daq.recording import Recording
from heft.exit_codes import ExitCode
from heft.identify.data import from_recording
from heft.identify.result.report import Evidence
from heft.main import main

Visit = Callable[..., tuple[str, list[str]]]

pytestmark = pytest.mark.xdist_group("report")  # the tests share recordings; make them once

#: What a visitor does, and what the page then shows; its last word is JSON.
VISIT = """
<script>
window.addEventListener("load", () => {
  const seen = {};
  const motion = document.querySelector("details.motion");
  const svg = motion.querySelector("svg");
  const box = () => svg.getAttribute("viewBox");
  const plot = motion.querySelector(".plot");
  const at = plot.getBoundingClientRect();
  const touch = (kind, share) => plot.dispatchEvent(new PointerEvent(kind, {
    bubbles: true, pointerId: 1, button: 0, pointerType: "mouse",
    clientX: at.left + share * at.width, clientY: at.top + 5,
  }));
  plot.setPointerCapture = () => {};
  seen.whole = box();
  motion.querySelector('[data-do="in"]').click();
  seen.zoomed = box();
  seen.ticks = [...plot.querySelectorAll(".x b")].map((tick) => Number(tick.textContent));
  motion.querySelector(".joint").dispatchEvent(new KeyboardEvent("keydown", { key: "0", bubbles: true }));
  seen.reset = box();
  touch("pointerdown", 0.25); touch("pointermove", 0.4); touch("pointerup", 0.5);
  seen.dragged = box();
  plot.dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
  touch("pointermove", 0.5);
  seen.told = motion.querySelector("output").textContent;
  const arm = document.querySelector("figure.arm");
  const ellipse = arm.querySelector("ellipse");
  seen.before = ellipse.getAttribute("transform");
  arm.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
  seen.turned = ellipse.getAttribute("transform");
  arm.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true }));
  seen.back = ellipse.getAttribute("transform");
  seen.width = [document.documentElement.scrollWidth, window.innerWidth];
  seen.heights = [...document.querySelectorAll("details[open] .plot, .cards .plot, figure.arm svg")]
    .map((figure) => figure.getBoundingClientRect().height);
  seen.toolbar = !motion.querySelector(".tools").hidden;
  const note = document.body.appendChild(document.createElement("pre"));
  note.id = "seen";
  note.textContent = JSON.stringify(seen);
});
</script>
"""


@pytest.fixture(scope="module")
def folder(new_bench: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short session with an excitation and a validation, run and identified by `heft run`."""
    bench = new_bench(tmp_path_factory.mktemp("report"))
    series = {"seconds": 8.0, "period_s": 4.0, "blend_s": 0.5, "harmonics": 4}
    bench.session["steps"] = [
        {"name": "excitation", "use": "identification", "fourier": {**series, "seed": 3}},
        {"name": "validation", "use": "validation", "fourier": {**series, "seed": 4}},
    ]
    out = bench.folder / "out"
    assert main(["run", str(bench.write()), "--out", str(out), "--speed", "max", "--json"]) == 0
    return out


@pytest.fixture(scope="module", params=[1100, 390], ids=["screen", "phone"])
def seen(
    request: Any, visit: Visit, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What a visitor saw, on a wide window and on a narrow one."""
    home = tmp_path_factory.mktemp("browser")
    page = home / "visited.html"
    page.write_text(
        (folder / "report.html").read_text(encoding="utf-8").replace("</body>", f"{VISIT}</body>")
    )
    size = f"--window-size={request.param},900"
    text, console = visit(page, home / "profile", size, "--dump-dom")
    found = re.search(r'<pre id="seen">(.*?)</pre>', text)
    assert found is not None, console
    return {**json.loads(found[1].replace("&gt;", ">")), "console": console}


def test_the_session_says_where_its_report_is(folder: Path) -> None:
    assert (folder / "report.html").stat().st_size < 3_000_000
    assert (folder / "result.json").is_file()


def test_nothing_fails_in_the_console(seen: dict[str, Any]) -> None:
    assert seen["console"] == []


def test_the_figures_are_there(seen: dict[str, Any]) -> None:
    """Seven joints with torque and residual, seven autocorrelations, seven spectra, one arm."""
    assert len(seen["heights"]) == 7 * 2 + 7 + 7 + 1
    assert min(seen["heights"]) > 40


def test_it_fits_its_window(seen: dict[str, Any]) -> None:
    page, window = seen["width"]
    assert page <= window


def test_time_is_zoomed_by_button_key_and_mouse(seen: dict[str, Any]) -> None:
    start, _, whole, _ = map(float, seen["whole"].split())
    assert start == 0
    assert list(map(float, seen["zoomed"].split())) == [whole / 4, 0, whole / 2, 10000]
    assert all(whole / 4000 <= tick <= whole * 3 / 4000 for tick in seen["ticks"])
    assert len(seen["ticks"]) >= 4
    assert seen["reset"] == seen["whole"]
    left, _, width, _ = map(float, seen["dragged"].split())
    assert left / whole == pytest.approx(0.25, abs=0.01)
    assert width / whole == pytest.approx(0.25, abs=0.01)
    assert re.fullmatch(r"[\d.]+ s: measured \S+, before \S+, model \S+, left \S+", seen["told"])
    assert seen["toolbar"]


def test_the_arm_turns(seen: dict[str, Any]) -> None:
    assert seen["turned"] != seen["before"]
    before, back = (re.findall(r"-?[\d.]+", seen[key]) for key in ("before", "back"))
    for one, other in zip(before[:2], back[:2], strict=True):  # the angle may turn by 180 degrees
        assert float(one) == pytest.approx(float(other), abs=0.11)


def test_it_prints(visit: Visit, folder: Path, tmp_path: Path) -> None:
    paper = tmp_path / "report.pdf"
    visit(
        folder / "report.html",
        tmp_path / "profile",
        f"--print-to-pdf={paper}",
        "--no-pdf-header-footer",
    )
    data = paper.read_bytes()
    assert data.startswith(b"%PDF")
    assert 4 <= len(re.findall(rb"/Type\s*/Page\b", data)) <= 20


@pytest.mark.slow
def test_identify_writes_it_again_with_figures(folder: Path, tmp_path: Path, capsys: Any) -> None:
    (file,) = folder.glob("*.mcap")
    assert main(["identify", str(file), "--out", str(tmp_path), "--figures", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert Path(summary["report"]).read_text(encoding="utf-8").startswith("<!doctype html>")
    assert len(summary["figures"]) == 6
    assert (tmp_path / "figures" / "arm.png").is_file()


def test_of_a_long_session_the_beginning_is_shown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(from_recording, "SECTION_NS", 3_000_000_000)
    (file,) = folder.glob("*.mcap")
    evidence = Evidence.of_recordings(identify.load(folder / "result.json"), [Recording.open(file)])
    assert [motion.use for motion in evidence.motions] == ["unseen", "seen"]
    for motion in evidence.motions:
        assert motion.duration_s == pytest.approx(9.0, abs=0.1)
        assert motion.shown_s == pytest.approx(3.0, abs=0.1)
    (recording,) = evidence.recordings
    assert recording.lost == 0
    assert {clock.device for clock in recording.clocks} == {"arm", "encoders", "wrist", "gripper"}


def test_compare_finds_the_recordings(folder: Path, tmp_path: Path, capsys: Any) -> None:
    """Beside any of the results the recording is found; elsewhere it is said to be missing."""
    result = folder / "result.json"
    away = tmp_path / "result.json"
    away.write_bytes(result.read_bytes())
    assert main(["compare", str(result), str(away), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    fit = json.loads(result.read_text(encoding="utf-8"))["relative_error"]["fit"]
    # The delay is taken out by whole samples here and by derivatives in the fit: rows differ by their last filter tap.
    for row in said["relative_error"]:
        assert row == pytest.approx([fit, fit], rel=5e-3)
    assert said["differences"][0]["moved"] == 0
    assert said["missing"] == []
    assert main(["compare", str(away), str(away), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["relative_error"] == [[None, None], [None, None]]
    assert said["missing"] == ["short.mcap: not at hand"] * 2


def test_a_robot_file_with_gravity_turned_is_told_and_refused(
    folder: Path, tmp_path: Path, capsys: Any
) -> None:
    """The same recording, an arm on a wall by mistake: exit code 1, the cause first, and no model without force."""
    robot = tmp_path / "wam7.yaml"
    for name, up, aside in (
        ("wam7.yaml", "gravity: [0.0, 0.0, -9.81]", "gravity: [9.81, 0.0, 0.0]"),
        ("wam7.xml", 'gravity="0 0 -9.81"', 'gravity="9.81 0 0"'),
    ):
        text = (CONFIGS / "robots" / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text.replace(up, aside), encoding="utf-8")
    (recording,) = folder.glob("*.mcap")
    command = ["identify", str(recording), "--robot", str(robot), "--out", str(tmp_path / "out"), "--json"]
    assert main(command) == ExitCode.NO
    said = capsys.readouterr()
    verdict = json.loads(said.out)["verdict"]
    assert verdict["grade"] == "unfit"
    assert verdict["reasons"][0]["id"] == "gravity-direction"
    assert f"verdict   unfit: {verdict['headline']}" in said.err
    assert f" 1. unfit  {verdict['reasons'][0]['text']}" in said.err
    result = identify.load(tmp_path / "out" / "result.json")
    assert result.verdict.to_dict() == verdict
    export = ["export", str(tmp_path / "out" / "result.json"), "--urdf", str(tmp_path / "arm.urdf")]
    assert main(export) == ExitCode.NO
    assert "gravity" in capsys.readouterr().err
