"""Arming: nothing real moves before the operator has seen what will move, and has typed the robot's name.

Rigs whose devices are simulated or emulated move nothing real, and do not ask.
"""

from __future__ import annotations

import asyncio
import os
import sys
import termios
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from rich.console import Console

from heft.daq.config.rig import RigConfig
from heft.daq.errors import ConfigError, SafetyStop
from heft.daq.motion.plan import Leg
from heft.drivers import registry
from heft.terminal.motion import Outlook, describe_devices, describe_plan

__all__ = ["Arming", "Consent"]

_TABLES = 110  # columns


class Consent(Protocol):
    """Whoever may let a rig move."""

    async def confirm(self, plan: Sequence[Leg], unreferenced: Mapping[str, str] | None = None) -> None:
        """Return when it may; SafetyStop where it may not."""

    def announce(self, what: str) -> None:
        """Say what may move later."""

    def refusal(self) -> str:
        """Why nothing may begin to move now; empty: what was announced may."""


class Arming:
    """Asks once whether a rig may move; `await arming.confirm(plan)` returns when it may.

    given     the name after `--arm`: then nobody is asked
    settled   is set when there is nothing (more) to ask, so that others may use the terminal

    A wrong name after `--arm`, and a question that nobody could answer, are refused at once: ConfigError.
    """

    def __init__(self, rig: RigConfig, given: str | None, *, moves: bool = True) -> None:
        name = rig.robot.name
        if given is not None and given != name:
            raise ConfigError(f"--arm {given}: this robot's name is {name}; nothing has moved")
        self._rig, self._given = rig, given
        #: Devices that move something real.
        self.movers = tuple(d for d in rig.real if registry.moves(rig.devices[d].kind)) if moves else ()
        #: What a plan will do, where identification can say it.
        self.outlook: Callable[[Sequence[Leg]], Outlook] | None = None
        #: How this plan was rehearsed (`heft.rehearsed.rehearsal_state`); empty where nobody asks for that.
        self.rehearsal: Mapping[str, Any] = {}
        self.settled = asyncio.Event()
        if not self.movers:
            self.settled.set()
        elif given is None and not sys.stdin.isatty():
            raise ConfigError(
                f"{rig.path}: {', '.join(self.movers)} would move, and there is no terminal to ask at; run it at one, "
                f"or say --arm {name} in a script; nothing has moved"
            )

    async def confirm(self, plan: Sequence[Leg], unreferenced: Mapping[str, str] | None = None) -> None:
        """Show what will move; SafetyStop unless the operator types the robot's name (or has given it).

        `unreferenced` are axes whose position may be relative, with the reason: somebody must look at the arm, so
        that a name given beforehand is not enough.
        """
        if not self.movers:
            return
        console = _console()
        describe_devices(self._rig, self.movers, console)
        # Hours of motion take a while to look through, and the devices are being read meanwhile.
        outlook = None if self.outlook is None else await asyncio.to_thread(self.outlook, plan)
        await asyncio.to_thread(describe_plan, plan, self._rig.robot.joints, console, outlook)
        if self.rehearsal:
            console.print(f"{self.rehearsal['says']}\n")
        self._doubt(unreferenced or {}, console)
        await self._ask(console)
        self.settled.set()

    def _doubt(self, unreferenced: Mapping[str, str], console: Console) -> None:
        """Say which positions may be relative, and what to look at."""
        if not unreferenced:
            return
        for axis, why in unreferenced.items():
            console.print(f"{axis}: its position may be relative: {why}")
        if self._given is not None:
            raise SafetyStop(
                f"not armed: the position of {', '.join(unreferenced)} may be relative, and --arm {self._given} cannot "
                "look at the arm; run it at a terminal, home the drives, or say under `referenced` in the rig's "
                "file how "
                "their zero is known; nothing has moved"
            )
        console.print("Look at the arm: type its name only if it stands where the column `from rad` says.\n")

    def announce(self, what: str) -> None:
        """Say what may move later, where the operator has armed it beforehand."""
        if self.movers:
            console = _console()
            describe_devices(self._rig, self.movers, console)
            console.print(f"\n{what}\narmed by --arm {self._rig.robot.name}\n")

    def refusal(self) -> str:
        """Nothing: what was armed stays so until this program ends."""
        return ""

    async def _ask(self, console: Console) -> None:
        name = self._rig.robot.name
        if self._given is not None:
            console.print(f"armed by --arm {name}\n")
            return
        termios.tcflush(sys.stdin, termios.TCIFLUSH)  # what was typed before the question is no answer
        console.print(f"Type the robot's name, {name}, to arm it; anything else leaves it at rest: ", end="")
        typed = await _line()
        if typed.strip() != name:
            what = (
                f"{typed.strip()!r} is not the robot's name" if typed.endswith("\n") else "no name was typed"
            )
            raise SafetyStop(f"not armed: {what}, {name}; nothing has moved")
        console.print()


def _console() -> Console:
    """Wide enough for the tables: one that is cut helps nobody."""
    console = Console(file=sys.stderr, highlight=False, markup=False)
    console.width = max(console.width, _TABLES)
    return console


async def _line() -> str:
    """A line that is typed; without its end where the input is over. May be cancelled."""
    fd, loop = sys.stdin.fileno(), asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(fd, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(fd)
    return os.read(fd, 4096).decode(errors="replace")
