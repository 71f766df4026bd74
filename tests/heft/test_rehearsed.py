"""Which plans count as rehearsed, and what is said of those that do not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from heft.arming import Arming
from heft.daq.config.session import load_session
from heft.daq.config.shipped import CONFIGS
from heft.daq.errors import ConfigError
from heft.daq.motion.plan import make_plan
from heft.daq.recording import Recording
from heft.main import main
from heft.rehearsed import PlanHash, rehearsal_state, store_rehearsal

AXES = {f"joint{i}": {"node": i, "counts_per_turn": 4096, "rated_current": 4.0} for i in range(1, 8)}
FACTS = {
    "at": "2026-01-01T00:00:00Z",
    "seed": 1,
    "condition_number": 61.2,
    "truth": {"inside": 60, "of": 62, "at_least": 50, "recovered": True},
    "hottest": [{"joint": "joint2", "peak_share": 0.71}],
}


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A short move on a rig with real drives that are not there."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    rig = {
        "name": "bay",
        "robot": str(CONFIGS / "robots/wam7.yaml"),
        "devices": {"arm": {"kind": "cia402", "channel": "heft_none", "axes": AXES}},
    }
    steps = [
        {"name": "there", "move": {"to": [0.2, -0.3, 0.2, 1.6, -1.6, 0.2, 0.2]}},
        {"name": "sway", "move": {"to": [0.3, -0.2, 0.2, 1.6, -1.6, 0.2, 0.2]}},
    ]
    for name, content in (("rig", rig), ("session", {"name": "short", "rig": "rig.yaml", "steps": steps})):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    return tmp_path / "session.yaml"


def state(session: Path, **more: Any) -> dict[str, Any]:
    return rehearsal_state(load_session(session), **{"needed": True, "unrehearsed": False, **more})


def rehearsed(session: Path) -> Path:
    config = load_session(session)
    return store_rehearsal(config, PlanHash.of(config), FACTS)


def test_a_plan_that_nobody_has_rehearsed_is_refused_with_the_remedy(session: Path) -> None:
    with pytest.raises(
        ConfigError,
        match=r"has not been rehearsed .*--rehearse --dry-run .* --unrehearsed .*nothing has moved",
    ):
        state(session)


def test_a_rehearsed_plan_is_accepted(session: Path) -> None:
    rehearsed(session)
    found = state(session)
    assert found["state"] == "rehearsed"
    assert found["at"] == FACTS["at"]
    assert (
        "condition number 61; planted truth inside 60 of 62 intervals; hottest joint2, 71 %" in found["says"]
    )


@pytest.mark.parametrize("file", ["session.yaml", "rig.yaml"])
def test_a_plan_that_has_changed_is_another_one(session: Path, file: str) -> None:
    rehearsed(session)
    with (session.parent / file).open("a", encoding="utf-8") as text:
        text.write("# a byte is enough\n")
    with pytest.raises(
        ConfigError,
        match=rf"not the one .* at 2026-01-01T00:00:00Z: changed since: {re.escape(file)}; heft run",
    ):
        state(session)


def test_the_operator_may_go_without(session: Path) -> None:
    found = state(session, unrehearsed=True)
    assert found["state"] == "unrehearsed"
    assert "NOT been rehearsed" in found["says"]


def test_where_nothing_real_moves_none_is_needed() -> None:
    for name in ("wam7_excitation", "emulated_wam7"):
        config = load_session(CONFIGS / f"sessions/{name}.yaml")
        assert Arming(config.rig, None).movers == ()
        assert rehearsal_state(config, needed=False, unrehearsed=False)["state"] == "not needed"


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"parts": {}, "rehearsal": {"at": 3}, "session": ""}']
)
def test_a_damaged_record_is_none(session: Path, content: bytes) -> None:
    rehearsed(session).write_bytes(content)
    with pytest.raises(ConfigError, match="has not been rehearsed"):
        state(session)


async def test_the_arming_prompt_says_how_it_was_rehearsed(
    session: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rehearsed(session)
    config = load_session(session)
    arming = Arming(config.rig, "wam7")
    arming.rehearsal = state(session)
    await arming.confirm(make_plan(config))
    assert (
        "rehearsed 2026-01-01T00:00:00Z on the simulated twin; condition number 61" in capsys.readouterr().err
    )


def test_from_the_command_line(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Refused; rehearsed; then only the drives are missing. A change is refused again, unless the operator insists."""
    out = session.parent / "out"
    play = ["run", str(session), "--arm", "wam7", "--no-identify", "--json"]
    assert main([*play, "--out", str(out)]) == 2
    assert "has not been rehearsed" in capsys.readouterr().err
    assert not out.exists()

    assert main(["run", str(session), "--rehearse", "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["rehearsal"]
    assert told["good"]
    assert told["devices"] == {"arm": "sim_drives"}
    assert told["truth"] is None  # nothing of it is for identification
    assert 0.0 < told["hottest"][0]["peak_share"] < 1.0

    assert main([*play, "--out", str(out)]) == 4  # there is no such bus
    assert json.loads(capsys.readouterr().out)["rehearsal"]["at"] == told["at"]

    session.write_text(session.read_text(encoding="utf-8") + "rate_hz: 500\n", encoding="utf-8")
    assert main([*play, "--out", str(out)]) == 2
    assert "changed since: session.yaml" in capsys.readouterr().err
    again = session.parent / "again"
    assert main([*play, "--unrehearsed", "--out", str(again)]) == 4
    assert json.loads(capsys.readouterr().out)["rehearsal"]["state"] == "unrehearsed"
    metadata = Recording.open(again / "short.mcap").metadata
    assert metadata["rehearsal"]["state"] == "unrehearsed"
