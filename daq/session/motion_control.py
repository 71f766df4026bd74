"""The one way of setpoints: from the player as control requests to the process that owns the drives, and on to them.

    player -> ControlClient -> control channel -> ControlServer -> MotionControl -> driver

Another process of the same user may send chunks too: `play` is accepted while a motion is on, and at no other time.
Every chunk is judged here, whoever sent it (`heft.daq.motion.judge`); one that is refused ends the motion.
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
from heft.daq.motion.judge import SetpointJudge
from heft.daq.motion.player import Player
from heft.daq.motion.state import State
from heft.daq.trajectory.trajectory import Motion
from heft.drivers.clock import Clock
from heft.drivers.errors import CommandError, HeftError
from heft.drivers.setpoints import Setpoints

__all__ = ["MotionControl"]

_PAUSABLE = (State.ARMED, State.MOVING, State.PAUSED)
_LOOK_S = 0.02


class MotionControl:
    """Owns the arm and serves the control channel while inside `async with`.

    Requests: `play` (a chunk of setpoints), `state`, `drives_off`, which is answered when no drive is switched on,
    `pause`, which is answered when the arm rests, and `resume`.

    rig       the rig's name, for messages
    arm       takes the setpoints; None where nothing may move
    state     tells where the acquisition stands
    judge     refuses chunks that may not be played
    on_sent   is called with each chunk that the drives have taken
    on_refused  is called with the reason why one was refused in mid-motion: the arm is to be stopped
    on_paused   is called with the host time [ns] since when the arm rests for a pause, `on_resumed` when that is over
    pausable  whether `pause` is understood
    before    is called before each chunk that is sent; it raises where the motion is to end
    outside   where peers whose keys may do so send the same requests
    """

    def __init__(
        self,
        rig: str,
        arm: Arm | None,
        clock: Clock,
        endpoint: Endpoint,
        *,
        state: Callable[[], State],
        judge: SetpointJudge,
        on_sent: Callable[[Setpoints], None],
        on_refused: Callable[[Exception], None],
        on_paused: Callable[[int], None],
        on_resumed: Callable[[int], None],
        pausable: bool,
        before: Callable[[], None],
        outside: Endpoint | None = None,
    ) -> None:
        self.arm = arm
        self._judge, self._on_refused = judge, on_refused
        self._rig, self._state, self._on_sent, self._before = rig, state, on_sent, before
        self._pausable = pausable
        handlers = {
            "play": self._on_play,
            "state": self._on_state,
            "drives_off": self._on_drives_off,
            "pause": self._on_pause,
            "resume": self._on_resume,
        }
        self._servers = [ControlServer(at, handlers) for at in (endpoint, outside) if at is not None]
        self._client = ControlClient(endpoint)
        # One for all motions: the drives count setpoints.
        self._player = Player(clock, self._send, judge.limits, on_paused=on_paused, on_resumed=on_resumed)
        self._playing = False
        self._switched_on: set[str] = set()  # names of devices
        self._off = asyncio.Event()
        self._off.set()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            for server in self._servers:
                await stack.enter_async_context(server)
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

    async def play(self, motion: Motion) -> tuple[int, int]:
        """Send a trajectory ahead of time and return when its last setpoint is due; (first, last) host time [ns]."""
        self._playing = True
        try:
            return await self._player.play(motion)
        except BaseException:
            self._judge.reset()
            raise
        finally:
            self._playing = False  # a chunk that is still on its way is refused

    async def rest(self) -> None:
        """Where a pause is asked for between two motions: wait for its end."""
        await self._player.rest()

    @property
    def pausing(self) -> bool:
        """Whether a pause is asked for."""
        return self._player.holding

    def pause(self) -> None:
        """Come to rest on the path, and stay there until `resume`; CommandError where there is nothing to pause."""
        if not self._pausable or self.arm is None or self._state() not in _PAUSABLE:
            raise CommandError(
                self._rig, f"cannot be paused: it is {self._state()}; sessions can, armed or moving"
            )
        self._player.pause()

    def resume(self) -> None:
        """Go on; CommandError where no pause was asked for."""
        if not self._player.holding:
            raise CommandError(self._rig, f"cannot go on: it is {self._state()}, not paused")
        self._player.resume()

    async def _on_pause(self, request: Request) -> Reply:
        self.pause()
        while self._state() is State.MOVING:  # noqa: ASYNC110 - also where the motion ends, or is stopped
            await asyncio.sleep(_LOOK_S)  # in real time: who asks is outside the session's clock
        return Reply({"state": str(self._state())})

    async def _on_resume(self, request: Request) -> Reply:
        self.resume()
        return Reply({"state": str(self._state())})

    async def _send(self, chunk: Setpoints) -> None:
        self._before()
        await self._client.request("play", *setpoint_codec.encode(chunk))

    async def _on_play(self, request: Request) -> None:
        """Setpoints on their way to the arm; only while a motion is on: none slips in behind a stop."""
        if self.arm is None or self._state() is not State.MOVING:
            raise CommandError(self._rig, f"setpoints refused: the session is {self._state()}, not moving")
        if not self._playing:
            raise CommandError(self._rig, "setpoints refused: the motion has ended or was interrupted")
        try:
            chunk = setpoint_codec.decode(request.payload, request.buffers)
            self._judge.judge(chunk)
        except HeftError as exc:
            self._on_refused(exc)
            raise
        await self.arm.play(chunk)
        self._on_sent(chunk)

    async def _on_state(self, request: Request) -> Reply:
        return Reply({"state": str(self._state())})

    async def _on_drives_off(self, request: Request) -> None:
        await self._off.wait()
