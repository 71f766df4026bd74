"""The world of a simulated rig: the plant, its time, its seeds, and what really happened.

Host time is the world's true time. `advance(t_ns)` brings the plant up to a host time, whoever asks; every command
first brings it up to now, so a run depends only on when commands were given, never on who looked. One tick of the
servo is one row of history; devices sample it at instants of their own clocks.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from heft.drivers.clock import Clock
from heft.drivers.errors import DeviceFault, OptionError
from heft.drivers.options import Options
from heft.drivers.plant.faults import AnyFault
from heft.drivers.plant.history import History, State
from heft.drivers.plant.inertia import Inertia
from heft.drivers.plant.mover import PositionLaw
from heft.drivers.plant.plant import Plant
from heft.drivers.sim.brakes import Brakes
from heft.drivers.sim.computed_torque import ComputedTorque
from heft.drivers.sim.model import SENSED, read_structure
from heft.drivers.sim.robot import SimRobot
from heft.drivers.sim.suspension import SuspensionOptions
from heft.drivers.sim.truth import HardOptions, PerturbationOptions, draw_arm

__all__ = ["World", "WorldOptions"]

_DEFAULT_TICK_S = 0.001  # without a drive nothing moves, and any will do
_BRAKE_HZ = 20.0  # how stiff a brake is
_WRENCH, _INERTIAL, _ORIENTATION = slice(0, 6), slice(6, 12), slice(12, sum(SENSED.values()))


class WorldOptions(Options):
    """The plant of a simulated rig."""

    #: MJCF or URDF file of the arm, beside the rig's file, for a robot that is given by DH rows; its bodies are the
    #: links, in frames of the convention. Left out: the robot's own model.
    model: Path | None = None
    #: Longest integration step [s]. Halving it moves no identified parameter by 0.01 of its standard deviation.
    step_s: Annotated[float, Field(gt=0, le=0.01)] = 0.001
    #: Where the arm stands at the start [rad]; left out: zero, or the middle of limits that zero is not inside of.
    posture: tuple[float, ...] | None = None
    #: Time in which the brakes stop a moving arm [s].
    brake_s: Annotated[float, Field(gt=0)] = 0.05
    perturbation: PerturbationOptions = PerturbationOptions()
    #: What holds a robot whose base is free.
    suspension: SuspensionOptions | None = None
    #: Effects that the identification model leaves out.
    hard: HardOptions | None = None
    faults: tuple[AnyFault, ...] = ()


class World(Plant):
    """Owns everything that simulated devices share. Times are seconds since `start_ns` unless they end in `_ns`."""

    def __init__(self, robot: SimRobot, options: WorldOptions, clock: Clock, seed: int) -> None:
        super().__init__(clock, seed)
        robot = replace(robot, suspension=options.suspension)
        self.robot = robot
        self.options = options
        self.structure = read_structure(robot)
        self.arm = draw_arm(robot, self.structure, options.perturbation, self.rng("plant", "parameters"))
        self.dynamics = self.arm.dynamics(robot, options.hard)
        self.dynamics.place(_posture(robot, options.posture))
        self._braking: NDArray[np.float64] | None = None  # deceleration of the brakes [rad/s2]
        self._brakes: Brakes | None = None  # of single motors
        self._history = self._new_history(_DEFAULT_TICK_S)
        self._payloads: list[dict[str, Any]] = []
        for fault in options.faults:
            self.inject(fault)

    @property
    def axes(self) -> tuple[str, ...]:
        """Joint names in order."""
        return self.robot.axes

    @property
    def torque_per_ampere(self) -> NDArray[np.float64]:
        """Motor torque per motor current [N m/A], shape (n,)."""
        return self.robot.column("torque_per_ampere")

    def position_law(self, bandwidth_hz: NDArray[np.float64], period_s: float) -> PositionLaw:
        """A position servo for the motors, made from the arm's file; `bandwidth_hz` has shape (n,)."""
        return ComputedTorque(self.robot, self.structure, bandwidth_hz, period_s, self.base)

    def base(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Coordinates of a free base and their rates at the newest tick, shape (6,) each; (0,) of a fixed one."""
        arm = self.dynamics
        return arm.q[arm.base], arm.v[arm.base]

    # -- time -------------------------------------------------------------------------------------------------------

    def _tick(self, t: float, period: float) -> None:
        arm, coupling = self.dynamics, self.robot.coupling
        q, v = self.present()
        torque, held, reference = self._ask_movers(t, q, v)
        if held.all() and not self.robot.free:
            self._brake(period)
        else:
            self._braking = None
            applied = torque + self._hold(t, q, v, ~held) if held.any() else torque
            if coupling is not None:
                applied = coupling.joint_torque(applied)
            steps = max(1, round(period / self.options.step_s))
            for _ in range(steps):
                arm.step(applied, period / steps)
            if arm.overturned:
                raise DeviceFault(self.robot.name, arm.overturned)
        self._history.append(torque, reference, arm.load, arm.q, arm.v)

    def _hold(
        self, t: float, q: NDArray[np.float64], v: NDArray[np.float64], free: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Torque of the brakes of some motors while others are `free` of theirs, or have none [N m], shape (n,)."""
        if self._brakes is None:
            n = len(self.axes)
            law = self.position_law(np.full(n, _BRAKE_HZ), self._history.period_s)
            self._brakes = Brakes(law, n, self.options.brake_s)
        return self._brakes.torque(t, q, v, free)

    def _brake(self, period: float) -> None:
        """The brakes take the speed away evenly within `brake_s`, and then hold."""
        arm = self.dynamics
        if not arm.v.any():
            return
        if self._braking is None:
            self._braking = arm.v / self.options.brake_s
        slower = arm.v - self._braking * period
        v = np.where(slower * arm.v > 0.0, slower, 0.0)
        arm.q = arm.q + 0.5 * period * (arm.v + v)
        arm.v = v

    def _new_history(self, period_s: float) -> History:
        return History(len(self.robot.joints), self.dynamics.ndof, period_s, self.dynamics.q)

    # -- what devices see -------------------------------------------------------------------------------------------

    def motor(self, t: NDArray[np.float64]) -> State:
        """Positions and velocities of the motors at times t, shape (N, n) each."""
        state, coupling = self._history.state(t), self.robot.coupling
        q, v = state.q[:, self.dynamics.motor], state.v[:, self.dynamics.motor]
        return State(q, v) if coupling is None else State(coupling.to_motors(q), coupling.to_motors(v))

    def present(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Position and velocity of the motors at the newest tick, shape (n,) each."""
        arm, coupling = self.dynamics, self.robot.coupling
        q, v = arm.q[arm.motor], arm.v[arm.motor]
        return (q, v) if coupling is None else (coupling.to_motors(q), coupling.to_motors(v))

    def joint_positions(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Positions on the link side at times t [rad], shape (N, n)."""
        return self.dynamics.joint_positions(self._history.state(t).q)

    def wrench(
        self, t: NDArray[np.float64], window_s: float, frame: str | None = None
    ) -> NDArray[np.float64]:
        """Wrench of the sensor at a frame on what it carries [N, N m], mean over a window around t, shape (N, 6).

        `frame` None: of the wrist sensor.
        """
        return self._sensed(t, window_s, frame)[:, _WRENCH]

    def imu(
        self, t: NDArray[np.float64], window_s: float, frame: str
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What an IMU at a frame senses: angular velocity [rad/s] and specific force [m/s2] in the frame, shape (N, 6),
        and the frame's orientation in the world as a quaternion x y z w, shape (N, 4). Means as of a wrench.
        """
        sensed = self._sensed(t, window_s, frame)
        return sensed[:, _INERTIAL], np.roll(sensed[:, _ORIENTATION], -1, axis=1)

    def _sensed(self, t: NDArray[np.float64], window_s: float, frame: str | None) -> NDArray[np.float64]:
        """What is sensed in a frame (`SENSED`), mean over a window around t, shape (N, 16).

        A wrench is linear in the accelerations, and their mean over a window is the change of velocity: exact also
        where the torque jumps. Position and velocity hardly change within a window; the middle stands for them.
        """
        number = 0 if frame is None else self.robot.sensed.index(frame)
        n = len(t)
        state = self._history.state(np.concatenate([t, t - 0.5 * window_s, t + 0.5 * window_s]))
        acceleration = (state.v[2 * n :] - state.v[n : 2 * n]) / window_s
        loads = self._history.loads(t).tolist()
        samples = zip(state.q[:n], state.v[:n], acceleration, loads, strict=True)
        return np.array([self.dynamics.sensed(q, v, a, load, number) for q, v, a, load in samples])

    # -- what happens to devices and the hand -----------------------------------------------------------------------

    def pick(self, name: str, inertia: Inertia) -> None:
        """The hand holds an object, rigidly; `inertia` is in the flange's frame."""
        robot = self.robot
        if robot.hand is None or robot.flange is None:
            raise OptionError("grip: the robot's file names no `hand` or no `flange`; add them")
        self.dynamics.grasp(robot.hand, inertia.moved(self.structure.relative(robot.flange, robot.hand)))
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
        self.dynamics.drop()
        t = self._history.last * self._history.period_s
        if self._payloads and "t_drop" not in self._payloads[-1]:
            self._payloads[-1] |= {"t_drop": t, "t_drop_ns": self.nanoseconds(t)}

    # -- truth ------------------------------------------------------------------------------------------------------

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
        devices = self.devices
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
            [0.0 if j.position[0] < 0.0 < j.position[1] else float(np.mean(j.position)) for j in robot.joints]
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
