"""A command opens each recording once: its index is read, its robot unpacked and its samples hashed one time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from heft.daq.recording import recording as recording_module
from heft.exit_codes import ExitCode
from heft.main import main


@pytest.fixture
def opens(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the index of each file has been read."""
    counts: Counter[str] = Counter()
    read = recording_module._contents

    def counted(path: Path, *arguments: object) -> object:
        counts[path.name] += 1
        return read(path, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(recording_module, "_contents", counted)
    return counts


@pytest.fixture(scope="module")
def other(write_session: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_session(tmp_path_factory.mktemp("other") / "other.mcap", seconds=7.0)


def test_identify(recorded: Path, tmp_path: Path, opens: Counter[str]) -> None:
    assert main(["identify", str(recorded), "--method", "wls", "--out", str(tmp_path)]) in (0, 1)
    assert opens == {recorded.name: 1}
    assert (tmp_path / "report.html").exists()


def test_identify_and_validate_on_another(
    recorded: Path, other: Path, tmp_path: Path, opens: Counter[str]
) -> None:
    command = ["identify", str(recorded), "--method", "wls", "--validate", str(other), "--out", str(tmp_path)]
    assert main(command) in (0, 1)
    assert opens == {recorded.name: 1, other.name: 1}


def test_the_same_file_twice(recorded: Path, tmp_path: Path, opens: Counter[str]) -> None:
    command = ["identify", str(recorded), "--validate", str(recorded), "--out", str(tmp_path)]
    assert main(command) == ExitCode.FAILED
    assert opens == {recorded.name: 1}


def test_reproduce_compare_and_export(recorded: Path, tmp_path: Path, opens: Counter[str]) -> None:
    here = tmp_path / recorded.name
    here.write_bytes(recorded.read_bytes())
    results = []
    for method in ("wls", "ols"):
        main(["identify", str(here), "--method", method, "--out", str(tmp_path / method)])
        results.append(str((tmp_path / method / "result.json").rename(tmp_path / f"{method}.json")))
    for command in (
        ["identify", "--reproduce", results[0]],
        ["identify", str(here), "--reproduce", results[0]],
    ):
        opens.clear()
        assert main(command) == ExitCode.DONE
        assert opens == {here.name: 1}
    opens.clear()
    assert main(["compare", *results, "--json"]) == ExitCode.DONE
    assert opens == {here.name: 1}  # two results of one recording
    opens.clear()
    assert main(["export", results[0], "--csv", str(tmp_path / "table.csv")]) == ExitCode.DONE
    assert not opens
