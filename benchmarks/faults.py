"""Faults on purpose: does the arm stop, is every sample accounted for, is the culprit named, is nothing left behind?

    python benchmarks/faults.py [--seeds 20] [--first 1] [--only WORD...] [--workers 2] [--table FILE] [--json FILE]

Each fault (`fault_campaign/`: of devices, wires, hosts, strangers and files) meets `heft` in sessions that its seeds
draw: motion, acceleration limits from 1 to 20 rad/s2, the instant, the device. The arm is judged by the simulated plant
itself, not by what was recorded of it. After every fault a healthy session must run in the same surroundings.
Simulated rigs run side by side, whatever needs real time runs alone. The table goes to standard output, and to FILE as
Markdown; exit code 1 where anything was missed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from fault_campaign import device_faults, file_faults, host_faults, stranger_faults, wire_faults
from fault_campaign.judge import Judgement, judge
from fault_campaign.motion import simulated
from fault_campaign.trial import Expected, Fault, Trial

GROUPS = (device_faults, wire_faults, host_faults, stranger_faults, file_faults)
FAULTS: tuple[Fault, ...] = tuple(fault for group in GROUPS for fault in group.FAULTS)
write = sys.stdout.write


@dataclass(frozen=True)
class Row:
    """One fault over all its seeds."""

    fault: Fault
    judgements: tuple[Judgement, ...]

    @property
    def cells(self) -> tuple[str, ...]:
        decisions = [j.decision_s for j in self.judgements if j.decision_s is not None]
        rests = [j.rest_s for j in self.judgements if j.rest_s is not None]
        return (
            self.fault.group,
            self.fault.name,
            str(len(self.judgements)),
            _seconds(decisions),
            _seconds(rests),
            str(sum(j.lost for j in self.judgements)),
            str(sum(j.unaccounted for j in self.judgements)),
            str(sum(bool(j.misses) for j in self.judgements)),
        )


HEAD = ("group", "fault", "runs", "decision [s]", "at rest [s]", "lost", "unaccounted", "missed")


def _seconds(values: Sequence[float]) -> str:
    """Median and largest."""
    return f"{np.median(values):.3f}, {max(values):.3f}" if values else ""


def run(number: int, seed: int) -> Judgement:
    """One trial, and a healthy session after it."""
    fault = FAULTS[number]
    folder = Path(tempfile.mkdtemp(prefix="hf"))
    try:
        judgement = judge(fault.run(Trial.of(fault.name, seed, folder)))
        return Judgement(
            (*judgement.misses, *_next_session(folder, seed)),
            judgement.decision_s,
            judgement.rest_s,
            judgement.lost,
            judgement.unaccounted,
        )
    except Exception:
        return Judgement((f"the trial itself failed: {traceback.format_exc(limit=-3)}",))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _next_session(folder: Path, seed: int) -> Iterator[str]:
    """What goes wrong in a healthy session with the same runtime and temporary folders."""
    setup = simulated(Trial.of("next", seed, folder), seconds=0.2, still=True)
    setup.runs = 1000
    evidence = setup.evidence(setup.start(), Expected((0,)))
    for miss in judge(evidence).misses:
        yield f"next session: {miss}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=1, help="first seed")
    parser.add_argument(
        "--only", nargs="+", default=[], help="faults or groups whose name has one of these words"
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--table", type=Path, help="write the table as Markdown")
    parser.add_argument("--json", type=Path, help="write every judgement")
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    chosen = [
        number
        for number, fault in enumerate(FAULTS)
        if not arguments.only or any(word in f"{fault.group} {fault.name}" for word in arguments.only)
    ]
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    begun = time.monotonic()
    judged: dict[int, list[Judgement]] = {number: [] for number in chosen}
    with ProcessPoolExecutor(arguments.workers, get_context("fork")) as pool:
        quick = [(n, seed) for n in chosen for seed in seeds if not FAULTS[n].real_time]
        for (number, seed), judgement in (
            zip(quick, pool.map(run, *zip(*quick, strict=True)), strict=True) if quick else ()
        ):
            _tell(number, seed, judgement)
            judged[number].append(judgement)
    for number in chosen:
        for seed in seeds if FAULTS[number].real_time else ():
            judgement = run(number, seed)
            _tell(number, seed, judgement)
            judged[number].append(judgement)
    rows = [Row(FAULTS[number], tuple(judged[number])) for number in chosen]
    everything = [j for row in rows for j in row.judgements]
    missed = sum(bool(j.misses) for j in everything)
    table = _table(rows)
    write(
        "\n" + table + f"\n{len(everything)} runs in {time.monotonic() - begun:.0f} s, {missed} with a miss\n"
    )
    if arguments.table:
        arguments.table.write_text(table, encoding="utf-8")
    if arguments.json:
        found = {row.fault.name: [asdict(j) for j in row.judgements] for row in rows}
        arguments.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 1 if missed else 0


def _tell(number: int, seed: int, judgement: Judgement) -> None:
    for miss in judgement.misses:
        sys.stderr.write(f"{FAULTS[number].name}, seed {seed}: {miss}\n")


def _table(rows: Sequence[Row]) -> str:
    lines = [HEAD, tuple("---" for _ in HEAD), *(row.cells for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
