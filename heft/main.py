"""`heft`: parse, dispatch, and turn every expected error into one clear message and the right exit code."""

from __future__ import annotations

import argparse
import json
import logging
import os
import shlex
import sys
from importlib import import_module
from typing import Any

from heft import __version__
from heft.drivers.errors import HeftError
from heft.exit_codes import ExitCode, of_error
from heft.interruption import (
    aborted,
    answer_at_once,
    deaf_end,
    immediate_interrupt,
    interruptible,
    uninterrupted,
)
from heft.log_file import logged

__all__ = ["main", "program"]

#: Each command's module is imported only when it is called: some of them load much.
COMMANDS = {
    "design": "the motion that tells most, inside every limit and past every obstacle",
    "plan": "the whole motion of a session and its checks, without opening a device",
    "run": "run an excitation session on hardware or on the simulated rig",
    "serve": "own a rig and show it on a page: sessions, pick-ups and replays on request",
    "status": "which services and sessions run on this host, and where they stand",
    "open": "a recording or a result on a page, in the browser",
    "stop": "stop a running session from another terminal, its drives off",
    "pause": "bring a running session to rest on its path, from another terminal",
    "resume": "let a paused session go on",
    "replay": "publish a recording on the bus, as it was or faster",
    "check": "what is wrong with a log or a robot's model, and the line that cures it",
    "identify": "identify the arm from recordings",
    "payload": "what the gripper picked up: mass, centre of mass, inertia; from a recording or live",
    "calibrate": "gains of the drives by a weighed load, into the robot's file",
    "import": "make a recording of CSV, NPZ, Parquet or ROS 2 bags of other tools",
    "export": "write an identified model as URDF, MJCF, CSV or YAML, or a recording as CSV, Parquet or a bag",
    "compare": "compare results: what moved, and how each predicts the others' data",
    "fleet": "many arms over months: identify all recordings, the table, drift, a page, simulated fleets",
    "worker": "follow sessions and identify them, on this host or on another",
    "keys": "who may reach sessions from other hosts: keys of one's own, of peers, of hosts",
    "devices": "which devices there are",
    "doctor": "what killed sessions have left behind: list it, clean it, make cut-off recordings whole",
}
#: Commands whose name is a word of the language.
MODULES = {"import": "import_", "open": "open_"}


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="heft",
        description="Move a robot arm, record every sensor on one clock, and identify what it is made of.",
    )
    parser.add_argument("--version", action="version", version=f"heft {__version__}")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    arguments = sys.argv[1:] if arguments is None else arguments
    as_json = "--json" in arguments
    with immediate_interrupt(as_json):
        for name, purpose in COMMANDS.items():
            subparser = subparsers.add_parser(name, help=purpose, description=purpose)
            if name in arguments[:1]:
                import_module(f"heft.commands.{MODULES.get(name, name)}").add(subparser)
        parsed = parser.parse_args(arguments)
    with logged() as log:
        log.info("heft %s: begins: %s", parsed.command, shlex.join(arguments))
        code = _run(parsed, as_json)
        log.info("heft %s: ends with exit code %d", parsed.command, code)
        return code


def _run(parsed: argparse.Namespace, as_json: bool) -> int:
    """The command, and what its end means."""
    try:
        with interruptible(as_json):
            code: int = parsed.run(parsed)
            return code
    except HeftError as error:
        return _fail(parsed.command, str(error), of_error(error), {"error": str(error)}, as_json)
    except BrokenPipeError:  # whoever read the output has gone; nothing can be told any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.FAILED
    except OSError as error:  # a disk that is full, a file that may not be written
        where = "" if error.filename is None else f"{error.filename}: "
        text = f"{where}{error.strerror or error}; check the disk and the path"
        return _fail(parsed.command, text, ExitCode.FAILED, {"error": text}, as_json)
    except KeyboardInterrupt as interrupt:
        text = ": ".join(filter(None, ("interrupted", str(interrupt))))
        return _fail(parsed.command, text, ExitCode.ABORTED, aborted(text), as_json)


def _fail(command: str, text: str, code: ExitCode, facts: dict[str, Any], as_json: bool) -> ExitCode:
    """One message on standard error, and one object on standard output where that was asked for."""
    with uninterrupted():
        logging.getLogger("heft").info("heft %s: %s", command, text)
        sys.stderr.write(f"heft {command}: {text}\n")
        if as_json:
            sys.stdout.write(json.dumps(facts) + "\n")
            sys.stdout.flush()
    return code


def program() -> int:
    """`main`, and a signal when all is done changes nothing any more."""
    answer_at_once("--json" in sys.argv)
    code = main()
    deaf_end()
    return code


if __name__ == "__main__":
    sys.exit(program())
