"""`heft fleet drift`: which arm has changed, what, since when, how sure, and what usually causes it."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from numpy.typing import NDArray

from heft.daq.config.broker import BrokerConfig
from heft.daq.errors import ConfigError
from heft.daq.mqtt import topics
from heft.daq.mqtt.link import Link
from heft.exit_codes import ExitCode
from heft.fleet.results import Results, results_at
from heft.fleet.store import read_table
from heft.identify.fleet.drift import DriftEvent, DriftOptions, SeriesReport, find_drift, short_series
from heft.identify.fleet.series import series_of
from heft.options import name, positive

__all__ = ["add", "run", "table_columns"]

COLUMNS = (
    "session",
    "time",
    "robot",
    "arm",
    "parameter",
    "unit",
    "value",
    "std",
    "prior_dominated",
    "verdict",
    "temperature",
    "load",
)
#: For the broker to take the events [s].
TOLD_S = 10.0


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the action."""
    parser.add_argument(
        "folder", nargs="?", default="fleet", help="of the run, or its address (default: fleet)"
    )
    add_drift_options(parser)
    parser.add_argument(
        "--mqtt", metavar="HOST[:PORT]", help="tell events to this broker: heft/FLEET/event/drift"
    )
    parser.add_argument(
        "--fleet", type=name, default="fleet", help="name of the fleet in topics (default: fleet)"
    )
    parser.add_argument(
        "--pager", action="store_true", help="print one line for a pager, none where all is well"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.set_defaults(run=run)


def add_drift_options(parser: argparse.ArgumentParser) -> None:
    """Options of what counts as drift."""
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="COLUMN=VALUE",
        help="rows to look at, as of heft fleet table",
    )
    parser.add_argument(
        "--false-alarms",
        type=positive,
        default=DriftOptions.rate,
        metavar="RATE",
        help=f"expected per arm and year over all quantities (default: {DriftOptions.rate:g})",
    )
    parser.add_argument(
        "--least",
        type=positive,
        default=DriftOptions.least,
        metavar="SHARE",
        help=f"smallest change that matters, as a share (default: {DriftOptions.least:g})",
    )
    parser.add_argument(
        "--since",
        type=_day,
        metavar="DATE",
        help="leave out changes that began before this day, as 2026-06-01: those that somebody has seen to",
    )


def drift_of(arguments: argparse.Namespace) -> tuple[list[DriftEvent], list[SeriesReport]]:
    """Events and series of a run's table."""
    options = DriftOptions(arguments.false_alarms, arguments.least)
    events, reports = find_drift(
        series_of(table_columns(results_at(arguments.folder), arguments.where)), options
    )
    if arguments.since is not None:
        events = [event for event in events if event.main.since >= arguments.since]
    return events, reports


def _day(text: str) -> int:
    """The beginning of a day [us UTC]."""
    try:
        return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1e6)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: give a day, as 2026-06-01") from None


def table_columns(results: Results, where: Sequence[str] = ()) -> dict[str, NDArray[Any]]:
    """The columns of a run's table that drift is found in, as arrays."""
    table = read_table(results, where, COLUMNS)
    columns: dict[str, NDArray[Any]] = {}
    for column in table.column_names:
        values = table[column].combine_chunks()
        kind = str(values.type)
        # Texts as indices into their few distinct values: as Python objects they would take most of the time.
        if kind == "string":
            coded = values.dictionary_encode()
            distinct = coded.dictionary.to_numpy(zero_copy_only=False).astype(str)
            columns[column] = distinct[coded.indices.to_numpy()] if len(distinct) else distinct
        else:
            columns[column] = values.to_numpy(zero_copy_only=False)
    return columns


def run(arguments: argparse.Namespace) -> int:
    """Tell what has changed; exit code 1 where anything has."""
    broker = None if arguments.mqtt is None else _broker(arguments.mqtt)
    events, reports = drift_of(arguments)
    told = None if broker is None else asyncio.run(_tell(broker, arguments.fleet, events))
    if arguments.json:
        facts = {
            "events": [event.to_dict() for event in events],
            "series": len(reports),
            "arms": len({(one.series.robot, one.series.arm) for one in reports}),
            "short": dict(short_series(reports)),
            **({} if told is None else {"mqtt": told}),
        }
        sys.stdout.write(json.dumps(facts) + "\n")
    elif arguments.pager:
        if events:
            more = f" (+{len(events) - 1} more)" if len(events) > 1 else ""
            sys.stdout.write(f"heft: {events[0].text}{more}\n")
    else:
        _print(events, reports)
    if told is False:
        sys.stderr.write(
            f"heft fleet drift: broker {arguments.mqtt} has not taken all events; is it there?\n"
        )
        return ExitCode.FAILED
    return ExitCode.NO if events else ExitCode.DONE


def _print(events: Sequence[DriftEvent], reports: Sequence[SeriesReport]) -> None:
    arms = len({(one.series.robot, one.series.arm) for one in reports})
    for event in events:
        sys.stdout.write(f"{event.text}\n")
        for one in event.changes[1:]:
            sys.stdout.write(f"    {one.text} since {one.session}\n")
        for cause in event.causes[:1]:
            sys.stdout.write(f"    {cause.check}\n")
    for arm, sessions in short_series(reports).items():
        sys.stdout.write(f"{arm}: {sessions} sessions are too few for a word\n")
    changed = len({event.arm for event in events})
    sys.stdout.write(f"{changed} of {arms} arms have changed ({len(reports)} series)\n")


def _broker(text: str) -> BrokerConfig:
    host, _, port = text.rpartition(":") if ":" in text else (text, "", "1883")
    if not host or not port.isdecimal():
        raise ConfigError(f"--mqtt {text}: give HOST or HOST:PORT")
    return BrokerConfig(host=host, port=int(port))


async def _tell(broker: BrokerConfig, fleet: str, events: Sequence[DriftEvent]) -> bool:
    """Publish the events; whether the broker has taken all."""
    async with Link(broker, fleet, "drift") as link:
        for event in events:
            link.event(topics.drift_event(fleet), {"schema": "heft.drift", **event.to_dict()})
        state = {
            "schema": "heft.drift",
            "events": len(events),
            "arms": sorted({event.arm for event in events}),
        }
        link.state(topics.drift(fleet), state)
        try:
            async with asyncio.timeout(TOLD_S):
                while not link.connected or link.waiting:  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(0.01)
        except TimeoutError:
            return False
    return True
