"""The fleet's page as a user gets it from `heft fleet report`, opened in a browser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heft.fleet.results import FolderResults
from heft.fleet.store import write_table
from heft.identify.fleet.simulated.events import PlantedEvent
from heft.identify.fleet.simulated.months import FIRST_US, NIGHT_US, Months, Reference
from heft.main import main

NIGHTS, BROKEN, WORN = 200, 120, 110
#: What a visitor sees; the last word of the page is JSON.
LOOK = """
<script>
window.addEventListener("load", () => {
  const all = (where, what) => [...where.querySelectorAll(what)];
  const seen = {
    headline: document.querySelector("#verdict-title").textContent,
    width: [document.documentElement.scrollWidth, window.innerWidth],
    reasons: all(document, ".reasons a").map((one) => [one.textContent, one.getAttribute("href")]),
    arms: all(document, ".fleet-arm").map((arm) => ({
      name: arm.querySelector("h2").firstChild.textContent.trim(),
      id: arm.id,
      links: all(arm, "a").map((one) => one.getAttribute("href")),
      panels: all(arm, ".panel").map((panel) => ({
        name: panel.querySelector("b").textContent,
        changed: panel.classList.contains("changed"),
        size: [panel.querySelector("svg").getBoundingClientRect().width,
               panel.querySelector("svg").getBoundingClientRect().height],
        dots: panel.querySelector(".dots").getBoundingClientRect().width,
        since: all(panel, ".since").map((line) => {
          const svg = panel.querySelector("svg").getBoundingClientRect();
          return (line.getBoundingClientRect().x - svg.x) / svg.width;
        }),
        folded: panel.closest("details") !== null,
      })),
    })),
  };
  const first = document.querySelector(".reasons a");
  first.click();
  seen.at = location.hash;
  const note = document.body.appendChild(document.createElement("pre"));
  note.id = "seen";
  note.textContent = JSON.stringify(seen);
});
</script>
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four arms; one is worn, of another a gearbox was replaced. Sessions with a page, with a result, and with none."""
    names = tuple(f"joint{j}.{what}" for j in (1, 2, 3) for what in ("friction", "offset"))
    values = np.tile([2.0, 0.1], 3)
    joints = ("joint1", "joint2", "joint3")
    reference = Reference("robot", joints, names, ("N m",) * 6, values, 0.002 * values)
    events = (
        PlantedEvent("arm001", "wear", 0, WORN, 0.012),
        PlantedEvent("arm003", "gearbox-replaced", 1, BROKEN, 0.25),
    )
    out = tmp_path_factory.mktemp("fleet") / "run"
    out.mkdir()
    months = Months(reference, arms=4, nights=NIGHTS, seed=5, events=events, missed=0.0)
    write_table(FolderResults(out), months.rows())
    for night in range(BROKEN - 5, NIGHTS):
        session = out / "arm003" / f"night{night:03d}"
        session.mkdir(parents=True)
        (session / "report.html").write_text("<title>a session</title>", encoding="utf-8")
    (out / "arm000" / f"night{NIGHTS - 1}").mkdir(parents=True)
    (out / "arm000" / f"night{NIGHTS - 1}" / "result.json").write_text("{}", encoding="utf-8")
    assert main(["fleet", "report", str(out), "--json"]) == 0
    return out


@pytest.fixture(scope="module", params=[1100, 390], ids=["screen", "phone"])
def seen(
    request: Any,
    visit: Callable[..., tuple[str, list[str]]],
    folder: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Any]:
    """What a visitor saw, on a wide window and on a narrow one."""
    home = tmp_path_factory.mktemp("browser")
    page = home / "visited.html"
    page.write_text((folder / "fleet.html").read_text(encoding="utf-8").replace("</body>", f"{LOOK}</body>"))
    text, console = visit(page, home / "profile", f"--window-size={request.param},900", "--dump-dom")
    found = re.search(r'<pre id="seen">(.*?)</pre>', text)
    assert found is not None, console
    return {**json.loads(found[1].replace("&gt;", ">").replace("&amp;", "&")), "console": console}


def test_nothing_fails_in_the_console_and_it_fits_its_window(seen: dict[str, Any]) -> None:
    assert seen["console"] == []
    page, window = seen["width"]
    assert page <= window


def test_the_worst_arm_is_first_and_the_headline_leads_to_it(seen: dict[str, Any]) -> None:
    assert seen["headline"] == "2 of 4 arms have changed."
    assert [arm["name"] for arm in seen["arms"]] == ["arm003", "arm001", "arm000", "arm002"]
    assert [text.partition(":")[0] for text, _ in seen["reasons"]][:2] == ["arm003", "arm001"]
    assert seen["at"] == seen["reasons"][0][1] == f"#{seen['arms'][0]['id']}"


def test_changes_are_marked_where_they_began(seen: dict[str, Any]) -> None:
    worst, worn, *healthy = seen["arms"]
    for arm, quantity, night, near in (
        (worst, "joint2.friction", BROKEN, 0.02),
        (worst, "joint2.offset", BROKEN, 0.02),
        (worn, "joint1.friction", WORN, 0.2),
    ):
        panel = next(one for one in arm["panels"] if one["name"] == quantity)
        assert panel["changed"]
        (since,) = panel["since"]
        assert since == pytest.approx(night / NIGHTS, abs=near)
    assert [one["name"] for one in worst["panels"][:2]] == ["joint2.friction", "joint2.offset"]
    assert all(not one["since"] and not one["changed"] for arm in healthy for one in arm["panels"])


def test_every_arm_has_its_small_multiples(seen: dict[str, Any]) -> None:
    for arm in seen["arms"]:
        shown = [one for one in arm["panels"] if not one["folded"]]
        assert {f"joint{j}.friction" for j in (1, 2, 3)} <= {one["name"] for one in shown}
        for one in shown:
            width, height = one["size"]
            assert width > 120
            assert height > 40
            assert one["dots"] > 0.9 * width


def test_sessions_lead_to_their_pages_or_results(seen: dict[str, Any], folder: Path) -> None:
    worst, _, plain, none = seen["arms"]
    assert f"arm003/night{BROKEN:03d}/report.html" in worst["links"]
    assert f"arm003/night{NIGHTS - 1}/report.html" in worst["links"]
    assert plain["links"] == [f"arm000/night{NIGHTS - 1}/result.json"]
    assert none["links"] == []
    assert all((folder / link).is_file() for arm in seen["arms"] for link in arm["links"])


def test_the_time_axis_is_that_of_the_table(folder: Path) -> None:
    text = (folder / "fleet.html").read_text(encoding="utf-8")
    last = np.datetime64(FIRST_US + (NIGHTS - 1) * NIGHT_US, "us").astype("datetime64[D]")
    assert text.count(f"<span>2026-01-01</span><span>{last}</span>") > 20
