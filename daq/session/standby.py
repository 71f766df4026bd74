"""A rig that stands by: every stream is read, watched and published, and nothing moves unless it is asked for.

For services that wait for something to happen. It keeps no recording of the whole, which would never end. Where the
operator has armed it, it plays single short motions that a service in this process asks for; they pass the checks
that a session's trajectories pass, and are watched like them. Between two motions the drives are on and hold the arm.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heft.daq.bus.endpoint import Endpoints
from heft.daq.bus.telemetry import Publisher
from heft.daq.clock import HostClock
from heft.daq.config.rig import RigConfig
from heft.daq.config.session import WatchConfig
from heft.daq.errors import SafetyStop
from heft.daq.motion.state import State
from heft.daq.session.acquisition import Acquisition, End, uncancel
from heft.daq.session.sink import Sink
from heft.daq.session.telemetry_sink import TelemetrySink
from heft.daq.trajectory.checks import Check, check_motion
from heft.daq.trajectory.trajectory import Trajectory
from heft.drivers.block import Block
from heft.drivers.errors import CommandError, HeftError
from heft.drivers.stream import Role

__all__ = ["Standby"]

_LOOK_NS = 20_000_000

#: Makes a motion that begins at rest where the drives hold the arm [rad], shape (n,).
MakeMotion = Callable[[NDArray[np.float64]], Trajectory]


@dataclass(frozen=True, slots=True, eq=False)
class MotionRequest:
    """A motion that is asked for, and the answer: whether it was played to its end."""

    make: MakeMotion
    played: asyncio.Future[bool]

    def answer(self, played: bool) -> None:
        """Once; who asked may have gone."""
        if not self.played.done():
            self.played.set_result(played)


class _SetpointInForce(Sink):
    """Keeps the position that the drives hold now [rad], shape (n,); None before they have told."""

    position: NDArray[np.float64] | None = None

    def block(self, block: Block) -> None:
        if block.stream.role is Role.PLAYED:
            self.position = block.si[-1, block.stream.indices("position")]


class Standby(Acquisition):
    """`await Standby(...).run()` until `stop`, or until a device is lost.

    armed    the operator allows motions; else `play` refuses
    rate_hz  of the setpoints
    checks   of a motion before it is played, on top of position, velocity and acceleration (torque, collision)
    judged   of every setpoint that arrives, on top of the same: quick ones, for the drives wait meanwhile (torque)
    sinks    are handed everything, after telemetry
    """

    def __init__(
        self,
        config: RigConfig,
        *,
        clock: HostClock,
        endpoints: Endpoints,
        seed: int = 0,
        armed: bool = False,
        rate_hz: float = 1000.0,
        checks: Sequence[Check] = (),
        judged: Sequence[Check] = (),
        watch: WatchConfig | None = None,
        sinks: Sequence[Sink] = (),
    ) -> None:
        self.config, self.armed, self.rate_hz = config, armed, rate_hz
        self._checks = checks
        self._publisher = Publisher(endpoints.telemetry)
        self._in_force = _SetpointInForce()
        self._requests: deque[MotionRequest] = deque()
        self._motion_interrupted = False
        super().__init__(
            config,
            name=config.name,
            clock=clock,
            endpoints=endpoints,
            seed=seed,
            rate_hz=rate_hz,
            bounds=watch or WatchConfig(),
            moves=armed,
            checks=judged,
            sinks=[TelemetrySink(self._publisher), self._in_force, *sinks],
        )

    def stop(self, reason: str) -> None:
        """End it, as an operator does; in the middle of a motion that is an abort."""
        self._stop_with(End(State.ABORTED if self.state is State.MOVING else State.DONE, reason))

    def publish(self, topic: str, facts: Mapping[str, Any]) -> None:
        """Tell everyone on the bus."""
        self._publisher.publish_json(topic, facts)

    async def run(self) -> End:
        """Connect, read, wait; whatever ends it, the arm is brought to rest and switched off."""
        async with self._publisher:
            try:
                return await self._acquire()
            finally:
                self._drop_requests()

    async def play(self, make: MakeMotion) -> bool:
        """Play a motion from where the drives hold the arm when its turn has come; whether it was played to its end.

        A load pulls the arm a little away from there: a motion from where it is measured would begin with a jerk.
        CommandError if it is not armed, CheckError if the motion may not be played from there.
        """
        if self._motion.arm is None:
            raise CommandError(self.config.name, "a motion was asked for, but the operator has not armed it")
        request = MotionRequest(make, asyncio.get_running_loop().create_future())
        self._requests.append(request)
        if self._end is not None:
            self._drop_requests()
        return await request.played

    def interrupt_motion(self) -> None:
        """End the motion that is being played and drop those that wait: the arm comes to rest, armed."""
        self._drop_requests()
        if self.state is State.MOVING and not self._motion_interrupted:
            self._motion_interrupted = True
            self._interrupt()

    async def _perform(self) -> None:
        await self._arm()
        while True:
            self._check_stop()
            await self._sleep(_LOOK_NS)
            if self._requests:
                await self._serve(self._requests.popleft())

    async def _serve(self, request: MotionRequest) -> None:
        arm = self._motion.arm
        assert arm is not None
        try:
            held = self._in_force.position
            trajectory = request.make(await arm.position() if held is None else held)
            await asyncio.to_thread(check_motion, trajectory, self.config.limits, self._checks)
        except HeftError as exc:
            request.played.set_exception(exc)
            return
        played = False
        try:
            played = await self._move(trajectory)
        finally:
            request.answer(played)

    async def _move(self, trajectory: Trajectory) -> bool:
        """Whether it was played to its end. One that is interrupted leaves the arm at rest, armed."""
        assert self._motion.arm is not None
        self._machine.enter(State.MOVING)
        try:
            await self._motion.play(trajectory)
        except asyncio.CancelledError:
            if self._end is not None or not self._motion_interrupted:
                raise
            uncancel()
            await self._motion.arm.hold()
        played, self._motion_interrupted = not self._motion_interrupted, False
        self._machine.enter(State.ARMED)
        return played

    def _check_stop(self) -> None:
        super()._check_stop()
        if self._motion_interrupted:
            raise asyncio.CancelledError

    def _drop_requests(self) -> None:
        while self._requests:
            self._requests.popleft().answer(False)

    def _on_unsafe(self, exc: SafetyStop) -> None:
        """An overload while nothing moves here is another's business."""
        if self.state is State.MOVING:
            super()._on_unsafe(exc)

    def _on_state(self, state: State, reason: str) -> None:
        """It ends as soon as it is asked to: of its end only the final state is told."""
        if state is not State.STOPPING:
            super()._on_state(state, reason)
