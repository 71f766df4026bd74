"""`heft serve`: one process that owns a rig, and a page that shows it."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path

from heft.daq.bus.endpoint import Endpoints
from heft.daq.bus.runtime import private_endpoints
from heft.daq.config.rig import RigConfig, load_rig
from heft.daq.errors import ConfigError
from heft.doubts import tell_doubts
from heft.drivers.errors import HeftError
from heft.exit_codes import ExitCode
from heft.interruption import immediate_interrupt, stop_signals
from heft.options import positive, seed
from heft.service.reach import Reach
from heft.service.registration import service_of
from heft.terminal.keys import typed_lines

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.add_argument("rig", type=Path, metavar="RIG.yaml", help="the rig to own")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8765, help="port of the page; 0: any (default: 8765)")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("sessions"),
        metavar="DATA",
        help="folder of recordings, results and their catalogue (default: sessions)",
    )
    parser.add_argument(
        "--sessions",
        type=Path,
        metavar="DIR",
        help="folder of session files that the page offers (default: configs/sessions, your own or the shipped)",
    )
    parser.add_argument(
        "--token",
        metavar="FILE",
        type=Path,
        help="file with the token without which nobody is let in; needed where others than this host can connect",
    )
    parser.add_argument("--certificate", type=Path, metavar="PEM", help="certificate of TLS; needed likewise")
    parser.add_argument("--key", type=Path, metavar="PEM", help="private key of the certificate")
    parser.add_argument(
        "--arm-for", type=positive, default=600.0, metavar="S", help="how long a typed name arms the rig [s]"
    )
    parser.add_argument(
        "--arm-from-network",
        action="store_true",
        help="let a name typed on the page of another host arm the rig, too",
    )
    parser.add_argument(
        "--foxglove",
        type=int,
        nargs="?",
        const=8766,
        metavar="PORT",
        help="serve it to the Foxglove app as well (needs heft[foxglove]; default port 8766)",
    )
    parser.add_argument("--seed", type=seed, default=0, help="seed of a simulated rig")
    parser.add_argument("--json", action="store_true", help="print one line of JSON when it is ready")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Own the rig until Ctrl-C or SIGTERM."""
    reach = Reach.of(arguments.host, arguments.token, arguments.certificate, arguments.key)
    with immediate_interrupt(arguments.json):  # loads the libraries of its devices
        rig = load_rig(arguments.rig)
        other = service_of(rig.path)
        if other is not None:
            raise ConfigError(f"{rig.path}: a service owns it already: {other.url} (process {other.pid})")
        tell_doubts(rig.robot, "heft serve")
    return asyncio.run(_serve(arguments, rig, reach))


async def _serve(arguments: argparse.Namespace, rig: RigConfig, reach: Reach) -> int:
    from heft.service.answering import service_server
    from heft.service.catalogue import Catalogue
    from heft.service.drawing import arm_of_config, robot_of_config
    from heft.service.job import Place
    from heft.service.operator_arming import OperatorArming
    from heft.service.owner import RigOwner
    from heft.service.recovery import recover_all
    from heft.service.registration import announced_service, service_endpoint

    catalogue = Catalogue(arguments.out.absolute())
    catalogue.prepare()
    for line in await asyncio.to_thread(recover_all, catalogue.folder):
        sys.stderr.write(f"heft serve: {line}\n")
    await asyncio.to_thread(catalogue.refresh)
    async with AsyncExitStack() as stack:
        endpoints: Endpoints = stack.enter_context(
            private_endpoints(telemetry=rig.telemetry, outside=rig.outside)
        )
        arming = OperatorArming(rig, time.monotonic, window_s=arguments.arm_for)
        place = Place(
            rig, robot_of_config(rig.robot), endpoints, catalogue.folder, arming, seed=arguments.seed
        )
        owner = RigOwner(place, catalogue, arm_of_config(rig.robot))
        stack.enter_context(stop_signals(asyncio.get_running_loop(), owner.end))
        await stack.enter_async_context(service_server(service_endpoint(endpoints), owner, arming))
        page = await stack.enter_async_context(reach.page(arguments, rig, endpoints, catalogue.folder))
        stack.enter_context(announced_service(rig.name, rig.path, page.url, endpoints))
        if arming.movers:
            prompt = f"type {rig.robot.name} to arm it for {arguments.arm_for:g} s\n"
            stack.enter_context(typed_lines(lambda line: _arm(arming, line), prompt))
        gc.collect()
        gc.freeze()
        running = asyncio.create_task(owner.run(), name="owner")
        _ready(arguments.json, page.url, rig)
        await running
    return ExitCode.DONE


def _arm(arming: object, line: str) -> None:
    """A name typed at the terminal."""
    from heft.service.operator_arming import OperatorArming

    assert isinstance(arming, OperatorArming)
    try:
        arming.arm(line, "at the terminal")
        sys.stderr.write(f"armed for {arming.window_s:g} s\n")
    except HeftError as exc:
        sys.stderr.write(f"heft serve: {exc}\n")


def _ready(as_json: bool, url: str, rig: RigConfig) -> None:
    if as_json:
        sys.stdout.write(json.dumps({"url": url, "rig": rig.name}) + "\n")
    else:
        sys.stdout.write(f"{rig.name}: {url}\n")
    sys.stdout.flush()
