"""What `heft payload` says where it cannot weigh."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from pathlib import Path
from typing import Self

import pytest
import yaml

from heft import payload_run
from heft.daq.config.shipped import CONFIGS
from heft.daq.rig import Rig
from heft.main import main
from heft.output_folder import OutputFolder
from heft.payload_process import PayloadProcess


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `--out`, folders are made below the one where the program was started."""
    monkeypatch.chdir(tmp_path)


def rig_without(folder: Path, device: str) -> str:
    rig = yaml.safe_load((CONFIGS / "rigs" / "sim_wam7.yaml").read_text(encoding="utf-8"))
    rig["robot"] = str(CONFIGS / "robots" / "wam7.yaml")
    del rig["devices"][device]
    path = folder / "rig.yaml"
    path.write_text(yaml.safe_dump(rig), encoding="utf-8")
    return str(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("device", "said"), [("gripper", "nothing would ever be weighed"), ("wrist", "a wrist's wrench")]
)
def test_a_rig_that_cannot_weigh(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], device: str, said: str
) -> None:
    assert main(["payload", "--live", rig_without(tmp_path, device), "--speed", "max"]) != 0
    assert said in capsys.readouterr().err


@pytest.mark.slow
def test_arming_a_rig_whose_gripper_tells_nothing_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What arrives by MQTT moves nothing, so there would be no motion."""
    rig = yaml.safe_load(Path(rig_without(tmp_path, "encoders")).read_text(encoding="utf-8"))
    rig["devices"]["gripper"]["detects"] = False
    rig["mqtt"] = {"host": "127.0.0.1", "port": 1}
    path = tmp_path / "silent.yaml"
    path.write_text(yaml.safe_dump(rig), encoding="utf-8")
    assert main(["payload", "--live", str(path), "--arm", "wam7", "--speed", "max"]) == 2
    assert "what arrives by MQTT moves nothing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "give either a recording or --live"),
        (["none.mcap"], 4, "none.mcap"),
        (["--live", "none.yaml"], 2, "none.yaml: no such file"),
        (["--live", "."], 2, "cannot be read"),
    ],
)
def test_what_is_missing(
    capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, said: str
) -> None:
    assert main(["payload", *arguments]) == code
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


SESSION = CONFIGS / "sessions" / "pick_and_weigh.yaml"


@pytest.mark.parametrize(
    "name",
    ["pick_and_weigh.mcap", "pick_and_weigh.mcap.partial", "pickup-002.mcap", "pickup-001.mcap.partial"],
)
def test_a_folder_of_another_run_is_refused_before_anything_begins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(payload_run, "_until_asked", None)
    (tmp_path / name).touch()
    assert main(["payload", "--live", str(SESSION), "--out", str(tmp_path)]) == 2
    assert f"{name} exists; move it away" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_an_output_folder_that_is_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out").touch()
    assert main(["payload", "--live", str(SESSION), "--out", str(tmp_path / "out")]) == 2
    assert "give a folder" in capsys.readouterr().err


@pytest.mark.slow
def test_a_recording_that_cannot_be_begun_ends_everything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pick-up's: somebody has put a file there after the start. The session stops, and is recorded until then."""
    monkeypatch.setattr(OutputFolder, "check", lambda self: None)
    session = tmp_path / "session.yaml"
    steps = [
        {"name": "still", "wait": 0.5},
        {"name": "take", "grip": "block"},
        {"name": "hold", "wait": 600.0},
    ]
    rig = str(CONFIGS / "rigs" / "sim_wam7.yaml")
    session.write_text(yaml.safe_dump({"name": "short", "rig": rig, "steps": steps}), encoding="utf-8")
    (tmp_path / "pickup-001.mcap").touch()
    assert main(["payload", "--live", str(session), "--speed", "max", "--out", str(tmp_path)]) == 4
    assert "pickup-001.mcap exists" in capsys.readouterr().err
    assert (tmp_path / "short.mcap").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_it_prepares(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    number: signal.Signals,
) -> None:
    """The process that weighs is still starting: nothing has been opened."""

    class Interrupted(PayloadProcess):
        async def __aenter__(self) -> Self:
            asyncio.get_running_loop().call_later(0.05, os.kill, os.getpid(), number)
            return await super().__aenter__()

    monkeypatch.setattr(payload_run, "PayloadProcess", Interrupted)
    before = signal.signal(
        number, signal.default_int_handler
    )  # a shell's background job is born deaf to SIGINT
    try:
        assert main(["payload", "--live", str(SESSION), "--out", str(tmp_path / "out")]) == 3
    finally:
        signal.signal(number, before)
    assert f"{number.name} received; nothing has moved" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert not multiprocessing.active_children()


@pytest.mark.slow
@pytest.mark.parametrize(("file", "code"), [("sessions/pick_and_weigh.yaml", 3), ("rigs/sim_wam7.yaml", 0)])
def test_a_signal_while_it_connects(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    file: str,
    code: int,
) -> None:
    """A device that never answers."""

    async def never(self: Rig) -> Rig:
        asyncio.get_running_loop().call_later(0.05, os.kill, os.getpid(), signal.SIGTERM)
        await asyncio.Event().wait()
        return self

    monkeypatch.setattr(Rig, "__aenter__", never)
    assert main(["payload", "--live", str(CONFIGS / file), "--out", str(tmp_path / "out")]) == code
    assert "SIGTERM received" in capsys.readouterr().err
