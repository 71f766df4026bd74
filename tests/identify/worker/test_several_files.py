"""`heft identify` of several recordings: own offsets, known loads, several to validate on; and made once more."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from heft.daq.config.shipped import CONFIGS
from heft.exit_codes import ExitCode
from heft.identify import load as load_result
from heft.identify.data import KnownLoad
from heft.main import main

LOAD = KnownLoad.of(2.0, [0.01, 0.02, 0.06])
TOLD = "2.0,0.01,0.02,0.06"


@pytest.fixture(scope="module")
def files(write_session: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("several")
    return {
        "bare": write_session(folder / "bare.mcap", seconds=8.0, offset=0.5),
        "loaded": write_session(folder / "loaded.mcap", seconds=7.0, offset=-0.5, load=LOAD),
        "third": write_session(folder / "third.mcap", seconds=6.0),
        "fourth": write_session(folder / "fourth.mcap", seconds=6.5, load=LOAD),
    }


@pytest.fixture(scope="module")
def robot_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The direct-drive arm with torque offsets in its model."""
    folder = tmp_path_factory.mktemp("robot")
    for name in ("ddarm.yaml", "ddarm.xml"):
        text = (CONFIGS / "robots" / name).read_text(encoding="utf-8")
        (folder / name).write_text(text.replace("terms: []", "terms: [offset]"), encoding="utf-8")
    return folder / "ddarm.yaml"


def identify(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, dict[str, object]]:
    code = main(["identify", *map(str, arguments), "--method", "wls", "--json"])
    text = capsys.readouterr().out
    return code, json.loads(text) if text else {}


def test_a_known_load_and_own_offsets(
    files: dict[str, Path], robot_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = files["bare"], files["loaded"], "--robot", robot_file
    identify(capsys, *both, "--load", f"loaded.mcap={TOLD}", "--out", tmp_path)
    told = load_result(tmp_path / "result.json")
    assert [one.source for one in told.recordings] == ["bare.mcap", "loaded.mcap"]
    for one, offset in zip(told.recordings, (0.5, -0.5), strict=True):
        assert list(one.offsets.values()) == pytest.approx([offset] * 3, abs=0.05)
    assert told.recordings[1].load == pytest.approx((2.0, 0.01, 0.02, 0.06, *[0.0] * 6))
    assert told.validation is not None
    assert told.validation.total == pytest.approx(told.fit.total, rel=0.5)  # with the recordings' own offsets
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "What each recording has of its own" in page
    assert "2 kg at (0.01, 0.02, 0.06) m" in page
    code, answer = identify(capsys, "--reproduce", tmp_path / "result.json", *both)
    assert (code, answer["identical"]) == (ExitCode.DONE, True)
    identify(capsys, *both, "--common", "offsets,delay", "--out", tmp_path / "common")
    common = load_result(tmp_path / "common" / "result.json")
    assert common.provenance.configuration["common"] == ["offsets", "delay"]
    assert common.fit.total > 3 * told.fit.total  # neither load nor offsets are known
    code, answer = identify(capsys, "--reproduce", tmp_path / "common" / "result.json", *both)
    assert (code, answer["identical"]) == (ExitCode.DONE, True)


def test_several_to_validate_on(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unseen = files["third"], files["fourth"]
    errors = []
    for text in ([], ["--load", f"{files['fourth']}={TOLD}"]):
        _, answer = identify(capsys, files["bare"], "--validate", *unseen, *text, "--out", tmp_path)
        errors.append(answer["relative_error"]["validation"])  # type: ignore[index]
    assert errors[1] < 0.5 * errors[0]
    origins = load_result(tmp_path / "result.json").provenance.recordings
    assert [(one.name, one.use) for one in origins] == [
        ("bare.mcap", "identification"),
        ("third.mcap", "validation"),
        ("fourth.mcap", "validation"),
    ]
    code, _ = identify(capsys, "--reproduce", tmp_path / "result.json", files["bare"], *unseen)
    assert code == ExitCode.DONE


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1,0,0,0", "of which of"),
        ("other.mcap=1,0,0,0", "is none of"),
        ("bare.mcap=1,0,0", "give four or ten"),
        ("bare.mcap=1,a,0,0", "are no numbers"),
        ("bare.mcap=-1,0,0,0", "mass of 0 kg or more"),
    ],
)
def test_loads_that_are_not_understood(
    files: dict[str, Path], text: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["identify", str(files["bare"]), str(files["third"]), "--load", text]) == ExitCode.USAGE
    assert why in capsys.readouterr().err


def test_what_can_be_common(files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["identify", str(files["bare"]), "--common", "friction"])
    assert "choose of offsets, delay" in capsys.readouterr().err
