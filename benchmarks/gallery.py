"""The gallery: real recordings in ../shared/data (or $HEFT_DATA) through `heft check` and `heft identify`.

    python benchmarks/gallery.py [NAME ...] [--write]

Runs the commands that `docs/gallery.md` names, as a user would, and prints the findings of each; exit code 1 where a
fact that is known of a recording is not among them. `--write` makes the page and its pictures anew: each is the top of
the page of `heft check --html`, drawn by Chromium.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import subprocess
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recordings import DATA, ROBOTS

from heft.main import main as heft

__all__ = ["EXHIBITS", "Exhibit", "checked"]

DOCS = Path(__file__).parents[1] / "docs"
SIZE = (820, 560)  # of a picture [pixels]
COLOURS = 32  # of a picture: text and lines need no more
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
write = sys.stdout.write


@dataclass(frozen=True)
class Exhibit:
    """A recording, the robot's file, lines of a map, where it is from, and the finding that must be made."""

    name: str
    title: str
    source: str
    file: str
    robot: str
    fact: str
    map: str = ""
    known: str = ""

    @property
    def command(self) -> list[str]:
        """What follows `heft check`, as a reader types it."""
        given = ["--map", f"{self.name}.map.yaml"] if self.map else []
        return [f"$HEFT_DATA/{self.file}", "--robot", self.robot, *given]

    def arguments(self, folder: Path) -> list[str]:
        """The same with the paths of this machine; the map is written into `folder`."""
        more = []
        if self.map:
            path = folder / f"{self.name}.map.yaml"
            path.write_text(self.map + "\n", encoding="utf-8")
            more = ["--map", str(path)]
        robot = self.robot.replace("$HEFT_DATA", str(DATA)).replace("configs/robots", str(ROBOTS))
        return [str(DATA / self.file), "--robot", robot, *more]


TIAGO = (
    "torque: {unit: A, constant: [1, 0.136, 0.136, -0.087, -0.087, -0.0613, -0.0613, -0.0613], "
    "gear: [1, 100, 100, 100, 100, 336, 336, 336]}"
)
FIGAROH = "github.com/thanhndv212/figaroh-examples"
CHIHA = "github.com/wissem01chiha/dynamic-identification"
WEIGAND = "github.com/JonasWeigand/Robot_Identification"
KINOVA = ("kinova_gen3_chiha.npz", "$HEFT_DATA/kinova_gen3_chiha.urdf")
KR300 = ("kr300_weigand.npz", "configs/robots/kr300.yaml")
EXHIBITS = (
    Exhibit(
        "panda",
        "Franka Panda, joint torque sensors",
        "github.com/marcocognetti/FrankaEmikaPandaDynModel",
        "panda_gaz.npz",
        "configs/robots/panda.yaml",
        "gaps",
        known="packets were lost: the stamps say so, and a uniform grid would be wrong",
    ),
    Exhibit(
        "tx40",
        "Staubli TX40, a file with the wrist's coupling",
        FIGAROH,
        "staubli_tx40.npz",
        "configs/robots/tx40.yaml",
        "smoothed_before_recording",
        known="a healthy recording: no finding is more than a note",
    ),
    Exhibit(
        "tx40_urdf",
        "Staubli TX40, a URDF without the coupling",
        FIGAROH,
        "staubli_tx40.npz",
        "$HEFT_DATA/staubli_tx40.urdf",
        "coupled_joints",
        known="one motor turns joints 5 and 6, and the URDF cannot say so",
    ),
    Exhibit(
        "kinova",
        "Kinova Gen3, motor currents",
        CHIHA,
        *KINOVA,
        "model_inconsistent",
        known="single one-way moves, and a URDF with links that could not exist",
    ),
    Exhibit(
        "kinova_model",
        "Kinova Gen3, its controller's `tau_model` taken for torques",
        CHIHA,
        *KINOVA,
        "model_output",
        "torque: {columns: [tau_model], unit: N m}",
        "by its name it is ignored; the map insists on it",
    ),
    Exhibit(
        "kr300",
        "KUKA KR300",
        WEIGAND,
        *KR300,
        "slow_motion",
        known="slow and small motion",
    ),
    Exhibit(
        "kr300_folder",
        "KUKA KR300, with the 0.8 ms that its folder states",
        WEIGAND,
        *KR300,
        "rate_mismatch",
        "rate_hz: 1250",
        "the data are at 4 ms",
    ),
    Exhibit(
        "tiago",
        "PAL TIAGo, torso and arm",
        FIGAROH,
        "tiago_arm.npz",
        "$HEFT_DATA/tiago_arm.urdf",
        "dead_column",
        TIAGO,
        "the wrist's currents carry no signal",
    ),
    Exhibit(
        "ur10",
        "Universal Robots UR10, a ROS 2 bag without metadata",
        "github.com/unisa-acg/inverse-dynamics-solver",
        "ur10_unisa_exciting.db3",
        "$HEFT_DATA/ur10_unisa.urdf",
        "smoothed_before_recording",
        known="signals were smoothed before they were published",
    ),
)


def checked(one: Exhibit, folder: Path) -> dict[str, Any]:
    """What `heft check` says of an exhibit; its page is `folder/NAME.html`."""
    page = ["--html", str(folder / f"{one.name}.html")]
    return _json(["check", *one.arguments(folder), "--json", *page])


def _identified(one: Exhibit, folder: Path) -> str:
    """What `heft identify` gives of an exhibit, in a sentence."""
    out = ["--out", str(folder / one.name)]
    said = _json(["identify", *one.arguments(folder), "--json", *out])
    if "relative_error" not in said:
        return "`heft identify` refuses it"
    error = 100 * said["relative_error"]["validation"]
    grade = said["verdict"]["grade"]
    return f"`heft identify` calls the model `{grade}`, which misses {error:.3g} % of the torque of unseen motion"


def _json(call: list[str]) -> dict[str, Any]:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        heft(call)
    if not out.getvalue():
        raise SystemExit(f"heft {' '.join(call)}: {err.getvalue()}")
    answer: dict[str, Any] = json.loads(out.getvalue())
    return answer


def _picture(page: Path, into: Path) -> None:
    """The top of a page as a small PNG."""
    from PIL import Image

    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        raise SystemExit(f"no browser for the pictures; install one of {', '.join(BROWSERS)}")
    raw = page.with_suffix(".png")
    size = f"--window-size={SIZE[0]},{SIZE[1]}"
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", size]
    subprocess.run(
        [browser, *flags, f"--screenshot={raw}", page.as_uri()], check=True, capture_output=True, timeout=120
    )
    with Image.open(raw) as image:
        image.convert("RGB").quantize(COLOURS).save(into, optimize=True)


def _section(one: Exhibit, findings: list[dict[str, Any]], gives: str) -> str:
    told = [f for f in findings if f["severity"] != "note"] or findings
    notes = ", ".join(dict.fromkeys(f"`{f['id']}`" for f in findings if f["severity"] == "note"))
    lines = [f"## {one.title}", "", f"Source: {one.source}. Known: {one.known}. {gives}.", ""]
    if one.map:
        lines += [f"`{one.name}.map.yaml`:", "", "```yaml", one.map, "```", ""]
    lines += ["```", f"heft check {' '.join(one.command)} --html {one.name}.html", "```", ""]
    lines += [f"- **`{f['id']}`** ({f['severity']}, {f['where']}): {f['evidence']}" for f in told[:5]]
    if len(told) > 5:
        lines.append(f"- and {len(told) - 5} more")
    if notes and told != findings:
        lines.append(f"- notes: {notes}")
    return "\n".join([*lines, "", f"![{one.title}](images/gallery_{one.name}.png)", ""])


HEAD = """# Gallery: what real recordings give, and what is wrong with them

Recordings of other people, as `heft check` and `heft identify` see them, without being told what is known of them.
This page and its pictures are made by `python benchmarks/gallery.py --write`; the recordings are not part of this
project, and are looked for in `../shared/data` or `$HEFT_DATA`. More on what identification gives of them, with twelve
methods, is in [real arms](real-arms.md).
"""


def main() -> int:
    """Print the findings of each exhibit; 1 where a known fact is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--write", action="store_true", help="write docs/gallery.md and its pictures")
    arguments = parser.parse_args()
    missed, sections = False, []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for one in EXHIBITS:
            if arguments.names and one.name not in arguments.names:
                continue
            findings = checked(one, folder)["findings"]
            found = one.fact in {f["id"] for f in findings}
            missed |= not found
            write(f"{one.name}: {one.fact} {'found' if found else 'MISSED'}\n")
            for f in findings:
                write(f"  {f['severity']:8}{f['id']}: {f['where']}: {f['evidence']}\n")
            sys.stdout.flush()
            if arguments.write:
                sections.append(_section(one, findings, _identified(one, folder)))
                _picture(folder / f"{one.name}.html", DOCS / "images" / f"gallery_{one.name}.png")
    if arguments.write and not arguments.names:
        (DOCS / "gallery.md").write_text("\n".join([HEAD, *sections]), encoding="utf-8")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
