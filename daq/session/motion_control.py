"""The one way of setpoints: from the player as control requests to the process that owns the drives, and on to them.

    player -> ControlClient -> control channel -> ControlServer -> MotionControl -> driver

Another process of the same user may send chunks too: `play` is accepted while a motion is on, and at no other time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Self

from heft.daq.bus import setpoint_codec
from heft.daq.bus.control import ControlClient, ControlServer, Reply, Request
from heft.daq.bus.endpoint import Endpoint
from heft.daq.motion.arm import Arm
from heft.daq.motion.player import Player
from heft.daq.motion.state import State
from heft.daq.trajectory.trajectory import Trajectory
from heft.drivers.clock import Clock
from heft.drivers.errors import CommandError
from heft.drivers.setpoints import Setpoints

__all__ = ["MotionControl"]


class MotionControl:
    """Owns the arm and serves the control channel while inside `async with`.

    Requests: `play` (a chunk of setpoints), `state`, and `drives_off`, which is answered when no drive is switched on.

    rig       the rig's name, for messages
    arm       takes the setpoints; None where nothing may move
    state     tells where the acquisition stands
    on_sent   is called with each chunk that the drives have taken
    before    is called before each chunk that is sent; it raises where the motion is to end
    """

    def __init__(
        self,
        rig: str,
        arm: Arm | None,
        clock: Clock,
        endpoint: Endpoint,
        *,
        state: Callable[[], State],
        on_sent: Callable[[Setpoints], None],
        before: Callable[[], None],
    ) -> None:
        self.arm = arm
        self._rig, self._state, self._on_sent, self._before = rig, state, on_sent, before
        handlers = {"play": self._on_play, "state": self._on_state, "drives_off": self._on_drives_off}
        self._server = ControlServer(endpoint, handlers)
        self._client = ControlClient(endpoint)
        self._player = Player(clock, self._send)  # one for all motions: the drives count setpoints
        self._playing = False
        self._switched_on: set[str] = set()  # names of devices
        self._off = asyncio.Event()
        self._off.set()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._server)
            await stack.enter_async_context(self._client)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stack.aclose()

    async def switch_on(self) -> None:
        """Switch the drives on; they hold the arm where it is."""
        assert self.arm is not None
        self._switched_on.update(self.arm.devices)
        self._off.clear()
        await self.arm.arm()

    def switched_off(self, device: str) -> None:
        """The drives of this device are off."""
        self._switched_on.discard(device)
        if not self._switched_on:
            self._off.set()

    async def play(self, trajectory: Trajectory) -> tuple[int, int]:
        """Send a trajectory ahead of time and return when its last setpoint is due; (first, last) host time [ns]."""
        self._playing = True
        try:
            return await self._player.play(trajectory)
        finally:
            self._playing = False  # a chunk that is still on its way is refused

    async def _send(self, chunk: Setpoints) -> None:
        self._before()
        await self._client.request("play", *setpoint_codec.encode(chunk))

    async def _on_play(self, request: Request) -> None:
        """Setpoints on their way to the arm; only while a motion is on: none slips in behind a stop."""
        if self.arm is None or self._state() is not State.MOVING:
            raise CommandError(self._rig, f"setpoints refused: the session is {self._state()}, not moving")
        if not self._playing:
            raise CommandError(self._rig, "setpoints refused: the motion has ended or was interrupted")
        chunk = setpoint_codec.decode(request.payload, request.buffers)
        await self.arm.play(chunk)
        self._on_sent(chunk)

    async def _on_state(self, request: Request) -> Reply:
        return Reply({"state": str(self._state())})

    async def _on_drives_off(self, request: Request) -> None:
        await self._off.wait()
