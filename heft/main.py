"""`heft`: parse, dispatch, and turn every expected error into one clear message and the right exit code."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module

from heft import __version__
from heft.drivers.errors import HeftError
from heft.exit_codes import ExitCode, of_error
from heft.interruption import immediate_interrupt

__all__ = ["main"]

#: Each command's module is imported only when it is called: some of them load much.
COMMANDS = {
    "run": "run an excitation session on hardware or on the simulated rig",
    "stop": "stop a running session from another terminal, its drives off",
    "replay": "publish a recording on the bus, as it was or faster",
    "identify": "identify the arm from recordings",
    "payload": "what the gripper picked up: mass, centre of mass, inertia; from a recording or live",
    "calibrate": "gains of the drives by a weighed load, into the robot's file",
    "export": "write an identified model as URDF, MJCF, CSV or YAML",
    "compare": "compare results: what moved, and how each predicts the others' data",
    "worker": "follow sessions and identify them, on this host or on another",
    "devices": "which devices there are",
}


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="heft",
        description="Move a robot arm, record every sensor on one clock, and identify what it is made of.",
    )
    parser.add_argument("--version", action="version", version=f"heft {__version__}")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    arguments = sys.argv[1:] if arguments is None else arguments
    with immediate_interrupt():
        for name, purpose in COMMANDS.items():
            subparser = subparsers.add_parser(name, help=purpose, description=purpose)
            if name in arguments[:1]:
                import_module(f"heft.commands.{name}").add(subparser)
        parsed = parser.parse_args(arguments)
    try:
        code: int = parsed.run(parsed)
        return code
    except HeftError as error:
        sys.stderr.write(f"heft {parsed.command}: {error}\n")
        return of_error(error)
    except BrokenPipeError:  # whoever read the output has gone; nothing can be told any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.FAILED
    except OSError as error:  # a disk that is full, a file that may not be written
        where = "" if error.filename is None else f"{error.filename}: "
        sys.stderr.write(
            f"heft {parsed.command}: {where}{error.strerror or error}; check the disk and the path\n"
        )
        return ExitCode.FAILED
    except KeyboardInterrupt:
        sys.stderr.write(f"heft {parsed.command}: interrupted\n")
        return ExitCode.ABORTED


if __name__ == "__main__":
    sys.exit(main())
