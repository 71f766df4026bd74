"""A session that is rehearsed and then played: planted truth is found on the twin, and the run says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from heft.daq.config.shipped import CONFIGS
from heft.daq.recording import Recording
from heft.main import main


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_rehearsal_says_what_will_come_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    session = tmp_path / "short.yaml"
    shake = "{name: shake, use: identification, fourier: {seconds: 6, period_s: 6, seed: 1, blend_s: 1}}"
    session.write_text(
        f"name: short\nrig: {CONFIGS}/rigs/sim_wam7.yaml\nsteps:\n  - {shake}\n", encoding="utf-8"
    )
    out = tmp_path / "out"
    assert main(["run", str(session), "--rehearse", "--speed", "max", "--json", "--out", str(out)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["state"] == "done"
    rehearsed = told["rehearsal"]
    assert rehearsed["state"] == "rehearsed"
    assert rehearsed["truth"]["recovered"]
    assert rehearsed["condition_number"] == pytest.approx(told["identification"]["condition_number"], rel=0.1)
    assert json.loads(Recording.open(out / "short.mcap").metadata["rehearsal"]["truth"])["recovered"]
