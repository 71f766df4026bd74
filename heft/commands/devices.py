"""`heft devices`: which devices there are, whether they answer, and emulators that stand in for them."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError
from rich.console import Console
from rich.table import Table

from heft.daq.clock import RealClock
from heft.daq.config.rig import RigConfig, load_rig
from heft.daq.priority import as_a_device
from heft.daq.probe import DeviceProbe, StreamProbe, probe
from heft.daq.rig import Rig
from heft.drivers import registry
from heft.drivers.errors import OptionError
from heft.drivers.registry import KINDS
from heft.exit_codes import ExitCode
from heft.interruption import stop_signals
from heft.options import positive
from heft.wrench_sign import sign_notes

__all__ = ["add", "list_kinds", "probe_rig", "run_emulator"]


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    listing = actions.add_parser("list", help="kinds of device, their transports, and what each yields")
    listing.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    probing = actions.add_parser("probe", help="connect to every device of a rig and read one value of each")
    probing.add_argument("rig", type=Path, metavar="RIG.yaml")
    probing.add_argument("--seconds", type=positive, default=1.0, help="how long to listen (default: 1)")
    probing.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    probing.set_defaults(run=probe_rig)
    emulating = actions.add_parser(
        "emulate",
        help="stand in for one device on a real wire until SIGTERM",
        description="Prints one JSON line with the endpoint when ready, and runs until SIGTERM.",
    )
    emulating.add_argument(
        "kind", metavar="KIND", choices=sorted(name for name, kind in KINDS.items() if kind.emulator)
    )
    emulating.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="an option of the emulator, as JSON"
    )
    emulating.add_argument(
        "--fault", action="append", default=[], metavar="JSON", help='such as {"kind": "drop", "rate": 0.01}'
    )
    emulating.add_argument("--seed", type=int, default=0, help="of noise, bias and faults")
    emulating.add_argument("--json", action="store_true", help="nothing else: it is what it prints anyway")
    emulating.set_defaults(run=run_emulator)
    parser.set_defaults(run=list_kinds, json=False)


def list_kinds(arguments: argparse.Namespace) -> int:
    """Print the table of kinds."""
    if arguments.json:
        kinds = {
            name: {"transport": kind.transport, "yields": kind.yields, "emulator": bool(kind.emulator)}
            for name, kind in KINDS.items()
        }
        sys.stdout.write(json.dumps({"kinds": kinds}) + "\n")
        return ExitCode.DONE
    table = Table("kind", "transport", "yields", "emulator", box=None, pad_edge=False)
    for name, kind in KINDS.items():
        table.add_row(name, kind.transport, kind.yields, "yes" if kind.emulator else "")
    _print(table)
    return ExitCode.DONE


# -- probe ------------------------------------------------------------------------------------------------------------


def probe_rig(arguments: argparse.Namespace) -> int:
    """Connect to all devices of a rig at the same time and print a table; one error names every device that failed."""
    rig = load_rig(arguments.rig)
    probes = asyncio.run(_probe(rig, arguments.seconds))
    notes = sign_notes(rig.robot, probes)
    if arguments.json:
        sys.stdout.write(
            json.dumps({"devices": [_plain(device) for device in probes], "notes": notes}) + "\n"
        )
        return ExitCode.DONE
    table = Table(
        "device", "identity", "stream", "Hz", "nominal", "clock", "value", "lost", box=None, pad_edge=False
    )
    for device in probes:
        who = device.identity
        first = (
            device.device,
            " ".join(filter(None, (who.vendor, who.model, _first(who.serial), who.firmware))),
        )
        for number, received in enumerate(device.streams):
            what = received.stream.name.partition(".")[2]
            numbers = (f"{received.rate_hz:.1f}", f"{received.stream.rate_hz:g}")
            lost = str(device.counters.lost) if number == 0 else ""
            table.add_row(
                *(first if number == 0 else ("", "")), what, *numbers, received.clock, _value(received), lost
            )
    _print(table)
    for note in notes:
        sys.stdout.write(f"{note}\n")
    return ExitCode.DONE


def _print(table: Table) -> None:
    """Print a table without cutting it, however narrow the terminal is."""
    wide = Console(width=10_000, markup=False).measure(table).maximum
    console = Console(markup=False, highlight=False)
    console.width = max(console.width, wide)
    console.print(table)


async def _probe(config: RigConfig, seconds: float) -> list[DeviceProbe]:
    async with Rig(config, RealClock(), name="heft devices probe") as rig:
        return await probe(rig, seconds)


def _value(received: StreamProbe) -> str:
    """The last sample in SI units, grouped by unit; `none` where there is no sample."""
    if received.last is None:
        return "none"
    values = [
        (column.unit, value)
        for column, value in zip(received.stream.columns, received.last.si[-1], strict=True)
        if column.quantity != "age"
    ]
    of = {unit: [value for u, value in values if u == unit] for unit in dict.fromkeys(u for u, _ in values)}
    shown = {"" if unit == "1" else f" {unit}": values for unit, values in of.items()}
    return ", ".join(f"{' '.join(f'{v:.4g}' for v in vs)}{unit}" for unit, vs in shown.items())


def _first(serials: str) -> str:
    """Of a device that is several, the first one's serial number, and how many more there are."""
    first, *others = serials.split(", ")
    return f"{first} and {len(others)} more" if others else first


def _plain(device: DeviceProbe) -> dict[str, Any]:
    """As plain JSON values; a value that is not valid is null."""
    identity = device.identity
    return {
        "device": device.device,
        "identity": {key: getattr(identity, key) for key in ("vendor", "model", "serial", "firmware")},
        "lost": device.counters.lost,
        "streams": [
            {
                "stream": received.stream.name,
                "rate_hz": received.rate_hz,
                "nominal_hz": received.stream.rate_hz,
                "clock": received.clock,
                "columns": [column.name for column in received.stream.columns],
                "units": [column.unit for column in received.stream.columns],
                "value": None
                if received.last is None
                else [x if np.isfinite(x) else None for x in received.last.si[-1].tolist()],
            }
            for received in device.streams
        ],
    }


# -- emulate ----------------------------------------------------------------------------------------------------------


def run_emulator(arguments: argparse.Namespace) -> int:
    """Run one emulator in this process until SIGTERM or SIGINT."""
    from heft.drivers.emulators.wires.wire_faults import WireFault

    kind = arguments.kind
    options = dict(_setting(text) for text in arguments.set)
    model = registry.emulator_options(kind)
    try:
        chosen = model.model_validate(options)
    except ValidationError as exc:
        known = f"; known: {', '.join(model.model_fields)}"
        raise OptionError("\n".join(_mistakes("--set", exc, known))) from exc
    adapter: TypeAdapter[Any] = TypeAdapter(WireFault)
    faults = []
    for text in arguments.fault:
        try:
            faults.append(adapter.validate_python({"device": kind, **json.loads(text)}))
        except (json.JSONDecodeError, TypeError) as exc:
            raise OptionError(f"--fault {text}: not a JSON object ({exc})") from exc
        except ValidationError as exc:
            raise OptionError("\n".join(_mistakes(f"--fault {text}", exc))) from exc
    asyncio.run(_emulate(kind, chosen, faults, arguments.seed))
    return ExitCode.DONE


def _mistakes(option: str, exc: ValidationError, known: str = "") -> Iterator[str]:
    """A line for each: the option, the key, what is wrong, the value given."""
    for error in exc.errors():
        where = " ".join(filter(None, (option, ".".join(str(part) for part in error["loc"]))))
        if error["type"] == "extra_forbidden":
            yield f"{where}: there is no such key{known}"
        else:
            given = "" if isinstance(error["input"], dict) else f", got {error['input']!r}"
            yield f"{where}: {error['msg'].removeprefix('Value error, ')}{given}"


async def _emulate(kind: str, options: Any, faults: list[Any], seed: int) -> None:
    from heft.drivers.plant.bench import Bench

    plant = Bench(RealClock(), seed=seed)
    for fault in faults:
        plant.inject(fault)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    with stop_signals(loop, lambda reason: ended.set()):
        async with registry.create_emulator(kind, kind, options, plant) as emulator:
            gc.collect()
            gc.freeze()  # what is loaded stays: looking through it again would stall the device for a tenth of a second
            as_a_device()
            sys.stdout.write(json.dumps({"kind": kind, **emulator.endpoint}) + "\n")
            sys.stdout.flush()
            await ended.wait()


def _setting(text: str) -> tuple[str, Any]:
    """KEY=VALUE, where the value is JSON, or else the text itself."""
    key, equals, value = text.partition("=")
    if not equals:
        raise OptionError(f"--set {text}: expected KEY=VALUE")
    try:
        return key, json.loads(value)
    except json.JSONDecodeError:
        return key, value
