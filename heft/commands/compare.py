"""`heft compare`: what moved between results, and how each predicts the others' data."""

from __future__ import annotations

import argparse
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from heft.daq.recording import Recording
from heft.exit_codes import ExitCode
from heft.identify.result import load
from heft.identify.result.comparison import Comparison, Difference, compare, data_of

__all__ = ["add", "run"]

MOST = 20  # rows of a table that is meant to be read


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULT.json", help="two results or more")
    parser.add_argument("--all", action="store_true", help="list parameters that did not move, too")
    parser.add_argument("--no-data", action="store_true", help="do not look for the recordings")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.set_defaults(run=run, usage_error=parser.error)


def run(arguments: argparse.Namespace) -> int:
    """Compare every result with the first."""
    paths: list[Path] = arguments.results
    if len(paths) < 2:
        arguments.usage_error("give two results or more")
    results = [load(path) for path in paths]
    opened = cache(Recording.open)  # results of one recording share it
    data, missing = [], []
    for path, result in zip(paths, results, strict=True):
        folders = [path.parent, *(other.parent for other in paths)]
        found, notes = ([], []) if arguments.no_data else data_of(result, *folders, opened=opened)
        data.append(found)
        missing += notes
    comparison = compare(results, data)
    if arguments.json:
        sys.stdout.write(json.dumps(_summary(comparison, paths, missing)) + "\n")
        return ExitCode.DONE
    console = Console(highlight=False, soft_wrap=True)
    for difference in comparison.differences:
        _tell(difference, paths, arguments.all, console)
    if np.isfinite(comparison.errors).any():
        _tell_errors(comparison, len(paths), console)
    for note in missing:
        console.print(f"! {note}", markup=False)
    return ExitCode.DONE


def _tell(difference: Difference, paths: list[Path], whole: bool, console: Console) -> None:
    first, second = difference.first, difference.second
    console.print(f"\n{second + 1} {paths[second]}\n  against {first + 1} {paths[first]}", markup=False)
    moved = difference.moved
    console.print(
        f"  {len(moved)} of {len(difference.moves)} base parameters moved by more than {difference.bound:.2f} standard "
        f"deviations of the difference; rms {difference.rms_score:.2f}"
    )
    if difference.unmatched:
        console.print(f"  {len(difference.unmatched)} base parameters are in one of the two only")
    shown = difference.moves if whole else moved[:MOST]
    if shown:
        table = Table(box=None, pad_edge=False)
        table.add_column("base parameter", overflow="fold")
        for column in (f"{first + 1}", f"{second + 1}", "+-", "score"):
            table.add_column(column, justify="right", no_wrap=True)
        for move in shown:
            values = (f"{value:.5g}" for value in (move.first, move.second, move.std))
            table.add_row(move.name, *values, f"{move.score:+.1f}")
        console.print(table)
    if not whole and len(moved) > MOST:
        console.print(f"and {len(moved) - MOST} more (--all)")


def _tell_errors(comparison: Comparison, count: int, console: Console) -> None:
    console.print("\ntorque error of model (row) on the data of result (column)")
    table = Table("model", *(f"data {j + 1}" for j in range(count)), box=None, pad_edge=False)
    for i, row in enumerate(comparison.errors):
        table.add_row(f"{i + 1}", *("-" if np.isnan(value) else f"{100 * value:.2f} %" for value in row))
    console.print(table)


def _summary(comparison: Comparison, paths: list[Path], missing: list[str]) -> dict[str, Any]:
    return {
        "results": [str(path) for path in paths],
        "differences": [
            {
                "first": d.first,
                "second": d.second,
                "compared": len(d.moves),
                "moved": len(d.moved),
                "bound": d.bound,
                "rms_score": d.rms_score,
                "unmatched": list(d.unmatched),
                "parameters": [
                    {
                        "name": move.name,
                        "first": move.first,
                        "second": move.second,
                        "std": move.std if np.isfinite(move.std) else None,
                        "score": move.score if np.isfinite(move.score) else None,
                        "moved": abs(move.score) > d.bound,
                    }
                    for move in d.moves
                ],
            }
            for d in comparison.differences
        ],
        "relative_error": [
            [None if np.isnan(value) else value for value in row] for row in comparison.errors.tolist()
        ],
        "missing": missing,
    }
