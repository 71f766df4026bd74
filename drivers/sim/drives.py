"""Simulated joint drives: they take setpoints, move the arm, and report motion and current."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from heft.drivers.driver import Actuator, Context
from heft.drivers.errors import CommandError, DeviceFault, OptionError, RestError
from heft.drivers.options import NonNegative, Positive, RateHz
from heft.drivers.plant.faults import DriveFault
from heft.drivers.plant.mover import PositionLaw
from heft.drivers.plant.part import PartialLaw, PlantPart
from heft.drivers.plant.plant import Plant
from heft.drivers.plant.sensor import PerColumn, Sensor, per_column
from heft.drivers.playback.played_stream import played_stream
from heft.drivers.playback.rest import REST_S, not_at_rest, rest_bound_s
from heft.drivers.playback.setpoint_follower import MotionState
from heft.drivers.setpoints import Setpoints
from heft.drivers.sim.computed_torque import ComputedTorque
from heft.drivers.sim.device import DeviceOptions, SimDevice
from heft.drivers.sim.model import read_structure, with_model
from heft.drivers.sim.servo import Servo
from heft.drivers.stream import Column, Stream

__all__ = ["DriveOptions", "SimDrives"]

Bits = Annotated[float, Field(ge=8.0, le=30.0)]

_REST_RAD_S = 0.01
_LOOK_S = 0.005


class DriveOptions(DeviceOptions):
    """Drives with an encoder on every motor (seen behind the gear), a current sensor, and a position servo."""

    #: Servo ticks per second, by the drive's own clock; torque is held from one to the next.
    servo_hz: RateHz = 1000.0
    #: Bandwidth of the position loop.
    bandwidth_hz: PerColumn = 10.0
    #: MJCF file of the arm as the servo knows it, such as `heft export` writes; None: the robot's own. Joint offsets
    #: are no part of an MJCF file: those of the robot's file stay.
    feedforward: Path | None = None
    #: Motor encoder: counts per turn of the joint are two to this; for all, or one by one.
    position_bits: Bits | tuple[Bits, ...] = 19
    #: Velocity as the drive computes it [rad/s]: noise rms, and value of one count.
    velocity_noise: PerColumn = 0.001
    velocity_resolution: Positive = 0.0001
    #: Whether the drives tell their current. Many humanoids' do not.
    reports_current: bool = True
    #: Noise of the current, as joint torque [N m rms]; the size of its bias and of the bias' drift [N m/s].
    torque_noise: PerColumn = 0.0
    torque_bias: PerColumn = 0.0
    torque_bias_drift: PerColumn = 0.0
    #: Value of one count of current [A].
    current_resolution: Positive = 0.001
    #: Total delays [s]: a value stamped t shows the quantity at t - delay; current is the mean over one sample period.
    motion_delay_s: NonNegative = 0.0
    current_delay_s: NonNegative = 0.0013
    #: The drive stops by itself when the host has been silent for this long [s].
    watchdog_s: Positive | None = 0.1
    #: Arm even without a watchdog.
    without_watchdog: bool = False
    #: Whether a brake holds an axis while its drive is off, for all or one by one. Drives whose axes have none go on
    #: holding by themselves when the host is done or silent ...
    brake: bool | tuple[bool, ...] = True
    #: ... unless this says why they may be switched off all the same: where the arm then rests, what balances it.
    off_without_brake: Annotated[str, Field(min_length=10)] | None = None


class SimDrives(SimDevice, Actuator):
    """Yields `NAME.motion` (n positions, n velocities), `NAME.current` (n) and `NAME.played` (setpoints in force).

    Without `reports_current` there is no `NAME.current`.
    """

    Options = DriveOptions
    MODEL = "simulated joint drives"
    RANDOM_PHASE = False

    def __init__(self, name: str, options: DriveOptions, context: Context) -> None:
        super().__init__(name, options, context)
        world = self.world
        self._drive = options
        self._places = np.arange(len(world.axes)) if context.places is None else np.array(context.places)
        self._plant: Plant = world if context.places is None else PlantPart(world, context.places)
        self.axes = context.axes or world.axes
        n = len(self.axes)
        self.watchdog_s = options.watchdog_s
        if options.reports_current and options.current_delay_s < 0.5 / options.rate_hz:
            raise OptionError(
                f"{name}: current_delay_s is {options.current_delay_s} s, shorter than half a sample period "
                f"({0.5 / options.rate_hz} s), over which current is averaged; raise it"
            )
        if options.watchdog_s is not None and options.watchdog_s < 3 * self._block / options.rate_hz:
            raise OptionError(
                f"{name}: watchdog_s is {options.watchdog_s} s, but the host reads blocks of "
                f"{self._block / options.rate_hz} s; raise it to three blocks or more"
            )
        bandwidth_hz = per_column(f"{name}.bandwidth_hz", options.bandwidth_hz, n)
        if not (bandwidth_hz > 0.0).all():
            raise OptionError(f"{name}: bandwidth_hz is {options.bandwidth_hz}, must be positive; raise it")
        if isinstance(options.brake, tuple) and len(options.brake) != n:
            raise OptionError(
                f"{name}: brake has {len(options.brake)} values for {n} axes; give one, or one each"
            )
        brakes = np.broadcast_to(np.array(options.brake, dtype=np.bool_), n).copy()
        period_s = self.ticker.period(options.servo_hz)
        self._servo = Servo(
            name,
            self.axes,
            world.robot.column("acceleration")[self._places],
            self._law(bandwidth_hz, period_s),
            period_s=period_s,
            watchdog_s=options.watchdog_s,
            brakes=brakes,
            stays_on=not (brakes.all() or options.off_without_brake),
        )
        self.deceleration = self._servo.deceleration
        self._plant.attach(self._servo)
        self._torque_per_ampere = self._plant.torque_per_ampere
        self._add_sensor(*self._motion(), options.motion_delay_s)
        if options.reports_current:
            self._add_sensor(*self._current(), options.current_delay_s)
        played = played_stream(
            name, self.axes, options.rate_hz, tick_hz=options.tick_hz, tick_bits=options.tick_bits
        )
        self._add_sensor(played, None, 0.0)

    async def __aexit__(self, *exc: object) -> None:
        await self.disarm()
        await super().__aexit__(*exc)

    # -- commands -----------------------------------------------------------------------------------------------------

    async def arm(self) -> None:
        if self.watchdog_s is None and not self._drive.without_watchdog:
            raise CommandError(
                self.name,
                "has no watchdog (watchdog_s is null); set it, or set without_watchdog to arm all the same",
            )
        t = self._now()
        for fault in self.world.faults(self.name):
            if isinstance(fault, DriveFault) and fault.active(np.array([t]))[0]:
                raise DeviceFault(self.name, f"drive fault on {fault.joint}: cannot arm before it is cleared")
        position, velocity = self._plant.present()
        if (np.abs(velocity) >= _REST_RAD_S).any():
            raise CommandError(
                self.name, "cannot arm while the arm still moves; wait until the brakes have stopped it"
            )
        self._servo.arm(position)

    async def position(self) -> NDArray[np.float64]:
        t = self.world.now()
        position: NDArray[np.float64] = self._plant.motor(np.array([t])).q[0]
        return position

    async def play(self, chunk: Setpoints) -> None:
        t = self._now()
        times = np.asarray(chunk.host_ns - self.world.start_ns, dtype=np.float64) * 1e-9
        self._servo.play(t, chunk, times)

    @property
    def holding(self) -> bool:
        return self._servo.state is MotionState.HOLD and self._at_rest()

    @property
    def rest_bound_s(self) -> float:
        n = len(self.axes)
        reference, measured = self._servo.reference[n : 2 * n], self._plant.present()[1]
        return rest_bound_s(np.maximum(np.abs(reference), np.abs(measured)), self.deceleration)

    async def hold(self) -> None:
        t = self._now()
        if self._servo.state is MotionState.OFF:
            return
        bound_s = self.rest_bound_s
        self._servo.stop(t)
        if not await self._rested(bound_s):
            raise self._not_at_rest(bound_s, "the drives stay on and hold")

    async def disarm(self) -> None:
        t = self._now()
        if self._servo.state is MotionState.OFF:
            return
        error, braked = None, bool(self._servo.braked.all())
        if not self._at_rest():
            bound_s = self.rest_bound_s
            self._servo.stop(t)
            if not await self._rested(bound_s):
                error = self._not_at_rest(
                    bound_s,
                    "the drives were switched off, and the brakes stop it"
                    if braked
                    else "it has no brake, so the drives stay on",
                )
        if not self._servo.stays_on and (error is None or braked):
            self._servo.off()
        if error is not None:
            raise error

    async def _rested(self, bound_s: float) -> bool:
        """Wait until the axes have been at rest for a while; False: they are not within this time [s]."""
        t = self._now()
        deadline, since = t + bound_s, math.inf
        while t < deadline:
            since = min(since, t) if self._at_rest() else math.inf
            if t - since >= REST_S:
                return True
            await self.clock.sleep_until(self.world.nanoseconds(t + _LOOK_S))
            t = self._now()
        return False

    def _not_at_rest(self, bound_s: float, consequence: str) -> RestError:
        rest = np.full(len(self.axes), _REST_RAD_S)
        return not_at_rest(self.name, self.axes, self._plant.present()[1], rest, bound_s, consequence)

    def _now(self) -> float:
        """The host speaks: first the watchdog hears it, then the plant is brought up to now.

        In this order, because the plant lives in the host's process: while that stalls, nothing moves.
        """
        self._alive()
        return self.world.now()

    def _at_rest(self) -> bool:
        return self._servo.at_rest and bool(np.abs(self._plant.present()[1]).max() < _REST_RAD_S)

    def _law(self, bandwidth_hz: NDArray[np.float64], period_s: float) -> PositionLaw:
        """The servo's: of the robot's file, or of the one that it was given."""
        if self._drive.feedforward is None:
            return self._plant.position_law(bandwidth_hz, period_s)
        known = with_model(self.world.robot, self._drive.feedforward)
        every = np.full(len(known.joints), float(bandwidth_hz.mean()))
        every[self._places] = bandwidth_hz
        law = ComputedTorque(known, read_structure(known), every, period_s, self.world.base)
        return law if len(self._places) == len(every) else PartialLaw(law, self._places, self.world.present)

    # -- measurement --------------------------------------------------------------------------------------------------

    def _measure(self, t: NDArray[np.float64]) -> Sequence[NDArray[np.float64]]:
        options, plant = self._drive, self._plant
        state = plant.motor(t - options.motion_delay_s)
        motion, played = np.hstack([state.q, state.v]), plant.reference(t)
        if not options.reports_current:
            return [motion, played]
        torque = plant.mean_torque(t - options.current_delay_s, self._period)
        return [motion, torque / self._torque_per_ampere, played]

    def _alive(self) -> None:
        self._servo.feed_watchdog(self.world.seconds(self.clock.now_ns()))

    def _check(self) -> None:
        if self._servo.failure is not None:
            raise self._servo.failure

    def _motion(self) -> tuple[Stream, Sensor]:
        options, n = self._drive, len(self.axes)
        scale = 2.0 * np.pi / 2.0 ** per_column(f"{self.name}.position_bits", options.position_bits, n)
        velocity_noise = per_column(f"{self.name}.velocity_noise", options.velocity_noise, n)
        sensor = Sensor.draw(
            self._rng("motion bias"),
            noise=np.concatenate([np.zeros(n), velocity_noise]),
            bias=np.zeros(2 * n),
            drift=np.zeros(2 * n),
            resolution=np.concatenate([scale, np.full(n, options.velocity_resolution)]),
        )
        positions = (
            Column(axis, "position", "rad", count, raw_unit="count")
            for axis, count in zip(self.axes, scale.tolist(), strict=True)
        )
        velocities = (
            Column(axis, "velocity", "rad/s", options.velocity_resolution, raw_unit="count")
            for axis in self.axes
        )
        return self._stream("motion", (*positions, *velocities), dtype="<i4"), sensor

    def _current(self) -> tuple[Stream, Sensor]:
        options, n, per_ampere = self._drive, len(self.axes), np.abs(self._torque_per_ampere)
        sensor = Sensor.draw(
            self._rng("current bias"),
            noise=per_column(f"{self.name}.torque_noise", options.torque_noise, n) / per_ampere,
            bias=per_column(f"{self.name}.torque_bias", options.torque_bias, n) / per_ampere,
            drift=per_column(f"{self.name}.torque_bias_drift", options.torque_bias_drift, n) / per_ampere,
            resolution=np.full(n, options.current_resolution),
            limit=1.5 * self.world.robot.column("torque")[self._places] / per_ampere,
        )
        columns = (
            Column(axis, "current", "A", options.current_resolution, raw_unit="count") for axis in self.axes
        )
        return self._stream("current", tuple(columns), dtype="<i4", hold_s=1.0 / options.rate_hz), sensor

    def _stream(self, what: str, columns: tuple[Column, ...], **more: Any) -> Stream:
        clock: dict[str, Any] = {"tick_hz": self._drive.tick_hz, "tick_bits": self._drive.tick_bits}
        return Stream(f"{self.name}.{what}", columns, self._drive.rate_hz, **clock, **more)
