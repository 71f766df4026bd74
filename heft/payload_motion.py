"""The wrist motions of a rig that the operator has armed: with the bare hand, then with whatever is picked up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from heft.daq.errors import SafetyStop
from heft.daq.session.sink import Sink
from heft.daq.session.standby import Standby
from heft.daq.trajectory.trajectory import Trajectory
from heft.daq.trajectory.wrist import wrist_excitation
from heft.drivers.block import Block
from heft.drivers.errors import HeftError
from heft.drivers.stream import Stream
from heft.identify.payload.pickups.pickup import Pickup
from heft.identify.payload.pickups.signals import MQTT
from heft.payload_process import PayloadProcess

__all__ = ["WristMotions", "described"]

_SECONDS = 5.0
_MOTION = (
    f"the last three joints move for {_SECONDS:g} s, by at most 0.6 rad and at most 40 % of their velocity and "
    "acceleration limits, back to where they began."
)
_UNKNOWN_HAND = (
    "nothing is known of the bare hand, so a motion would tell nothing of what it holds; "
    "start anew with nothing held, or give a recording of it (--bare)"
)


def described(*, bare: bool) -> str:
    """What will move; `bare`: the hand is not known yet."""
    first = "Now, with nothing held, and after" if bare else "After"
    return f"{first} each pick-up {_MOTION}"


class WristMotions(Sink):
    """Watches an armed rig that stands by. `gripper` is the stream that says whether something is held; `notify` tells
    the operator why there is no motion; `refusal` says why none may begin now (empty: it may).

    The bare hand moves once, at the beginning, where it is not known: what it weighs is taken off every load. Then
    there is one motion for each pick-up that the gripper's own stream tells of, once its weight is confirmed; one
    that only MQTT tells of moves nothing. The motion ends with the pick-up: where the object is let go, dropped or
    slips, the arm comes to rest.
    """

    SECONDS = _SECONDS

    def __init__(
        self,
        standby: Standby,
        process: PayloadProcess,
        gripper: Stream,
        notify: Callable[[str], None],
        refusal: Callable[[], str] = str,
    ) -> None:
        self._standby, self._process, self._notify, self._refusal = standby, process, notify, refusal
        self._gripper = gripper.name
        self._detected = [column.name for column in gripper.columns].index("object.detected")
        self._held = False
        self._begun = False
        self._bare = False  # the bare hand moves
        self._number = 0  # of the last pick-up that there was a motion for
        self._playing: set[asyncio.Task[None]] = set()

    def block(self, block: Block) -> None:
        if block.stream.name == self._gripper:
            detected = block.si[:, self._detected]
            detected = detected[np.isfinite(detected)]
            self._held = bool(detected[-1] > 0.5) if len(detected) else self._held

    def state(self, state: str, reason: str) -> None:
        if state != "armed" or self._begun:
            return
        self._begun = True
        if not self._process.lacks_hand:
            return
        if self._held:
            self._notify(f"the gripper holds something already: {_UNKNOWN_HAND}")
            return
        self._bare = True
        self._play()

    def update(self, pickup: Pickup) -> None:
        """There is something new of a pick-up."""
        if pickup.end is not None:
            if pickup.number == self._number:
                self._standby.interrupt_motion()
            elif self._process.lacks_hand and pickup.t_pick is not None and pickup.source != MQTT:
                self._notify(f"pick-up {pickup.number} was weighed at rest only: {_UNKNOWN_HAND}")
            return
        if self._bare:
            self._bare = False
            self._standby.interrupt_motion()
        if pickup.number == self._number or pickup.source == MQTT or self._process.lacks_hand:
            return  # the hand may just be being learned
        self._number = pickup.number
        self._play()

    def _play(self) -> None:
        task = asyncio.create_task(self._excite(), name="wrist motion")
        self._playing.add(task)
        task.add_done_callback(self._playing.discard)

    async def _excite(self) -> None:
        try:
            await self._standby.play(self._motion)
        except HeftError as exc:
            self._notify(f"the wrist motion may not be played from here: {exc}")
        finally:
            self._bare = False

    def _motion(self, here: NDArray[np.float64]) -> Trajectory:
        """The motion from where the arm is held [rad], shape (n,), now that its turn has come."""
        if refusal := self._refusal():
            raise SafetyStop(refusal)
        standby = self._standby
        return wrist_excitation(standby.config.limits, here, rate_hz=standby.rate_hz, seconds=self.SECONDS)
