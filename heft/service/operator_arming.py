"""Arming of a rig that a service owns: a person types the robot's name, and it may move for a limited time.

At the terminal of the service, or on the page of this host. What arrives from another host arms nothing, unless the
service was started so that it may.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from heft.daq.config.rig import RigConfig
from heft.daq.errors import ConfigError, SafetyStop
from heft.daq.motion.plan import Leg
from heft.drivers import registry
from heft.terminal.motion import Outlook, plan_facts

__all__ = ["OperatorArming"]

_log = logging.getLogger("heft.service")


class OperatorArming:
    """`await confirm(plan)` returns when the operator has typed the robot's name, now or within the window before.

    now_s     tells the time [s]
    window_s  for which a typed name holds [s]
    wait_s    for which a plan waits for one [s]
    """

    def __init__(
        self, rig: RigConfig, now_s: Callable[[], float], *, window_s: float = 600.0, wait_s: float = 300.0
    ) -> None:
        self._rig, self._now_s = rig, now_s
        self.window_s, self.wait_s = window_s, wait_s
        #: Devices that move something real; none: nobody is asked.
        self.movers = tuple(d for d in rig.real if registry.moves(rig.devices[d].kind))
        #: What a plan will do, where identification can say it.
        self.outlook: Callable[[Sequence[Leg]], Outlook] | None = None
        self._until_s = float("-inf")
        self._typed = asyncio.Event()
        #: The plan that waits for a name, as facts for the operator.
        self.pending: dict[str, Any] | None = None

    @property
    def seconds_left(self) -> float:
        """For which it is armed [s]; 0: it is not."""
        return max(self._until_s - self._now_s(), 0.0)

    def arm(self, typed: str, by: str) -> None:
        """The operator has typed a name; ConfigError where it is not the robot's."""
        name = self._rig.robot.name
        if typed.strip() != name:
            _log.warning("not armed: %r, typed %s, is not the robot's name", typed.strip()[:80], by)
            raise ConfigError(f"{typed.strip()[:80]!r}: this robot's name is {name}; not armed")
        self._until_s = self._now_s() + self.window_s
        self._typed.set()
        _log.info("armed %s for %g s", by, self.window_s)

    def disarm(self) -> None:
        """From now on nothing may begin to move."""
        self._until_s = float("-inf")
        self._typed.clear()

    async def confirm(self, plan: Sequence[Leg], unreferenced: Mapping[str, str] | None = None) -> None:
        """Return when it may move; SafetyStop where nobody types the name in time.

        Where the position of an axis may be relative somebody must look at the arm now: a name typed before is not
        enough.
        """
        if not self.movers:
            return
        if self.seconds_left and not unreferenced:
            return
        outlook = None if self.outlook is None else await asyncio.to_thread(self.outlook, plan)
        self.pending = {
            **plan_facts(plan, self._rig.robot.joints, outlook),
            "movers": list(self.movers),
            "unreferenced": dict(unreferenced or {}),
        }
        self._typed.clear()
        try:
            async with asyncio.timeout(self.wait_s):
                await self._typed.wait()
                while not self.seconds_left:  # disarmed in the same moment
                    self._typed.clear()
                    await self._typed.wait()
        except TimeoutError:
            raise SafetyStop(
                f"not armed: nobody typed the robot's name, {self._rig.robot.name}, within {self.wait_s:g} s; "
                "nothing has moved"
            ) from None
        finally:
            self.pending = None

    def refusal(self) -> str:
        """Why nothing may begin to move now; empty: it may."""
        if not self.movers or self.seconds_left:
            return ""
        return (
            f"not armed any more: nobody has typed the robot's name, {self._rig.robot.name}, within the last "
            f"{self.window_s:g} s, or it was disarmed; arm it again"
        )

    def announce(self, what: str) -> None:
        """What may move later is in the log."""
        _log.info("%s", what)
