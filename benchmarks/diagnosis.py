"""Does `heft check` find what is wrong? Defects of a healthy simulated session, and healthy sessions.

    python benchmarks/diagnosis.py [--rig wam7] [--seed 0] [--only NAME ...] [--piece 1/1] [--healthy 17]
        [--rigs wam7 ...] [--parts defects healthy cost] [--cache FOLDER] [--verbose]

`defects`: each defect of `log_defects.py` at three severities, of one rig's session or a random arm's (`--rig arm`):
whether a finding names it, and, where a fix is promised, whether the log, identified again with the map that `--fix`
would write, gives the result of the healthy log (`cured_results.py`: in its 95 % intervals). Velocities do not enter a
fit: of defects of theirs alone the log itself must come back, to 1 %. `healthy`: so many sessions of each of the
`--rigs`, with seeds of their own: none should have a finding that is fatal or serious. `cost`: of the looks that
commands make by themselves. Each part can be run alone, and in pieces (`--piece 2/3`: every third of the defects, from
the second on; `--rigs` and `--seed` for sessions).

Exit code 1 where less than 95 % of the severe or 80 % of the moderate defects are named, less than 80 % of the curable
(moderate and severe) are cured, more than one healthy session is accused, or the looks take more than a tenth of
`heft identify` or `heft payload`.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import yaml
from cured_results import Agreement, cured_agreement, result_of
from log_defects import DEFECTS, Defect
from random_arms import QUALITIES, random_arm

from heft.daq.recording import Recording
from heft.identify import Result, Robot
from heft.identify.data.recorded_robot import robot_of
from heft.identify.diagnosis import cheap_reasons
from heft.identify.diagnosis.diagnose import diagnose
from heft.identify.diagnosis.finding import Finding
from heft.identify.diagnosis.log import Log
from heft.identify.diagnosis.recorded_log import recorded_log
from heft.main import main as heft

RIGS = ("wam7", "panda", "tx40")
ARM = "arm"  # one of `random_arms.py`, on which nothing of the checks was chosen; computed, so that it costs seconds
SESSIONS = Path(__file__).parents[1] / "configs" / "sessions"
BOUNDS = {2: 0.95, 1: 0.8}
CURED = 0.8
ACCUSED = 1
COST = 0.1  # of a command that makes the cheap looks
PARTS = ("defects", "healthy", "cost")
SEVERITIES = ("mild", "moderate", "severe")
write = sys.stdout.write


def healthy(rig: str, seed: int, cache: Path) -> tuple[Log, Robot]:
    """The log of a healthy simulated session, recorded once and kept in `cache`; or of a random arm."""
    if rig == ARM:
        arm = random_arm(len(QUALITIES) * seed + QUALITIES.index("exciting"))
        speed = np.gradient(arm.fit.q, arm.fit.t, axis=0)
        log = Log.of_arrays(arm.fit.t, arm.fit.q, arm.fit.tau, speed, joints=arm.robot.joints)
        return log, arm.robot
    folder = cache / f"{rig}-{seed}"
    path = folder / f"{rig}_excitation.mcap"
    if not path.exists():
        session = yaml.safe_load((SESSIONS / f"{rig}_excitation.yaml").read_text())
        session["rig"] = str((SESSIONS / session["rig"]).resolve())
        session["steps"] = [step for step in session["steps"] if step["use"] == "identification"]
        for step in session["steps"]:
            if "design" in step:
                step["design"] = str((SESSIONS / step["design"]).resolve())
        cache.mkdir(parents=True, exist_ok=True)
        file = cache / f"{rig}.yaml"
        file.write_text(yaml.safe_dump(session))
        call = ["run", str(file), "--speed", "max", "--no-identify"]
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            code = heft([*call, "--seed", str(seed), "--out", str(folder)])
        if code:
            raise SystemExit(f"{rig}, seed {seed}: heft run ended with {code}")
    recording = Recording.open(path)
    robot = robot_of(recording)
    return recorded_log(recording, robot), robot


@dataclass(frozen=True)
class Trial:
    """Of one defect: all findings, whether one names it, how well its fix cures it (None: none is promised)."""

    found: list[Finding]
    named: bool
    cure: Agreement | None

    @property
    def word(self) -> str:
        """For the table."""
        cure = "" if self.cure is None else ", cured" if self.cure.restored else ", not"
        return ("named" if self.named else "missed") + cure


def tried(one: Defect, severity: int, log: Log, robot: Robot, result: Result | None) -> Trial:
    """One defect at a severity; cures are judged by the healthy log's `result`, None: not at all."""
    broken, arm = one.make(log, robot, severity, np.random.default_rng(severity))
    found = diagnose(broken, arm)
    naming = [f for f in found if f.id in one.ids and (one.joint is None or log.joints[one.joint] in f.where)]
    cure = None if result is None or not one.curable else cured_agreement(log, result, broken, arm, found)
    return Trial(found, bool(naming), cure)


def main() -> int:
    """Print the tables; 1 where a bound is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--rig", choices=(*RIGS, ARM), default="wam7", help="of the defects")
    parser.add_argument(
        "--rigs", nargs="*", choices=(*RIGS, ARM), default=RIGS, help="of the healthy sessions"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="of the session with defects, and the first of the healthy"
    )
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--piece", default="1/1", help="K/N: every N-th of the defects, from the K-th on")
    parser.add_argument("--healthy", type=int, default=17, help="sessions of each rig")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "heft-diagnosis")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    parts = {"defects": _defects, "healthy": _sessions, "cost": _cost}
    missed = [parts[name](arguments) for name in arguments.parts]
    return int(any(missed))


def _defects(arguments: argparse.Namespace) -> bool:
    log, robot = healthy(arguments.rig, arguments.seed, arguments.cache)
    usable = [one for one in DEFECTS if "wrench" not in one.name or "wrench" in log.tables]
    chosen = [one for one in usable if not arguments.only or any(word in one.name for word in arguments.only)]
    piece, pieces = (int(text) for text in arguments.piece.split("/"))
    chosen = chosen[piece - 1 :: pieces]
    named = {severity: [] for severity in range(3)}
    heals: list[bool] = []
    result = result_of(log, robot)
    write(f"{'defect':38}" + "".join(f"{word:>14}" for word in SEVERITIES) + "\n")
    for one in chosen:
        line = f"{one.name:38}"
        more = []
        for severity in range(3):
            start = time.perf_counter()
            trial = tried(one, severity, log, robot, result if severity else None)
            named[severity].append(trial.named)
            if trial.cure is not None:
                heals.append(trial.cure.restored)
            line += f"{trial.word:>14}"
            told = "; ".join(
                f"{f.severity} {f.id} ({f.where}): {f.evidence} {f.fix or ''}" for f in trial.found[:4]
            )
            seconds = time.perf_counter() - start
            more.append(
                f"    {SEVERITIES[severity]} {seconds:.1f} s: {trial.cure or ''} {told or 'nothing'}\n"
            )
        write(line + "\n" + ("".join(more) if arguments.verbose else ""))
        sys.stdout.flush()
    shares = {severity: float(np.mean(hits)) for severity, hits in named.items()}
    cures = float(np.mean(heals)) if heals else 1.0
    write(f"\n{len(chosen)} defects on {arguments.rig}: named ")
    write(", ".join(f"{sum(named[s])} ({100 * shares[s]:.0f} %) of the {SEVERITIES[s]}" for s in range(3)))
    write(f"; the fix cures {sum(heals)} of {len(heals)} ({100 * cures:.0f} %) that are curable\n")
    return any(shares[severity] < bound for severity, bound in BOUNDS.items()) or cures < CURED


def _sessions(arguments: argparse.Namespace) -> bool:
    accused = count = notes = 0
    for rig in arguments.rigs:
        for seed in range(arguments.seed, arguments.seed + arguments.healthy):
            log, robot = healthy(rig, seed, arguments.cache)
            found = diagnose(log, robot)
            bad = [one for one in found if one.severity != "note"]
            count, accused, notes = count + 1, accused + bool(bad), notes + len(found) - len(bad)
            for one in bad:
                write(f"{rig} seed {seed}: {one.severity} {one.id} ({one.where}): {one.evidence}\n")
    write(f"{count} healthy sessions: {accused} with a finding that is fatal or serious; {notes} notes\n")
    return accused > ACCUSED


def _cost(arguments: argparse.Namespace) -> bool:
    """What the cheap looks take of the processor time of the two commands that make them."""
    healthy("wam7", 0, arguments.cache)
    excitation = arguments.cache / "wam7-0" / "wam7_excitation.mcap"
    folder = arguments.cache / "picked"
    picked = folder / "pick_and_weigh.mcap"
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        if not picked.exists():
            session = str(SESSIONS / "pick_and_weigh.yaml")
            heft(["run", session, "--speed", "max", "--no-identify", "--out", str(folder)])
    calls = {
        "identify": (excitation, "cheap_reasons", ["--out", str(folder / "identified")]),
        "payload": (picked, "payload_reasons", []),
    }
    failed = False
    for command, (path, look, more) in calls.items():
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            looks, whole = _seconds(look, lambda: heft([command, str(path), *more]))  # noqa: B023
        failed |= looks > COST * whole
        write(
            f"heft {command}: the cheap looks take {looks:.2f} of {whole:.2f} CPU s: "
            f"{100 * looks / whole:.1f} %, at most {100 * COST:.0f} %\n"
        )
    return failed


def _seconds(look: str, call: Callable[[], object], times: int = 4) -> tuple[float, float]:
    """Processor time [s] of the looks inside a call, and of the call, of the fastest: the first loads libraries."""
    taken = []
    looks = getattr(cheap_reasons, look)
    spent = 0.0

    def timed(*arguments: Any, **more: Any) -> Any:
        nonlocal spent
        begun = time.process_time()
        try:
            return looks(*arguments, **more)
        finally:
            spent += time.process_time() - begun

    for _ in range(times):
        begun, spent = time.process_time(), 0.0
        with mock.patch.object(cheap_reasons, look, timed):
            call()
        taken.append((time.process_time() - begun, spent))
    whole, part = min(taken)
    return part, whole


if __name__ == "__main__":
    sys.exit(main())
