"""The watch over every sample: limits, also those that a stop would meet, torque, tracking, silence, overload.

It rejects; it never clamps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from heft.daq.config.robot import JointConfig
from heft.daq.config.session import WatchConfig
from heft.daq.errors import SafetyStop
from heft.daq.motion.played_setpoints import PlayedSetpoints
from heft.daq.trajectory.limits import Brake, at_rest_from
from heft.drivers.block import Block, Validity
from heft.drivers.coupling import Coupling, motor_names
from heft.drivers.errors import DeviceLost
from heft.drivers.stream import Role, Stream

__all__ = ["Watch"]


@dataclass(frozen=True, slots=True, eq=False)
class _JointColumns:
    """Where a stream has positions and velocities, and of which joints: theirs, or of the motors that move them."""

    position: NDArray[np.intp]
    velocity: NDArray[np.intp]
    joints: NDArray[np.intp]
    coupling: Coupling | None

    @classmethod
    def find(cls, stream: Stream, axes: Sequence[str], coupling: Coupling | None) -> Self | None:
        """Of a stream that measures some joints, in the robot's order; None for any other."""
        position, velocity = stream.indices("position"), stream.indices("velocity")
        found = _joints_of(stream, position, axes, coupling)
        return None if found is None else cls(position, velocity, *found)

    def of_joints(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Positions or velocities of the joints, shape (N, m), as measured or from motors."""
        return values if self.coupling is None else self.coupling.to_joints(values)


@dataclass(frozen=True, slots=True, eq=False)
class _TorqueColumns:
    """Where a stream has torques or currents, of which joints, and what makes joint torques [N m] of them."""

    columns: NDArray[np.intp]
    joints: NDArray[np.intp]
    coupling: Coupling | None
    scale: NDArray[np.float64]

    @classmethod
    def find(
        cls, stream: Stream, joints: Mapping[str, JointConfig], coupling: Coupling | None
    ) -> Self | None:
        """Of a stream that measures the torque or the current of some joints; None for any other."""
        for quantity in ("torque", "current"):
            columns = stream.indices(quantity)
            found = _joints_of(stream, columns, tuple(joints), coupling)
            if found is not None:
                own = [list(joints.values())[k] for k in found[0]]
                current = [j.gear * j.torque_constant if quantity == "current" else 1.0 for j in own]
                return cls(columns, *found, np.array([j.gain for j in own]) * np.array(current))
        return None

    def of_joints(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Joint torques [N m], shape (N, m)."""
        torque = values * self.scale
        return torque if self.coupling is None else self.coupling.joint_torque(torque)


def _joints_of(
    stream: Stream, columns: NDArray[np.intp], axes: Sequence[str], coupling: Coupling | None
) -> tuple[NDArray[np.intp], Coupling | None] | None:
    """Which joints these columns are of, and the coupling where they are of motors; None where they are of neither."""
    names = [stream.columns[i].of for i in columns]
    for known, moving in ((list(axes), None), (list(motor_names(axes)), coupling)):
        places = [known.index(name) for name in names if name in known]
        if names and len(places) == len(names) and places == sorted(places):
            return np.array(places, dtype=np.intp), None if moving is None else moving.part(places)
    return None


class Watch:
    """Judges blocks as they arrive; raises SafetyStop (or DeviceLost for a silent stream) with the facts.

    Limits and tracking are judged on measured streams of joints, or of motors that move them by `coupling`, while
    `armed`, joint by joint; silence and overload always. A limit is foreseen: where a stop by `brakes` would not end
    inside it any more, it is begun. Motion is compared with the setpoints that the drives say are in force: a late
    host is behind its plan, which is no blocked arm; how late it may be is for the driver to say. Torques may be
    beyond their limit for `_OVERLOAD_NS` at most. A sample without a valid value (stale, corrupt), and of a joint
    stream one with any invalid, does not keep it alive.
    """

    def __init__(
        self,
        joints: Mapping[str, JointConfig],
        bounds: WatchConfig,
        coupling: Coupling | None = None,
        brakes: Sequence[Brake] = (),
    ) -> None:
        self._joints, self._axes, self._brakes = joints, tuple(joints), tuple(brakes)
        self._coupling = coupling
        self._bounds = bounds
        self._low = np.array([j.position[0] for j in joints.values()]) - bounds.position_margin
        self._high = np.array([j.position[1] for j in joints.values()]) + bounds.position_margin
        self._speed = np.array([j.velocity for j in joints.values()]) * bounds.velocity_margin
        self._torque = np.array([j.torque for j in joints.values()]) * bounds.torque_margin
        self._last_ns: dict[str, int] = {}  # of the last valid sample
        self._invalid: dict[str, Validity] = {}  # of the last sample, where it was not valid
        self._suspects: dict[str, tuple[int, int]] = {}  # too old since when, and its last valid sample [ns]
        self._columns: dict[str, _JointColumns] = {}
        self._played_columns: dict[str, _JointColumns] = {}
        self._played: dict[str, PlayedSetpoints] = {}
        self._torques: dict[str, _TorqueColumns] = {}
        self._overloaded: dict[tuple[str, int], int] = {}  # stream and joint: since when [ns]
        self.armed = False
        self.worst_tracking = 0.0  # [rad], since the session began

    def expect(self, streams: Sequence[Stream], now_ns: int) -> None:
        """From now on these streams must not fall silent."""
        for stream in streams:
            if stream.role is Role.MEASURED:
                self._last_ns[stream.name] = now_ns
                columns = _JointColumns.find(stream, self._axes, self._coupling)
                if columns is not None:
                    self._columns[stream.name] = columns
                torques = _TorqueColumns.find(stream, self._joints, self._coupling)
                if torques is not None:
                    self._torques[stream.name] = torques
            elif stream.role is Role.PLAYED:
                columns = _JointColumns.find(stream, self._axes, self._coupling)
                if columns is not None:
                    self._played_columns[stream.name] = columns

    def forget(self, streams: Sequence[Stream]) -> None:
        """These streams have ended."""
        for stream in streams:
            self._last_ns.pop(stream.name, None)

    @property
    def unfollowed(self) -> tuple[str, ...]:
        """Joints whose drives do not tell which setpoint is in force."""
        told = {int(joint) for columns in self._played_columns.values() for joint in columns.joints}
        return tuple(axis for joint, axis in enumerate(self._axes) if joint not in told)

    def follow(self) -> None:
        """The drives are on: from now on the arm has to be where they say that it should be."""
        self._played = {
            name: PlayedSetpoints(columns.joints) for name, columns in self._played_columns.items()
        }

    def judge(self, block: Block) -> None:
        """Every sample of a block."""
        name = block.stream.name
        flagged = bool(block.validity.any())
        if name in self._last_ns:
            self._note_age(block, flagged)
        if flagged:
            self._judge_overload(block)
        if name in self._played:
            self._note_setpoints(block)
        if self.armed and name in self._columns:
            self._judge_joints(block)
        if self.armed and name in self._torques:
            self._judge_torques(block)

    def silent(self, now_ns: int) -> None:
        """Raise DeviceLost for a stream whose last valid sample is too old, and was so at the last call.

        After a stall of this host the readers get their turn first: a stream that is catching up is not silent,
        for as long as `_CATCH_UP_NS`.
        """
        for name, last_ns in self._last_ns.items():
            age_s = (now_ns - last_ns) * 1e-9
            if age_s <= self._bounds.stream_age_s:
                self._suspects.pop(name, None)
                continue
            since_ns, was_ns = self._suspects.get(name, (now_ns, None))
            self._suspects[name] = since_ns, last_ns
            if last_ns == was_ns or now_ns - since_ns > _CATCH_UP_NS:
                why = self._invalid.get(name)
                what = "has been silent" if why is None else f"has had only {why.name.lower()} samples"
                remedy = "check its cable and power" if why is None else "check its wiring, and restart it"
                raise DeviceLost(
                    name.split(".")[0],
                    f"{name} {what} for {age_s:.3f} s (bound {self._bounds.stream_age_s:g} s); {remedy}",
                )

    @property
    def oldest_ns(self) -> int:
        """Of the streams' last valid samples, the oldest [ns]."""
        return min(self._last_ns.values(), default=0)

    def _note_age(self, block: Block, flagged: bool) -> None:
        name, host_ns = block.stream.name, block.host_ns
        self._invalid.pop(name, None)
        if flagged:
            valid = block.validity == Validity.OK
            alive = valid.all(axis=1) if name in self._columns else valid.any(axis=1)
            host_ns = host_ns[alive]
            if not alive[-1]:
                self._invalid[name] = Validity(int(block.validity[-1].max()))
        if len(host_ns):
            self._last_ns[name] = max(self._last_ns[name], int(host_ns[-1]))

    def _judge_overload(self, block: Block) -> None:
        saturated = np.argwhere(block.validity == Validity.SATURATED)
        if len(saturated):
            row, column = saturated[0]
            raise SafetyStop(
                f"{block.stream.name}: {block.stream.columns[column].name} is saturated at sample "
                f"{block.sequence + row}; lower the load on the sensor or slow the motion"
            )

    def _judge_joints(self, block: Block) -> None:
        columns = self._columns[block.stream.name]
        si, joints = block.si, columns.joints
        position = columns.of_joints(si[:, columns.position])
        outside = (position < self._low[joints]) | (position > self._high[joints])
        if outside.any():
            row, column = np.argwhere(outside)[0]
            axis = joints[column]
            raise SafetyStop(
                f"{block.stream.name}: {self._axes[axis]} is at {position[row, column]:.4f} rad, outside "
                f"[{self._low[axis]:.4f}, {self._high[axis]:.4f}] rad; check the trajectory and the encoder's zero"
            )
        if columns.velocity.size:
            moving = columns.of_joints(si[:, columns.velocity])
            self._foresee(block, position, moving, joints)
            velocity = np.abs(moving)
            fast = velocity > self._speed[joints]
            if fast.any():
                row, column = np.argwhere(fast)[0]
                axis = joints[column]
                raise SafetyStop(
                    f"{block.stream.name}: {self._axes[axis]} moves at {velocity[row, column]:.3f} rad/s, "
                    f"bound {self._speed[axis]:.3f} rad/s; slow the trajectory"
                )
        self._judge_tracking(block, position, joints)

    def _foresee(
        self,
        block: Block,
        position: NDArray[np.float64],
        velocity: NDArray[np.float64],
        joints: NDArray[np.intp],
    ) -> None:
        """A stop that begins at any of these samples must end inside the limits."""
        q = np.full((len(block), len(self._axes)), np.nan)
        v = np.zeros_like(q)
        q[:, joints], v[:, joints] = position, velocity
        end = at_rest_from(self._brakes, q, v)
        outside = (end < self._low) | (end > self._high)
        if outside.any():
            row, axis = np.argwhere(outside)[0]
            raise SafetyStop(
                f"{block.stream.name}: {self._axes[axis]} is at {q[row, axis]:.4f} rad and moves at {v[row, axis]:.3f} "
                f"rad/s: a stop ends at {end[row, axis]:.4f} rad, outside [{self._low[axis]:.4f}, "
                f"{self._high[axis]:.4f}] rad; check the trajectory and the encoder's zero"
            )

    def _judge_torques(self, block: Block) -> None:
        """Torques beyond a joint's limit, and not only for a moment."""
        columns = self._torques[block.stream.name]
        torque = np.abs(columns.of_joints(block.si[:, columns.columns]))
        above = torque > self._torque[columns.joints]
        if not above.any() and not self._overloaded:
            return
        for column, axis in enumerate(columns.joints.tolist()):
            key = block.stream.name, axis
            within = np.flatnonzero(~above[:, column])
            begin = int(within[-1]) + 1 if len(within) else 0
            if begin == len(block):
                self._overloaded.pop(key, None)
                continue
            if len(within):
                self._overloaded.pop(key, None)
            since_ns = self._overloaded.setdefault(key, int(block.host_ns[begin]))
            if int(block.host_ns[-1]) - since_ns >= _OVERLOAD_NS:
                raise SafetyStop(
                    f"{block.stream.name}: {self._axes[axis]} has needed {torque[-1, column]:.3g} N m, above "
                    f"{self._torque[axis]:.3g} N m for {(int(block.host_ns[-1]) - since_ns) * 1e-9:.3f} s; is the arm "
                    "blocked, the payload too heavy, or the motion too hard?"
                )

    def _note_setpoints(self, block: Block) -> None:
        columns = self._played_columns[block.stream.name]
        position, velocity = (block.si[:, c] for c in (columns.position, columns.velocity))
        self._played[block.stream.name].add(
            block.host_ns, columns.of_joints(position), columns.of_joints(velocity)
        )

    def _judge_tracking(self, block: Block, position: NDArray[np.float64], joints: NDArray[np.intp]) -> None:
        error = np.abs(position - self._reference(block.host_ns)[:, joints])
        error[np.isnan(error)] = 0.0  # an invalid value, or a time before the first setpoint, says nothing
        worst = float(error.max(initial=0.0))
        self.worst_tracking = max(self.worst_tracking, worst)
        if worst > self._bounds.tracking_error:
            row, column = np.unravel_index(int(np.argmax(error)), error.shape)
            axis = self._axes[joints[column]]
            raise SafetyStop(
                f"{block.stream.name}: {axis} is {error[row, column]:.4f} rad away from its setpoint, bound "
                f"{self._bounds.tracking_error:g} rad; is the arm blocked, or the payload too heavy?"
            )

    def _reference(self, host_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Setpoints in force at these times [rad], shape (N, n); NaN where none is known."""
        reference = np.full((len(host_ns), len(self._axes)), np.nan)
        for played in self._played.values():
            reference[:, played.joints] = played.at(host_ns)
        return reference


_CATCH_UP_NS = 1_000_000_000
_OVERLOAD_NS = 20_000_000  # shorter peaks are noise, and what a servo does at a jerk
