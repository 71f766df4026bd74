"""`heft fleet simulate`, `drift` and `report` on the command line; events on MQTT."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from heft.daq.config.shipped import CONFIGS
from heft.fleet.actions import simulate
from heft.identify.fleet.simulated.events import PlantedEvent
from heft.identify.fleet.simulated.months import Months, Reference
from heft.main import main

DDARM = str(CONFIGS / "robots" / "ddarm.yaml")


@pytest.fixture(scope="module")
def months(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three arms; the last has a step of friction."""
    import numpy as np

    from heft.fleet.results import FolderResults
    from heft.fleet.store import write_table

    names = tuple(f"joint{j}.{what}" for j in (1, 2) for what in ("friction", "offset"))
    values = np.array([2.0, 0.1, 1.0, -0.1])
    reference = Reference("robot", ("joint1", "joint2"), names, ("N m",) * 4, values, 0.002 * np.abs(values))
    events = (PlantedEvent("arm002", "gearbox-replaced", 1, 100, 0.2),)
    folder = tmp_path_factory.mktemp("months")
    write_table(FolderResults(folder), Months(reference, arms=3, nights=120, seed=2, events=events).rows())
    return folder


def test_drift_says_which_arm_what_since_when_and_why(
    months: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fleet", "drift", str(months), "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    (event,) = said["events"]
    assert (event["arm"], event["causes"][0]["id"]) == ("arm002", "gearbox-replaced")
    assert event["since"].startswith("2026-04-1")
    friction = next(one for one in event["changes"] if one["parameter"] == "joint2.friction")
    assert friction["size"] == pytest.approx(0.2, abs=0.02)
    assert friction["sure"] > 0.999
    assert main(["fleet", "drift", str(months), "--pager"]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("heft: arm002: joint2.")
    assert main(["fleet", "drift", str(months), "--where", "arm=arm000", "--pager"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["fleet", "drift", str(months), "--since", "2026-04-05", "--pager"]) == 1
    assert main(["fleet", "drift", str(months), "--since", "2026-04-20", "--pager"]) == 0
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["fleet", "drift", str(months), "--since", "yesterday"])
    capsys.readouterr()
    assert main(["fleet", "drift", str(months)]) == 1
    assert "1 of 3 arms have changed" in capsys.readouterr().out


def test_report_is_one_page(months: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fleet", "report", str(months), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    page = Path(said["page"]).read_text(encoding="utf-8")
    assert "1 of 3 arms have changed" in page
    assert page.count('class="fleet-arm"') == 3


def test_simulate_writes_the_table_and_the_truth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import numpy as np

    reference = Reference("r", ("joint1",), ("joint1.friction",), ("N m",), np.ones(1), np.full(1, 0.01))
    monkeypatch.setattr(simulate, "reference_of", lambda robot: reference)
    assert (
        main(
            [
                "fleet",
                "simulate",
                "--out",
                str(tmp_path),
                "--arms",
                "4",
                "--nights",
                "40",
                "--robot",
                DDARM,
                "--json",
            ]
        )
        == 0
    )
    said = json.loads(capsys.readouterr().out)
    assert len(json.loads(Path(said["truth"]).read_text(encoding="utf-8"))["events"]) == 3
    assert main(["fleet", "table", str(tmp_path), "--where", "parameter=joint1.friction", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["rows"]) > 140
    assert main(["fleet", "simulate", "--out", str(tmp_path), "--arms", "0"]) == 2


def test_events_go_to_a_broker(
    months: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the link is given; that a broker has it, and exit code 4 without one, is in tests/daq/mqtt."""
    said: list[tuple[str, dict[str, Any]]] = []

    class Recorded:
        connected, waiting = True, 0

        def __init__(self, config: Any, cell: str, role: str) -> None:
            assert (config.host, config.port, cell, role) == ("127.0.0.1", 1884, "cellar", "drift")

        async def __aenter__(self) -> Recorded:
            return self

        async def __aexit__(self, *exc: object) -> None:
            return None

        def event(self, topic: str, facts: dict[str, Any]) -> None:
            said.append((topic, facts))

        state = event

    monkeypatch.setattr("heft.fleet.actions.drift.Link", Recorded)
    assert (
        main(["fleet", "drift", str(months), "--mqtt", "127.0.0.1:1884", "--fleet", "cellar", "--json"]) == 1
    )
    assert [topic for topic, _ in said] == ["heft/cellar/event/drift", "heft/cellar/drift"]
    assert said[0][1]["arm"] == "arm002"
    assert json.loads(capsys.readouterr().out)["mqtt"] is True
    assert main(["fleet", "drift", str(months), "--mqtt", "a:b"]) == 2
