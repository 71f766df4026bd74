"""Sends the load back: the robot's controller is told what hangs on its flange, hand and object together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from heft.drivers.flange_load import FlangeLoad, LoadHolder
from heft.identify.bodies.arrays import Array
from heft.identify.bodies.pseudo_inertia import transform
from heft.identify.payload.bare_hand.hand import Hand
from heft.identify.payload.estimation.estimate import PayloadEstimate
from heft.identify.payload.output.controllers import ur_load
from heft.identify.payload.pickups.pickup import End, Pickup
from heft.identify.payload.pickups.signals import MQTT

__all__ = ["LoadApplier", "LoadRules", "LoadTimes"]


@dataclass(frozen=True)
class LoadRules:
    """When a load is told. Chosen: a controller that is off by less feels nothing of it.

    mass     half-width of the mass's 95 % interval, of hand and object together, at most
    com      of the centre of mass of both [m], at most
    changed  a further estimate is told where it differs by so much of the mass, or by `moved` [m]
    """

    mass: float = 0.03
    com: float = 0.01
    changed: float = 0.002
    moved: float = 0.001


@dataclass(frozen=True)
class LoadTimes:
    """How long is tried [s]. Chosen: a controller that is there answers within a second.

    try_s     one telling, at most
    retry_s   between two tries to give back what the controller held before
    leave_s   that leaving waits for what is under way, and for what is to be given back
    """

    try_s: float = 5.0
    retry_s: float = 0.5
    leave_s: float = 10.0


class LoadApplier:
    """Tells one controller; use inside `async with`, after the operator has armed the rig.

    hand   the bare hand, as soon as it is known; `place`: rotation and position [m] of its frame in the flange's
    tell   hears what was told, restored or refused, as facts and in words; `now_ns`: the host's clock [ns]

    A pick-up that only MQTT tells of changes nothing. When the object is let go, dropped or slips, the controller gets
    back what it held before: this is tried until it holds it, also while leaving, and told where it cannot be done. An
    object that is still held at the end stays told.
    """

    def __init__(
        self,
        holder: LoadHolder,
        hand: Callable[[], Hand | None],
        place: tuple[Array, Array],
        tell: Callable[[dict[str, Any], str], None],
        now_ns: Callable[[], int],
        rules: LoadRules | None = None,
        times: LoadTimes | None = None,
    ) -> None:
        self._holder, self._hand, self._place, self._tell = holder, hand, place, tell
        self._now_ns = now_ns
        self._rules, self._times = rules or LoadRules(), times or LoadTimes()
        self._before: FlangeLoad | None = (
            None  # held before the first pick-up; None: it still is, for certain
        )
        self._told: FlangeLoad | None = None  # what it surely holds of ours
        self._wanted: tuple[Pickup, FlangeLoad | None] | None = None  # None: as before
        self._owed: Pickup | None = None  # whose end has to be told yet
        self._said: set[tuple[int, str]] = set()
        self._ended: set[int] = set()
        self._leaving = False
        self._work = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        task, self._task = self._task, None
        if task is None:
            return
        self._leaving = True
        self._work.set()
        try:
            await asyncio.wait({task}, timeout=self._times.leave_s)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            if self._owed is not None and self._before is not None:
                before = self._before
                words = (
                    f"LOAD NOT RESTORED: {self._holder.name} may hold an object that is gone; set "
                    f"{before.mass:.4f} kg, centre of mass {_millimetres(before)} at its pendant before the arm moves"
                )
                self._say("not restored", self._owed, before, words)

    def update(self, pickup: Pickup) -> None:
        """There is something new of a pick-up."""
        if pickup.number in self._ended or pickup.end is End.UNFINISHED:
            return
        if pickup.end is not None:
            self._ended.add(pickup.number)
            self._owed = pickup
            self._want(pickup, None)
            return
        load = self._acceptable(pickup)
        if load is not None:
            self._want(pickup, load)

    def _want(self, pickup: Pickup, load: FlangeLoad | None) -> None:
        self._wanted = (pickup, load)
        self._work.set()
        if self._task is None:
            self._task = asyncio.create_task(self._send(), name="load to the controller")

    # -- what may be told ---------------------------------------------------------------------------------------------

    def _acceptable(self, pickup: Pickup) -> FlangeLoad | None:
        """Hand and object together, or None with the reason told once."""
        if pickup.latest is None:
            return None
        hand = self._hand()
        if pickup.source == MQTT:
            return self._refuse(pickup, "only MQTT tells of this pick-up, and that changes no controller")
        if hand is None:
            return self._refuse(
                pickup, "the bare hand is not known, and the controller wants hand and object together"
            )
        flange = pickup.latest.estimate.in_frame("flange", *self._place)
        doubt = self._doubt(flange, float(hand.mass))
        if doubt is not None:
            return self._refuse(pickup, doubt)
        load = ur_load(flange, transform(hand.ten, *self._place))
        return FlangeLoad(load.mass, load.com, load.inertia)

    def _doubt(self, load: PayloadEstimate, hand_mass: float) -> str | None:
        """Why an estimate is not to be told, or None."""
        told_by_prior = [name for name in ("mass", "com") if name in load.prior_dominated]
        if told_by_prior:
            return f"{' and '.join(told_by_prior)} prior-dominated: the motion does not tell; turn the wrist"
        together = load.mass + hand_mass
        width = 1.96 * float(load.std.mass) / together
        if width > self._rules.mass:
            return (
                f"mass too wide: ± {width:.1%} of hand and object, bound {self._rules.mass:.0%}; move it more"
            )
        shift = 1.96 * float(np.max(load.std.com)) * load.mass / together
        if shift > self._rules.com:
            return (
                f"centre of mass too wide: ± {1e3 * shift:.1f} mm, bound {1e3 * self._rules.com:.0f} mm; turn the "
                "wrist about more axes"
            )
        return None

    def _refuse(self, pickup: Pickup, why: str) -> FlangeLoad | None:
        if self._first(why.split(":")[0], pickup):
            self._say(
                "refused", pickup, None, f"pick-up {pickup.number} is not told to the controller: {why}"
            )
        return None

    def _first(self, what: str, pickup: Pickup) -> bool:
        """Whether this is said of a pick-up for the first time."""
        said = (pickup.number, what)
        first = said not in self._said
        self._said.add(said)
        return first

    # -- telling ------------------------------------------------------------------------------------------------------

    async def _send(self) -> None:
        """One at a time, the newest wish only; until nothing is wished for and the program is left."""
        while self._wanted is not None or not self._leaving:
            await self._work.wait()
            self._work.clear()
            wanted, self._wanted = self._wanted, None
            if wanted is None:
                continue
            pickup, load = wanted
            try:
                async with asyncio.timeout(self._times.try_s):
                    await (self._restore(pickup) if load is None else self._apply(pickup, load))
            except Exception as exc:  # whatever it is: nobody else would tell, and a restore is tried again
                self._on_failed(pickup, load, exc)
                if load is None:
                    await asyncio.sleep(self._times.retry_s)
                    self._wanted = self._wanted or wanted
                    self._work.set()

    def _on_failed(self, pickup: Pickup, load: FlangeLoad | None, exc: Exception) -> None:
        why = f"no answer within {self._times.try_s:g} s" if type(exc) is TimeoutError else str(exc)
        if load is not None:
            self._say("failed", pickup, load, f"the controller was not told: {why}")
        elif self._first("restore", pickup):
            words = f"what {self._holder.name} held before is not restored yet, and is tried again: {why}"
            self._say("failed", pickup, self._before, words)

    async def _apply(self, pickup: Pickup, load: FlangeLoad) -> None:
        if self._told is None or self._differs(load, self._told):
            if self._before is None:
                self._before = await self._holder.load()
            self._told = None  # where it fails, it may hold the one or the other
            await self._holder.set_load(load)
            self._told = load
            words = f"{load.mass:.4f} kg, centre of mass {_millimetres(load)}"
            self._say(
                "applied", pickup, load, f"pick-up {pickup.number} told to {self._holder.name}: {words}"
            )
        self._owed = None

    async def _restore(self, pickup: Pickup) -> None:
        before = self._before
        if before is not None:
            self._told = None
            await self._holder.set_load(before)
            self._before = None
            words = f"{self._holder.name} holds what it held before: {before.mass:.4f} kg"
            self._say("restored", pickup, before, words)
        self._owed = None

    def _differs(self, load: FlangeLoad, told: FlangeLoad) -> bool:
        apart = np.linalg.norm(np.subtract(load.com, told.com))
        heavier = abs(load.mass - told.mass) > self._rules.changed * told.mass
        return bool(heavier or apart > self._rules.moved or (load.inertia is None) != (told.inertia is None))

    def _say(self, what: str, pickup: Pickup, load: FlangeLoad | None, words: str) -> None:
        facts = {
            "schema": "heft.applied",
            "version": 1,
            "event": what,
            "t_ns": self._now_ns(),
            "pickup": pickup.number,
            "device": self._holder.name,
            "load": None if load is None else asdict(load),
            "says": words,
        }
        self._tell(facts, words)


def _millimetres(load: FlangeLoad) -> str:
    return f"{', '.join(f'{1e3 * x:.1f}' for x in load.com)} mm"
