"""The world of a simulated rig: the plant, its time, its seeds, and what really happened.

Host time is the world's true time. `advance(t_ns)` brings the plant up to a host time, whoever asks; every command
first brings it up to now, so a run depends only on when commands were given, never on who looked. One tick of the
servo is one row of history; devices sample it at instants of their own clocks.
"""

from __future__ import annotations

import heapq
import math
import zlib
from collections.abc import Callable
from itertools import count
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from drivers.clock import Clock
from drivers.errors import OptionError
from drivers.sim.computed_torque import ComputedTorque
from drivers.sim.faults import AnyFault, DriveFault, Fault
from drivers.sim.history import History, State
from drivers.sim.inertia import Inertia
from drivers.sim.model import read_structure
from drivers.sim.mover import Mover, PositionLaw
from drivers.sim.robot import SimRobot
from drivers.sim.truth import DeviceTruth, HardOptions, PerturbationOptions, draw_arm

__all__ = ["World", "WorldOptions"]

_DEFAULT_TICK_S = 0.001  # without a drive nothing moves, and any will do
_ROUNDING_S = 1e-9


class WorldOptions(BaseModel):
    """The plant of a simulated rig."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: Longest integration step [s]. Halving it moves no identified parameter by 0.01 of its standard deviation.
    step_s: Annotated[float, Field(gt=0, le=0.01)] = 0.001
    #: Where the arm stands at the start [rad]; left out: zero, or the middle of the limits where they exclude zero.
    posture: tuple[float, ...] | None = None
    #: Time in which the brakes stop a moving arm [s].
    brake_s: Annotated[float, Field(gt=0)] = 0.05
    perturbation: PerturbationOptions = PerturbationOptions()
    #: Effects that the identification model leaves out.
    hard: HardOptions | None = None
    faults: tuple[AnyFault, ...] = ()


class World:
    """Owns everything that simulated devices share. Times are seconds since `start_ns` unless they end in `_ns`."""

    def __init__(self, robot: SimRobot, options: WorldOptions, clock: Clock, seed: int) -> None:
        self.robot = robot
        self.options = options
        self.clock = clock
        self.seed = seed
        self.start_ns = clock.now_ns()
        self.structure = read_structure(robot)
        self.arm = draw_arm(robot, self.structure, options.perturbation, self.rng("plant", "parameters"))
        self.plant = self.arm.plant(robot, options.hard)
        self.plant.place(_posture(robot, options.posture))
        self._servo: Mover | None = None
        self._braking: NDArray[np.float64] | None = None  # deceleration of the brakes [rad/s2]
        self._history = self._new_history(_DEFAULT_TICK_S)
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._event_numbers = count()
        self._faults: list[Fault] = []
        self._devices: dict[str, DeviceTruth] = {}
        self._payloads: list[dict[str, Any]] = []
        for fault in options.faults:
            self.inject(fault)

    @property
    def axes(self) -> tuple[str, ...]:
        """Joint names in order."""
        return self.robot.axes

    @property
    def torque_per_ampere(self) -> NDArray[np.float64]:
        """Joint torque per motor current [N m/A], shape (n,)."""
        return self.robot.column("torque_per_ampere")

    def rng(self, device: str, purpose: str) -> np.random.Generator:
        """A random stream of its own for one purpose of one device: adding a device changes no other."""
        key = tuple(zlib.crc32(name.encode()) for name in (device, purpose))
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=key)))

    def attach(self, servo: Mover) -> None:
        """Let this servo move the arm; its period becomes the world's tick."""
        if self._servo is not None or self._history.last:
            raise OptionError(
                f"{servo.name}: a simulated arm has one drive, there before the world moves; remove one"
            )
        self._servo = servo
        self._history = self._new_history(servo.period_s)

    def position_law(self, bandwidth_hz: NDArray[np.float64], period_s: float) -> PositionLaw:
        """A position servo for this arm, made from its file; `bandwidth_hz` has shape (n,)."""
        return ComputedTorque(self.robot, self.structure, bandwidth_hz, period_s)

    # -- time -------------------------------------------------------------------------------------------------------

    def seconds(self, t_ns: int) -> float:
        """Host time [ns] as seconds since the start."""
        return (t_ns - self.start_ns) * 1e-9

    def nanoseconds(self, t: float) -> int:
        """Seconds since the start as host time [ns], rounded up."""
        return self.start_ns + math.ceil(t * 1e9)

    def now(self) -> float:
        """Host time as seconds since the start; the plant is brought up to it."""
        t_ns = self.clock.now_ns()
        self.advance(t_ns)
        return self.seconds(t_ns)

    def advance(self, t_ns: int) -> None:
        """Bring the plant up to host time t_ns: every tick due by then acts on the interval that follows it."""
        period, end = self._history.period_s, self.seconds(t_ns) + _ROUNDING_S
        while (t := self._history.last * period) <= end:
            self._tick(t, period)

    def schedule(self, t: float, action: Callable[[], None]) -> None:
        """Do something at the first tick at or after t."""
        heapq.heappush(self._events, (t, next(self._event_numbers), action))

    def _tick(self, t: float, period: float) -> None:
        while self._events and self._events[0][0] <= t + _ROUNDING_S:
            heapq.heappop(self._events)[2]()
        plant, servo = self.plant, self._servo
        torque = servo.update(t, plant.q[plant.motor], plant.v[plant.motor]) if servo is not None else None
        if torque is None:
            torque = np.zeros(len(self.robot.joints))
            self._brake(period)
        else:
            self._braking = None
            steps = max(1, round(period / self.options.step_s))
            for _ in range(steps):
                plant.step(torque, period / steps)
        reference = servo.reference if servo is not None else np.zeros(3 * len(self.robot.joints))
        self._history.append(torque, reference, plant.load, plant.q, plant.v)

    def _brake(self, period: float) -> None:
        """The brakes take the speed away evenly within `brake_s`, and then hold."""
        plant = self.plant
        if not plant.v.any():
            return
        if self._braking is None:
            self._braking = plant.v / self.options.brake_s
        slower = plant.v - self._braking * period
        v = np.where(slower * plant.v > 0.0, slower, 0.0)
        plant.q = plant.q + 0.5 * period * (plant.v + v)
        plant.v = v

    def _new_history(self, period_s: float) -> History:
        return History(len(self.robot.joints), self.plant.ndof, period_s, self.plant.q)

    # -- what devices see -------------------------------------------------------------------------------------------

    def motor(self, t: NDArray[np.float64]) -> State:
        """Positions and velocities on the motor side at times t, shape (N, n) each."""
        state = self._history.state(t)
        return State(state.q[:, self.plant.motor], state.v[:, self.plant.motor])

    def joint_positions(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Positions on the link side at times t [rad], shape (N, n)."""
        return self.plant.joint_positions(self._history.state(t).q)

    def mean_torque(self, t: NDArray[np.float64], window_s: float) -> NDArray[np.float64]:
        """Motor torque, mean over a window around t [N m at the joint], shape (N, n)."""
        return self._history.mean_torque(t - 0.5 * window_s, t + 0.5 * window_s)

    def reference(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Setpoints in force at times t: position, velocity, acceleration, shape (N, 3 n)."""
        return self._history.reference(t)

    def wrench(self, t: NDArray[np.float64], window_s: float) -> NDArray[np.float64]:
        """Wrench of the sensor on what it carries [N, N m], mean over a window around t, shape (N, 6).

        A wrench is linear in the accelerations, and their mean over a window is the change of velocity: exact also
        where the torque jumps. Position and velocity hardly change within a window; the middle stands for them.
        """
        n = len(t)
        state = self._history.state(np.concatenate([t, t - 0.5 * window_s, t + 0.5 * window_s]))
        acceleration = (state.v[2 * n :] - state.v[n : 2 * n]) / window_s
        loads = self._history.loads(t).tolist()
        samples = zip(state.q[:n], state.v[:n], acceleration, loads, strict=True)
        return np.array([self.plant.wrench(q, v, a, load) for q, v, a, load in samples])

    # -- what happens to devices and the hand -----------------------------------------------------------------------

    def inject(self, fault: Fault) -> None:
        """Add a fault to those of the rig's file."""
        self._faults.append(fault)
        if isinstance(fault, DriveFault):
            self.schedule(fault.at_s, lambda: self._trip(fault))

    def faults(self, device: str) -> tuple[Fault, ...]:
        """Faults of one device, in the order in which they were added."""
        return tuple(f for f in self._faults if f.device == device) if self._faults else ()

    def _trip(self, fault: DriveFault) -> None:
        if self._servo is not None and self._servo.name == fault.device:
            self._servo.trip(fault.joint)

    def pick(self, name: str, inertia: Inertia) -> None:
        """The hand holds an object, rigidly; `inertia` is in the flange's frame."""
        robot = self.robot
        if robot.hand is None or robot.flange is None:
            raise OptionError("grip: the robot's file names no `hand` or no `flange`; add them")
        self.plant.grasp(robot.hand, inertia.moved(self.structure.relative(robot.flange, robot.hand)))
        t = self._history.last * self._history.period_s
        self._payloads.append(
            {
                "object": name,
                "mass": inertia.mass,
                "com": inertia.com.tolist(),
                "inertia": inertia.tensor.tolist(),
                "t_pick": t,
                "t_pick_ns": self.nanoseconds(t),
            }
        )

    def drop(self) -> None:
        """The hand is empty again."""
        self.plant.drop()
        t = self._history.last * self._history.period_s
        if self._payloads and "t_drop" not in self._payloads[-1]:
            self._payloads[-1] |= {"t_drop": t, "t_drop_ns": self.nanoseconds(t)}

    # -- truth ------------------------------------------------------------------------------------------------------

    def declare(self, device: str, truth: DeviceTruth) -> None:
        """A device says what is true of it."""
        self._devices[device] = truth

    def _hand(self) -> dict[str, Any] | None:
        """The hand's own inertia in the sensor's frame: what a wrist sensor carries without an object."""
        robot = self.robot
        if robot.hand is None or robot.sensor is None or robot.hand not in self.arm.inertias:
            return None
        pose = self.structure.relative(robot.hand, robot.sensor)
        inertia = self.arm.inertias[robot.hand].moved(pose)
        return {"mass": inertia.mass, "com": inertia.com.tolist(), "inertia": inertia.tensor.tolist()}

    def truth(self) -> dict[str, Any]:
        """What evaluation may know and identification may not, as plain JSON values. See docs/simulated-rig.md."""
        devices = self._devices
        return {
            "robot": self.robot.name,
            "seed": self.seed,
            "start_ns": self.start_ns,
            "parameters": self.arm.parameters(self.robot),
            "delays": {stream: d for device in devices.values() for stream, d in device.delays.items()},
            "clocks": {name: device.clock for name, device in devices.items()},
            "noise": {
                stream: s["noise"] for device in devices.values() for stream, s in device.sensors.items()
            },
            "sensors": {stream: s for device in devices.values() for stream, s in device.sensors.items()},
            "hand": self._hand(),
            "payloads": [dict(payload) for payload in self._payloads],
            "hard": None if self.options.hard is None else self.options.hard.model_dump(),
        }


def _posture(robot: SimRobot, given: tuple[float, ...] | None) -> NDArray[np.float64]:
    if given is None:
        return np.array(
            [
                0.0 if j.position[0] <= 0.0 <= j.position[1] else float(np.mean(j.position))
                for j in robot.joints
            ]
        )
    if len(given) != len(robot.joints):
        raise OptionError(
            f"simulation.posture: {len(given)} numbers, but {robot.name} has {len(robot.joints)} joints"
        )
    for joint, q in zip(robot.joints, given, strict=True):
        if not joint.position[0] <= q <= joint.position[1]:
            raise OptionError(
                f"simulation.posture: {q} rad for {joint.name} is outside {list(joint.position)} rad; correct it"
            )
    return np.array(given, dtype=np.float64)
