"""Arms that ROS 2 controls, over DDS and without an installation of ROS. See docs/devices/ros2.md."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from heft.drivers.block import Validity
from heft.drivers.codecs.ros2 import (
    Clock,
    JointState,
    JointStates,
    JointTrajectory,
    Point,
    Positions,
    WrenchStamped,
)
from heft.drivers.devices.base.publisher_clock import PublisherClock
from heft.drivers.devices.base.wrench_stream import wrench_stream
from heft.drivers.devices.bus.following_drives import FollowingDrives
from heft.drivers.devices.bus.row_assembler import RowAssembler
from heft.drivers.devices.bus.stamped_rows import StampedRows, StampedStreams
from heft.drivers.devices.bus.trajectory_window import TrajectoryWindow
from heft.drivers.devices.ros2_options import Ros2AxisOptions, Ros2Options
from heft.drivers.driver import Context, Identity
from heft.drivers.errors import CommandError, ConnectError, DeviceFault, DeviceLost, DriverError, OptionError
from heft.drivers.playback.setpoint_follower import MotionState
from heft.drivers.stream import Column, Stream
from heft.drivers.transports.dds import DdsLine, DdsMessage

__all__ = ["Ros2"]

_TICK = {"tick_hz": 1e9, "tick_bits": 63}  # nanoseconds of the publisher's clock
_EFFORT = {"torque": "N m", "current": "A"}
_SIM_S = 0.15  # for which /clock is waited for; until then the rate of the stamps is known, too
_SIM_RATE = (
    0.02  # by which simulated time may run faster or slower than the host's, where something is to move
)
_BLOCK_S = 0.01


class Ros2(FollowingDrives[Ros2Options, DdsMessage, bytes]):
    """Yields `NAME.motion` (n positions, n velocities), `NAME.torque` or `.current`, `NAME.wrench` and `NAME.played`.

    Stamps of the headers are the device's clock. Joints are found by name, whatever their order and whoever else is in
    the message.
    """

    Options: ClassVar[type[Ros2Options]] = Ros2Options
    CHECK: ClassVar[str] = (
        "check that its nodes run and the broadcaster is active (`ros2 control list_controllers`), ROS_DOMAIN_ID, the "
        "network interface, and that its middleware speaks DDS"
    )
    _link: DdsLine

    def __init__(self, name: str, options: Ros2Options, context: Context) -> None:
        unknown = sorted(set(options.axes) - set(context.axes))
        if unknown:
            raise OptionError(
                f"{name}: axes: {unknown[0]!r} is no axis of the robot; known: {', '.join(context.axes)}"
            )
        each = [options.axes.get(axis, Ros2AxisOptions()) for axis in context.axes]
        self._joints = tuple(o.name or axis for axis, o in zip(context.axes, each, strict=True))
        if len(set(self._joints)) < len(self._joints):
            raise OptionError(f"{name}: axes: two axes have the same name in ROS: {', '.join(self._joints)}")
        self._places: list[int] = []  # of the axes in a message with these names
        self._names: tuple[str, ...] = ()
        self._refused_names: tuple[str, ...] = ()  # of the last message that lacks an axis
        self._refusal: str | None = None  # why messages cannot be used
        self._decoder = JointStates()
        self._source: int | None = None  # publisher of the joint states
        self._heard_states_ns = self._heard_wrench_ns = 0
        self._repeated = False  # whether what came last came again
        self._publisher_clock = PublisherClock()
        self._sim_ns: int | None = None  # newest simulated time that was told
        super().__init__(name, options, context, each)
        self._ahead_ns = 0
        if options.command == "trajectory":
            self.watchdog_s = options.ahead_s  # then the last message comes to rest
            self._ahead_ns = round(options.ahead_s * 1e9)
            # A setpoint carries its instant: until then it is in time, however late its cycle began.
            self._lateness_ns = max(self._lateness_ns, self._ahead_ns // 2)
        else:
            self.watchdog_s = options.command_timeout_s
        self._window = TrajectoryWindow(2 * self._period_ns + 10_000_000, self.deceleration)
        self._due: deque[tuple[int, int, NDArray[np.float64]]] = (
            deque()
        )  # setpoints that are not in force yet
        self._sending = False
        self._sent_until_ns = 0  # newest instant of the last trajectory
        self._quiet_until_ns = 0  # until when the controller stops by itself and is told nothing

    # -- streams ------------------------------------------------------------------------------------------------------

    def _make_link(self) -> DdsLine:
        o = self.options
        return DdsLine(
            self.name,
            self.clock,
            domain=o.domain,
            subscribed=o.subscribed,
            published=(o.commands,),
            interface=o.interface,
            peers=o.peers,
        )

    def _make_assembler(self) -> RowAssembler:
        o, axes = self.options, self.names
        columns = [
            Column(axis, what, unit)
            for what, unit in (("position", "rad"), ("velocity", "rad/s"))
            for axis in axes
        ]
        streams = [Stream(f"{self.name}.motion", tuple(columns), o.state_hz, **_TICK)]  # type: ignore[arg-type]
        if o.effort in _EFFORT:
            efforts = tuple(Column(axis, o.effort, _EFFORT[o.effort]) for axis in axes)
            streams.append(Stream(f"{self.name}.{o.effort}", efforts, o.state_hz, **_TICK))  # type: ignore[arg-type]
        self._states = StampedRows(
            streams, self._rows_per_block(o.state_hz), lambda block: self._publish(block)
        )
        groups = [self._states]
        self._wrenches: StampedRows | None = None
        if o.wrench is not None:
            stream = wrench_stream(
                self.name,
                rate_hz=o.wrench.rate_hz,
                scale=(1.0, 1.0),
                dtype="<f8",
                frame=o.wrench.frame,
                reaction=o.wrench.reaction,
                raw_units=("N", "N m"),
                **_TICK,  # type: ignore[arg-type]
            )
            rows = self._rows_per_block(o.wrench.rate_hz)
            self._wrenches = StampedRows([stream], rows, lambda block: self._publish(block))
            groups.append(self._wrenches)
        return StampedStreams(o.rate_hz, *groups)

    def _rows_per_block(self, rate_hz: float) -> int:
        return self.options.block or max(1, round(_BLOCK_S * rate_hz))

    # -- connecting ---------------------------------------------------------------------------------------------------

    async def _connect(self) -> Identity:
        self._source, self._refusal, self._sim_ns = None, None, None
        self._names, self._refused_names = (), ()
        self._heard_states_ns = self._heard_wrench_ns = 0
        self._sending = False
        self._publisher_clock.reset()
        self._window.clear()
        self._due.clear()
        return Identity("ROS 2", self.options.joint_states)

    async def _start(self) -> None:
        o = self.options
        await self._until(lambda: self._ready or self._failure is not None, o.discovery_s)
        if isinstance(self._failure, DriverError):
            raise self._failure
        if not self._ready:
            raise ConnectError(self.name, self._why_not_ready())
        await self._check_time()
        self._check_rate()

    @property
    def _ready(self) -> bool:
        """Whether all topics have been heard."""
        heard = len(self._reported) == len(self.axes)
        return heard and (self._wrenches is None or self._heard_wrench_ns > 0)

    def _why_not_ready(self) -> str:
        o, link = self.options, self._link
        if self._refusal is not None:
            return f"{link.where}: {self._refusal}"
        topic = o.joint_states
        if len(self._reported) == len(self.axes) and o.wrench is not None:
            topic = o.wrench.topic
        if link.publishers(topic) == 0 and link.mismatched(topic):
            return (
                f"{link.where}: {topic} is published with another quality of service than asked for (reliable); set "
                "`reliability: best_effort`, and check its durability"
            )
        if link.publishers(topic) == 0:
            return f"{link.where}: nobody publishes {topic} within {o.discovery_s:g} s (discovery_s); {self.CHECK}"
        return f"{link.where}: {topic} has a publisher, but no message came within {o.discovery_s:g} s; {self.CHECK}"

    async def _check_time(self) -> None:
        """ConnectError where time is simulated and the rig's file does not say so, or the other way round."""
        told = await self._until(lambda: self._sim_ns is not None, _SIM_S)
        if told and not self.options.sim_time:
            raise ConnectError(
                self.name,
                f"{self._link.where}: somebody publishes /clock, so that stamps are of simulated time; stop it, or set "
                "`sim_time: true`",
            )
        if self.options.sim_time and not told:
            raise ConnectError(
                self.name,
                f"{self._link.where}: sim_time is set, but nobody publishes /clock within {_SIM_S:g} s; check the "
                "simulator, or leave sim_time out",
            )

    def _check_rate(self) -> None:
        """ConnectError where messages come at another rate than the rig's file says: gaps would be counted wrongly."""
        steps_ns = np.diff(self._publisher_clock.recent)
        wanted_ns = 1e9 / self.options.state_hz
        if len(steps_ns) and not 0.75 < (step_ns := float(np.median(steps_ns))) / wanted_ns < 1.33:
            raise ConnectError(
                self.name,
                f"{self._link.where}: state_hz is {self.options.state_hz:g} in the rig's file, but the stamps of "
                f"{self.options.joint_states} are {step_ns * 1e-6:.3g} ms apart; set it to {1e9 / step_ns:.4g}",
            )

    # -- what comes ---------------------------------------------------------------------------------------------------

    def _on_received(self, item: DdsMessage) -> None:
        o = self.options
        if not item.data:
            self._on_left(item)
        elif item.topic == o.joint_states:
            self._on_joint_state(self._decoder.decode(item.data), item)
        elif item.topic == "/clock":
            self._sim_ns = Clock.decode(item.data).time_ns
        elif self._wrenches is not None:
            told = WrenchStamped.decode(item.data)
            if self._wrenches.take(told.stamp_ns, item.host_ns, [told.wrench], [_finite(told.wrench)]):
                self._heard_wrench_ns = item.host_ns

    def _on_left(self, item: DdsMessage) -> None:
        if item.topic == self.options.joint_states and item.source == self._source:
            self._fail(
                DeviceLost(
                    self.name, f"{self._link.where}: the publisher of {item.topic} has left; {self.CHECK}"
                )
            )

    def _on_joint_state(self, told: JointState, item: DdsMessage) -> None:
        if told.name != self._names and not self._find(told.name):
            self.counters.refused += 1  # of other joints: of a hand, say
            return
        if self._source is None:
            self._source = item.source
        elif item.source != self._source:
            self._two_publishers()
            return
        n, places = len(self.axes), self._places
        doubt = self._doubt(told)
        if doubt is not None:
            self._refusal = doubt
            if self._reported and self._failure is None:
                self._fail(DeviceFault(self.name, f"{self._link.where}: {doubt}"))
            return
        position = [told.position[i] for i in places]
        velocity = [told.velocity[i] for i in places]
        motion = position + velocity
        values, validity = [motion], [_finite(motion)]
        if len(self._states.streams) > 1:
            effort = [told.effort[i] for i in places]
            values.append(effort)
            validity.append(_finite(effort))
        jumps = self._states.jumps
        new = self._states.take(told.stamp_ns, item.host_ns, values, validity)
        self._repeated = not new
        if not new:
            return
        self._heard_states_ns = item.host_ns
        self._publisher_clock.take(told.stamp_ns, item.host_ns)
        if self._states.jumps > jumps:
            self._on_clock_set()
        for axis in range(n):
            if validity[0][axis] == validity[0][n + axis] == Validity.OK:
                self._store_state(axis, position[axis], velocity[axis])

    def _find(self, names: tuple[str, ...]) -> bool:
        """Whether all axes are among these names; then they are looked for at these places from now on."""
        places = {name: i for i, name in enumerate(names)}
        if not set(self._joints) <= set(places):
            if self._refused_names != names:
                self._refused_names = names
                missing = [joint for joint in self._joints if joint not in places]
                self._refusal = (
                    f"{self.options.joint_states} tells nothing of {', '.join(missing)}; it has {', '.join(names)}. "
                    "Give the names that ROS has under `axes`"
                )
            return False
        self._names, self._places = names, [places[joint] for joint in self._joints]
        return True

    def _doubt(self, told: JointState) -> str | None:
        """Why a message cannot be used, or None."""
        topic = self.options.joint_states
        if told.stamp_ns == 0:
            return f"{topic} has no stamp (0): when it was measured is not known; let its publisher fill the header"
        for what, values in (("position", told.position), ("velocity", told.velocity)):
            if not values:
                return f"{topic} tells no {what}: add the state interface to the broadcaster"
        if len(self._states.streams) > 1 and not told.effort:
            return (
                f"{topic} tells no effort, but `effort: {self.options.effort}` is set; add the state interface to the "
                "broadcaster, or set `effort: none`: then nothing can be identified from joint torques"
            )
        return None

    def _two_publishers(self) -> None:
        if self._failure is None:
            self._fail(
                DeviceFault(
                    self.name,
                    f"{self._link.where}: two publishers of {self.options.joint_states} tell the same joints; stop one "
                    "(a joint_state_publisher, a second bring-up?), or choose the topic of one",
                )
            )

    def _on_clock_set(self) -> None:
        self._publisher_clock.reset()
        if self._armed:
            self._report_fault(
                DeviceFault(
                    self.name,
                    f"{self._link.where}: the clock of the arm's host was set while the arm is on: trajectories would "
                    "be played at a wrong time; keep it in step slowly (chrony), and set it only at rest",
                )
            )

    def _check_heard(self) -> None:
        """DeviceLost where a topic has been silent for `timeout_s`."""
        since_ns = self.clock.now_ns() - round(self.options.timeout_s * 1e9)
        heard = [(self.options.joint_states, self._heard_states_ns)]
        if self.options.wrench is not None:
            heard.append((self.options.wrench.topic, self._heard_wrench_ns))
        for topic, heard_ns in heard:
            if 0 < heard_ns < since_ns and self._failure is None:
                what = "tells nothing new (its stamps stand still)" if self._repeated else "is silent"
                self._fail(
                    DeviceLost(
                        self.name,
                        f"{self._link.where}: {topic} {what} for more than {self.options.timeout_s:g} s (timeout_s); "
                        f"{self.CHECK}",
                    )
                )

    # -- commands -----------------------------------------------------------------------------------------------------

    async def _exchange(self, due_ns: int) -> None:
        self._check_heard()
        if len(self._reported) < len(self.axes):
            return
        now_ns, at_ns = self.clock.now_ns(), due_ns + self._ahead_ns
        if self._sending and self._ahead_ns and now_ns > self._sent_until_ns > 0:
            self._on_overrun(now_ns)
        reference = self._follow(at_ns, at_ns if self._ahead_ns else now_ns)
        self._due.append((self._cycle, at_ns, reference))
        self._cycle += 1
        while self._due and self._due[0][1] <= now_ns:
            number, in_force_ns, setpoint = self._due.popleft()
            self._played.add(number, setpoint.tolist(), in_force_ns)
        self._window.add(at_ns, reference, now_ns)
        if self._sending and now_ns >= self._quiet_until_ns and not self._failed_link:
            await self._link.send(self._command(reference))
            self._sent_until_ns = at_ns

    def _on_overrun(self, now_ns: int) -> None:
        """The last trajectory is over: the controller slows down by itself, and stands where that ends."""
        late_s = (now_ns - self._sent_until_ns) * 1e-9
        self._sent_until_ns = 0
        if self._follower.state is not MotionState.PLAY:
            return
        self._quiet_until_ns, end = self._window.points()[-1]
        self._window.clear()
        self._due.clear()
        self._follower.arm(end[: len(self.axes)])
        self._report_fault(
            DeviceFault(
                self.name,
                f"this host told no trajectory for {self.options.ahead_s + late_s:.3f} s, bound "
                f"{self.options.ahead_s:g} s (ahead_s): the controller has brought the arm to rest by itself; look for "
                "what blocks this host, or raise ahead_s",
            )
        )

    @property
    def _bridged_cycles(self) -> int:
        """The controller goes on along the trajectory for as long as it knows it."""
        if self.options.command == "positions":
            return self.options.catch_up
        return max(1, int(self.options.ahead_s * self.options.rate_hz))

    @property
    def _failed_link(self) -> bool:
        return self._link.subscribers(self.options.commands.name) == 0

    def _command(self, reference: NDArray[np.float64]) -> bytes:
        n = len(self.axes)
        if self.options.command == "positions":
            return Positions(tuple(reference[:n].tolist())).encode()
        points = self._window.points()
        first_ns = points[0][0]
        return JointTrajectory(
            self._publisher_clock.at(first_ns),
            self._joints,
            tuple(
                Point(
                    t_ns - first_ns,
                    tuple(setpoint[:n].tolist()),
                    tuple(setpoint[n : 2 * n].tolist()),
                    tuple(setpoint[2 * n :].tolist()),
                )
                for t_ns, setpoint in points
            ),
        ).encode()

    async def arm(self) -> None:
        rate = self._publisher_clock.rate
        if abs(rate - 1.0) > _SIM_RATE:
            raise CommandError(
                self.name,
                f"the stamps of {self.options.joint_states} run {rate:.3f} times as fast as this host's clock, bound "
                f"{1.0 - _SIM_RATE:g} to {1.0 + _SIM_RATE:g}: trajectories would be played at another speed; let the "
                "simulation run in real time",
            )
        await super().arm()

    async def _enable(self) -> None:
        topic = self.options.commands.name
        if self._failed_link:
            why = "with another quality of service" if self._link.mismatched(topic) else "nobody listens"
            raise DeviceFault(
                self.name,
                f"{self._link.where}: {topic}: {why}; load and activate the controller "
                "(`ros2 control switch_controllers --activate ...`), or give its topic under `command_topic`",
            )
        self._window.clear()
        self._sent_until_ns = self._quiet_until_ns = 0
        self._sending = True

    async def _disable(self) -> None:
        self._sending = False  # the controller holds where the last trajectory ended

    def _powered(self) -> bool:
        return not self._failed_link

    def _holds_alone(self) -> bool:
        return True

    def _unwatched(self) -> str:
        return f"a controller of positions ({self.options.commands.name}) that no `command_timeout_s` is known of is"

    def _check_silence(self) -> None:
        pass  # rows are not answers to cycles: `_check_heard`

    def _who(self, axes: Sequence[str]) -> str:
        names = dict(zip(self.names, self._joints, strict=True))
        return ", ".join(axis if names[axis] == axis else f"{names[axis]} ({axis})" for axis in axes)


def _finite(values: Sequence[float]) -> list[int]:
    """FAULT where a number is none."""
    return [int(Validity.OK if math.isfinite(value) else Validity.FAULT) for value in values]
