"""Arming: who is asked, what is shown, and what counts as an answer."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from heft.arming import Arming
from heft.daq.config.session import load_session
from heft.daq.config.shipped import CONFIGS
from heft.daq.errors import ConfigError, SafetyStop
from heft.daq.motion.plan import make_plan
from heft.main import main

HERE = [0.1, -0.5, 0.0, 1.8, -1.8, 0.0, 0.0]
AXES = {f"joint{i}": {"node": i, "counts_per_turn": 4096, "rated_current": 4.0} for i in range(1, 8)}


class Terminal:
    """A pseudo-terminal in place of standard input."""

    def __init__(self, master: int) -> None:
        self._master = master

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    master, slave = os.openpty()
    with open(slave, encoding="utf-8") as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        yield Terminal(master)
    os.close(master)


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A session on a rig with real drives and a real gripper, and an emulated wrist."""
    rig = {
        "name": "bay2",
        "robot": str(CONFIGS / "robots/wam7.yaml"),
        "simulation": {},
        "devices": {
            "arm": {"kind": "cia402", "channel": "can3", "axes": AXES},
            "gripper": {"kind": "robotiq_2f", "port": "/dev/ttyUSB7"},
            "wrist": {"kind": "ati_rdt", "host": "192.168.1.1"},
        },
        "emulation": {"devices": {"wrist": {}}},
    }
    steps = [
        {"name": "reach", "move": {"to": [0.4, -0.3, 0.2, 1.6, -1.6, 0.2, 0.2], "fraction": 0.5}},
        {"name": "take", "grip": "bottle"},
        {"name": "rest", "wait": 1.5},
    ]
    for name, content in (
        ("rig", rig),
        ("session", {"name": "short", "rig": "rig.yaml", "rate_hz": 100, "steps": steps}),
    ):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    return tmp_path / "session.yaml"


async def confirm(session: Path, given: str | None = None) -> None:
    config = load_session(session)
    await Arming(config.rig, given).confirm(make_plan(config, HERE))


async def answered(session: Path, terminal: Terminal, capsys: pytest.CaptureFixture[str], text: str) -> None:
    """Type this when the question is on the screen."""
    asking = asyncio.create_task(confirm(session))
    shown = ""
    while "to arm it" not in shown and not asking.done():
        await asyncio.sleep(0.001)
        shown += capsys.readouterr().err
    terminal.type(text)
    await asking


async def test_the_robots_name_arms(
    session: Path, terminal: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    await answered(session, terminal, capsys, "wam7\n")


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("yes\n", "'yes' is not the robot's name, wam7"),
        ("\n", "'' is not the robot's name, wam7"),
        ("bay2\n", "'bay2' is not the robot's name, wam7"),
        ("\x04", "no name was typed, wam7"),  # Ctrl-D
    ],
)
async def test_anything_else_does_not(
    session: Path, terminal: Terminal, capsys: pytest.CaptureFixture[str], typed: str, says: str
) -> None:
    with pytest.raises(SafetyStop, match=f"not armed: {re.escape(says)}; nothing has moved"):
        await answered(session, terminal, capsys, typed)


async def test_what_was_typed_before_the_question_is_no_answer(
    session: Path, terminal: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal.type("wam7\n")
    with pytest.raises(SafetyStop, match="'no' is not the robot's name"):
        await answered(session, terminal, capsys, "no\n")


async def test_the_question_can_be_interrupted(session: Path, terminal: Terminal) -> None:
    asking = asyncio.create_task(confirm(session))
    await asyncio.sleep(0.05)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_what_will_move_is_shown(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await confirm(session, "wam7")
    shown = capsys.readouterr().err
    assert "This moves a real robot: wam7, rig bay2" in shown
    lines = [line.split() for line in shown.splitlines()]
    assert ["arm", "cia402", "CAN", "socketcan", "can3", "moves"] in lines
    assert ["gripper", "robotiq_2f", "serial", "/dev/ttyUSB7", "moves"] in lines
    assert ["wrist", "ati_rdt", "not", "real"] in lines
    (reach,) = [line for line in lines if line[:1] == ["reach"]]
    assert reach[-2:] == ["50", "%"] or float(reach[-2]) < 50.0  # a fraction of 0.5 was asked for
    assert ["take", "gripper", "closes", "on", "bottle"] in lines
    assert ["rest", "1.5", "stands"] in lines
    (joint1,) = [line for line in lines if line[:1] == ["joint1"]]
    assert joint1[1:7] == ["0.100", "0.400", "0.100", "0.400", "-2.6", "2.6"]
    assert float(joint1[7]) <= 0.5 * float(joint1[8])
    assert float(joint1[9]) <= 0.5 * float(joint1[10])
    assert shown.rstrip().endswith("armed by --arm wam7")


def test_a_wrong_name_is_refused_on_every_rig(session: Path) -> None:
    for file in (session, CONFIGS / "sessions/wam7_excitation.yaml", CONFIGS / "sessions/emulated_wam7.yaml"):
        with pytest.raises(ConfigError, match="--arm panda: this robot's name is wam7; nothing has moved"):
            Arming(load_session(file).rig, "panda")


@pytest.mark.parametrize("name", ["wam7_excitation", "emulated_wam7"])
@pytest.mark.parametrize("given", [None, "wam7"])
async def test_simulated_and_emulated_rigs_do_not_ask(
    name: str, given: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    config = load_session(CONFIGS / f"sessions/{name}.yaml")
    arming = Arming(config.rig, given)
    assert arming.settled.is_set()
    await arming.confirm(make_plan(config))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("command", [["run"], ["payload", "--live"]])
def test_without_a_terminal_nobody_can_be_asked(
    session: Path, command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with open(os.devnull, encoding="utf-8") as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        out = session.parent / "out"
        assert main([*command, str(session), "--out", str(out)]) == 2
    assert re.search(r"arm, gripper would move, .* no terminal .* --arm wam7", capsys.readouterr().err)
    assert not out.exists()


def test_a_rig_that_only_waits_is_not_armed(session: Path) -> None:
    rig = load_session(session).rig
    assert Arming(rig, None, moves=False).settled.is_set()
    assert Arming(rig, "wam7", moves=True).movers == ("arm", "gripper")


DOUBTS = {"joint2": "its drive does not tell whether it counts from the joint's zero"}


async def test_positions_that_may_be_relative_are_looked_at_by_a_person(session, terminal, capsys):
    config = load_session(session)
    plan = make_plan(config, HERE)
    with pytest.raises(
        SafetyStop, match=r"the position of joint2 may be relative, and --arm wam7 cannot look at the arm"
    ):
        await Arming(config.rig, config.rig.robot.name).confirm(plan, DOUBTS)
    asked = asyncio.create_task(Arming(config.rig, None).confirm(plan, DOUBTS))
    said = ""
    while "to arm it" not in said and not asked.done():
        await asyncio.sleep(0.001)
        said += capsys.readouterr().err
    assert "joint2: its position may be relative" in said
    assert "only if it stands where the column `from rad` says" in said
    terminal.type(f"{config.rig.robot.name}\n")
    await asked
