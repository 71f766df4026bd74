"""Settings on the command line: `heft run` looks at them before anything moves."""

from __future__ import annotations

from pathlib import Path

import pytest

from heft.exit_codes import ExitCode
from heft.main import main

SESSION = """
name: short
rig: configs/rigs/sim_wam7.yaml
steps:
  - {name: excitation, use: identification, fourier: {seconds: 5, seed: 3}}
identify: {IDENTIFY}
"""


@pytest.mark.parametrize(
    ("section", "options", "said"),
    [
        ("{cutof: 8}", [], "short.yaml: identify: no setting 'cutof'; there are method"),
        ("{bounds: {mass: {hand: [0, 1]}}}", [], "setting bounds.mass.hand: no link hand"),
        ("{}", ["method.per_axis=4"], "setting method.per_axis: sdp has no option 'per_axis'"),
        ("{}", ["cutoff_hz"], "--set cutoff_hz: no value"),
    ],
)
def test_a_session_that_could_not_be_identified_does_not_begin(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], section: str, options: list[str], said: str
) -> None:
    path = tmp_path / "short.yaml"
    path.write_text(SESSION.replace("{IDENTIFY}", section), encoding="utf-8")
    out = tmp_path / "out"
    command = ["run", str(path), "--speed", "max", "--out", str(out)]
    assert main([*command, *(part for one in options for part in ("--set", one))]) == ExitCode.USAGE
    assert said in capsys.readouterr().err
    assert not out.exists()
