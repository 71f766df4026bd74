"""An emulated arm under ros2_control: joint_state_broadcaster, joint_trajectory_controller, forward_command_controller.

It is a participant of DDS as the nodes of ROS are, on the loopback interface. Messages are written and read by Cyclone
DDS's own CDR. The broadcaster names joints in an order of its own and fingers besides. The trajectory controller
refuses what the real one refuses (other joints, times that do not go on, an end in the past or in motion), interpolates
between points, gives up what it cannot follow, and holds at the end: without further messages the arm stands.
"""

from __future__ import annotations

import asyncio
import math
import struct
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from heft.drivers.emulators.base.drive_model import MotorOptions
from heft.drivers.emulators.base.emulator import Emulator
from heft.drivers.emulators.base.sampling import Samples
from heft.drivers.emulators.base.trajectory_axes import Trajectory, TrajectoryAxes
from heft.drivers.emulators.base.wrench_model import WrenchModel, WrenchOptions
from heft.drivers.emulators.wires.dds_wire import DdsWire
from heft.drivers.options import Positive, RateHz
from heft.drivers.plant.faults import Stuck
from heft.drivers.plant.plant import Plant
from heft.drivers.plant.sensor import per_column
from heft.drivers.plant.ticker import Ticker
from heft.drivers.transports.dds import DdsTopic

__all__ = ["Ros2", "Ros2Options"]

_RESOLUTION = 1e-6  # of the wrench [N], [N m]
_SENTINEL = 1234.5678901  # marks the place of a number in a message
_CLOCK_HZ = 100.0
_SIM_START_S = 12.0


class Ros2WrenchOptions(WrenchOptions):
    """A force_torque_sensor_broadcaster."""

    topic: str = "/force_torque_sensor_broadcaster/wrench"
    rate_hz: RateHz = 500.0


class Ros2Options(MotorOptions):
    """One arm and its controllers."""

    #: Left out: one that nobody else on this host has.
    domain: Annotated[int, Field(ge=0, le=232)] | None = None
    joint_states: str = "/joint_states"
    #: Messages of the broadcaster per second.
    state_hz: RateHz = 1000.0
    #: What ROS calls the joints; left out: as the plant does.
    names: tuple[str, ...] | None = None
    #: Joints of a hand, which the broadcaster tells besides.
    fingers: tuple[str, ...] = ("finger_joint1", "finger_joint2")
    #: Whether it tells efforts.
    effort: bool = True
    #: Whether lost messages are sent again.
    reliable: bool = True
    #: Topics of the two controllers.
    trajectories: str = "/joint_trajectory_controller/joint_trajectory"
    positions: str = "/forward_position_controller/commands"
    #: By which a joint may be off its trajectory [rad].
    tolerance: Positive = 0.2
    #: After so long without a position the arm is held [s]; left out: the last one stays in force.
    command_timeout_s: Positive | None = None
    #: Time is simulated, runs so much faster than the host's, and is told on /clock.
    sim_time: bool = False
    sim_rate: Positive = 1.0
    wrench: Ros2WrenchOptions | None = None


class Ros2(Emulator[Ros2Options, DdsWire]):
    """The plant's joints as an arm of ROS 2; stamps are of its host's clock [ns]."""

    Options: ClassVar[type[Ros2Options]] = Ros2Options
    TICK_HZ = 1e9
    TICK_BITS = 60

    def __init__(self, name: str, options: Ros2Options, plant: Plant) -> None:
        super().__init__(name, options, plant)
        self._names = options.names or plant.axes
        self.axes = TrajectoryAxes(
            name,
            plant,
            bandwidth_hz=options.bandwidth_hz,
            period_s=1.0 / options.servo_hz,
            tolerance=options.tolerance,
            on_trip=self._trip,
        )
        n = len(plant.axes)
        loops = max(1.0, options.window_s * options.servo_hz)
        self._noise = plant.rng(name, "noise")
        self._velocity_noise = per_column(f"{name}.velocity_noise", options.velocity_noise, n)
        self._torque_noise = per_column(f"{name}.torque_noise", options.torque_noise, n) / math.sqrt(loops)
        self._sampling = self.sampling(options.state_hz)
        self._order = np.arange(len(self._names))[::-1]  # of the broadcaster: ROS promises none
        self._commanded_s = 0.0
        self._frozen: bytes | None = None
        self.refused: list[str] = []  # why the controller did not take trajectories
        delays = {"motion": 0.0, "torque": 0.5 * options.window_s, "current": 0.5 * options.window_s}
        sensors = {}
        self._gauges: WrenchModel | None = None
        if options.wrench is not None:
            self._wrench_sampling = self.sampling(options.wrench.rate_hz)
            period_s = self._wrench_sampling.period_s
            self._gauges = WrenchModel(
                name, options.wrench, plant, period_s=period_s, resolution=np.full(6, _RESOLUTION)
            )
            delays["wrench"] = self._gauges.delay_s
            sensors["wrench"] = self._gauges.sensor
        self.declare(sensors, delays)

    def _make_ticker(self) -> Ticker:
        if self.options.sim_time:
            return Ticker(_SIM_START_S, self.options.sim_rate - 1.0, self.TICK_HZ, self.TICK_BITS)
        return super()._make_ticker()

    def _make_wire(self) -> DdsWire:
        o = self.options
        published = [DdsTopic(o.joint_states, "sensor_msgs/msg/JointState", o.reliable)]
        if o.sim_time:
            published.append(DdsTopic("/clock", "rosgraph_msgs/msg/Clock", False))
        if o.wrench is not None:
            published.append(DdsTopic(o.wrench.topic, "geometry_msgs/msg/WrenchStamped", o.reliable))
        subscribed = (
            DdsTopic(o.trajectories, "trajectory_msgs/msg/JointTrajectory"),
            DdsTopic(o.positions, "std_msgs/msg/Float64MultiArray"),
        )
        return DdsWire(self.name, self.plant, o.domain, subscribed, published)

    async def serve(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._listen(), name=f"emulator {self.name} commands")
            tasks.create_task(self._broadcast(), name=f"emulator {self.name} states")
            if self._gauges is not None:
                tasks.create_task(self._tell_wrench(self._gauges), name=f"emulator {self.name} wrench")
            if self.options.sim_time:
                tasks.create_task(self._tell_clock(), name=f"emulator {self.name} clock")

    # -- the broadcasters ---------------------------------------------------------------------------------------------

    async def _broadcast(self) -> None:
        from heft.drivers.transports.ros2_types import Header, JointState, Time

        o, n = self.options, len(self._names)
        fingers = len(o.fingers)
        width = fingers + n
        names = [*o.fingers, *(self._names[i] for i in self._order)]
        marks = [_SENTINEL + i for i in range(3 * width)]
        efforts = marks[2 * width :] if o.effort else []
        message = JointState(
            Header(Time(0, 0), "base_link"), names, marks[:width], marks[width : 2 * width], efforts
        )
        template = _Template(message.serialize(), 3 * width if o.effort else 2 * width)
        async for samples in self._sampling.due():
            self._check_timeout(float(samples.t[-1]))
            told = self._measure(samples.t)
            zeros = np.zeros((len(samples), fingers))
            columns = [x for c in (told if o.effort else told[:2]) for x in (zeros, c[:, self._order])]
            rows, stamps = np.hstack(columns).tolist(), self.ticker.ticks(samples.t).tolist()
            for row, stamp, t in zip(rows, stamps, samples.t.tolist(), strict=True):
                await self._send(template.fill(stamp, row), o.joint_states, t)

    def _measure(self, t: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """Position, velocity, torque of the joints at times t (N,), shape (N, n) each."""
        state, window_s = self.plant.motor(t), self.options.window_s
        torque = np.where(self.axes.on, self.plant.mean_torque(t - 0.5 * window_s, window_s), 0.0)
        noise = self._noise.standard_normal((2, *state.q.shape))
        return state.q, state.v + self._velocity_noise * noise[0], torque + self._torque_noise * noise[1]

    async def _send(self, message: bytes, topic: str, t: float) -> None:
        if not self.active(Stuck):
            self._frozen = None
        elif self._frozen is None:
            self._frozen = message
        await self.wire.send(self._frozen or message, topic, at=t)

    async def _tell_wrench(self, gauges: WrenchModel) -> None:
        from heft.drivers.transports.ros2_types import Header, Time, Vector3, Wrench, WrenchStamped

        assert self.options.wrench is not None
        marks = [_SENTINEL + i for i in range(6)]
        empty = WrenchStamped(Header(Time(0, 0), "ft"), Wrench(Vector3(*marks[:3]), Vector3(*marks[3:])))
        template = _Template(empty.serialize(), 6)
        async for samples in self._wrench_sampling.due():
            counts, _ = gauges.read(samples.t)
            for number, t in enumerate(samples.t.tolist()):
                message = template.fill(self._stamp(samples, number), (counts[number] * _RESOLUTION).tolist())
                await self.wire.send(message, self.options.wrench.topic, at=t)

    async def _tell_clock(self) -> None:
        from heft.drivers.transports.ros2_types import Clock, Time

        async for samples in self.sampling(_CLOCK_HZ).due():
            stamp = self._stamp(samples, len(samples) - 1)
            await self.wire.send(Clock(Time(*divmod(stamp, 10**9))).serialize(), "/clock")

    def _stamp(self, samples: Samples, number: int) -> int:
        """Of its host's clock [ns]."""
        return int(self.ticker.ticks(samples.t[number : number + 1])[0])

    # -- the controllers ----------------------------------------------------------------------------------------------

    async def _listen(self) -> None:
        from heft.drivers.transports.ros2_types import Float64MultiArray, JointTrajectory

        while True:
            for message in await self.wire.receive():
                now = self.plant.now()
                if not message.data or not self.axes.on.all():
                    continue
                self._commanded_s = now
                if message.topic == self.options.positions:
                    told: Any = Float64MultiArray.deserialize(message.data)
                    if len(told.data) == len(self._names):
                        self.axes.go_to(np.array(told.data), now)
                else:
                    self._take(JointTrajectory.deserialize(message.data), now)

    def _take(self, told: Any, now: float) -> None:
        stamp_ns = told.header.stamp.sec * 10**9 + told.header.stamp.nanosec
        start = now if stamp_ns == 0 else self._seconds(stamp_ns)
        reason = self._refusal(told, start, now)
        if reason is not None:
            self.refused.append(reason)
            return
        order = [told.joint_names.index(name) for name in self._names]
        first = told.points[0]
        known = 2 if first.accelerations else 1 if first.velocities else 0
        t = np.array([start + _seconds(point.time_from_start) for point in told.points])
        n = len(order)
        state = np.zeros((len(t), 3, n))
        for i, point in enumerate(told.points):
            for k, values in enumerate((point.positions, point.velocities, point.accelerations)):
                if k <= known:
                    state[i, k] = np.array(values)[order]
        self.axes.play(Trajectory(t, state, known), now)

    def _refusal(self, told: Any, start: float, now: float) -> str | None:
        """Why the real controller does not take a trajectory."""
        n = len(self._names)
        if sorted(told.joint_names) != sorted(self._names):
            return f"joints {told.joint_names}"
        if not told.points:
            return "no points"
        after = [_seconds(point.time_from_start) for point in told.points]
        if any(later <= earlier for earlier, later in pairwise(after)):
            return "times do not go on"
        if start + after[-1] < now:
            return f"ends {now - start - after[-1]:.3f} s in the past"
        sizes = {(len(p.positions), len(p.velocities), len(p.accelerations)) for p in told.points}
        if (
            len(sizes) != 1
            or any(size not in (0, n) for size in next(iter(sizes)))
            or not told.points[0].positions
        ):
            return f"sizes {sizes}"
        if any(abs(v) > 1e-6 for v in told.points[-1].velocities):
            return "ends in motion"
        return None

    def _seconds(self, stamp_ns: int) -> float:
        """Plant time of a stamp [s]."""
        ticker = self.ticker
        return (stamp_ns - round(ticker.offset_s * ticker.hz)) * 1e-9 / (1.0 + ticker.drift)

    def _check_timeout(self, now: float) -> None:
        limit = self.options.command_timeout_s
        if limit is not None and self._commanded_s and now - self._commanded_s > limit:
            self._commanded_s = 0.0
            self.axes.hold(now)

    def _trip(self, axis: int) -> None:
        """The hardware finds a fault: all joints are braked, and no controller is active any more."""
        for i in range(len(self._names)):
            self.axes.disable(i, self.plant.seconds(self.clock.now_ns()))


def _seconds(duration: Any) -> float:
    return float(duration.sec + duration.nanosec * 1e-9)


class _Template:
    """A message whose stamp and numbers change and nothing else; `count` numbers are marked in it."""

    def __init__(self, message: bytes, count: int) -> None:
        self._message = bytearray(message)
        self._places = [self._message.index(struct.pack("<d", _SENTINEL + i)) for i in range(count)]
        runs: list[list[int]] = []
        for place in self._places:
            if runs and place == runs[-1][0] + 8 * runs[-1][1]:
                runs[-1][1] += 1
            else:
                runs.append([place, 1])
        self._runs = [(place, struct.Struct(f"<{number}d"), number) for place, number in runs]

    def fill(self, stamp_ns: int, numbers: Sequence[float]) -> bytes:
        struct.pack_into("<iI", self._message, 4, *divmod(stamp_ns, 10**9))
        at = 0
        for place, layout, count in self._runs:
            layout.pack_into(self._message, place, *numbers[at : at + count])
            at += count
        return bytes(self._message)
