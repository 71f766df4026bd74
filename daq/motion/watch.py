"""The watch over every sample: limits, tracking, silence, overload. It rejects; it never clamps."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from daq.config.robot import JointConfig
from daq.config.session import WatchConfig
from daq.errors import SafetyStop
from drivers.block import Block, Validity
from drivers.errors import DeviceLost
from drivers.setpoints import Setpoints
from drivers.stream import Role, Stream

__all__ = ["Watch"]


class Watch:
    """Judges blocks as they arrive; raises SafetyStop (or DeviceLost for a silent stream) with the facts.

    Limits and tracking are judged on measured joint streams while `moving`; silence and overload always.
    """

    def __init__(self, joints: Mapping[str, JointConfig], bounds: WatchConfig) -> None:
        self._axes = tuple(joints)
        self._bounds = bounds
        self._low = np.array([j.position[0] for j in joints.values()]) - bounds.position_margin
        self._high = np.array([j.position[1] for j in joints.values()]) + bounds.position_margin
        self._speed = np.array([j.velocity for j in joints.values()]) * bounds.velocity_margin
        self._last_ns: dict[str, int] = {}
        self._sent: deque[Setpoints] = deque()
        self._columns: dict[str, tuple[NDArray[np.intp], NDArray[np.intp]]] = {}
        self.moving = False
        self.worst_tracking = 0.0  # [rad], since the session began

    def expect(self, streams: Sequence[Stream], now_ns: int) -> None:
        """From now on these streams must not fall silent."""
        for stream in streams:
            if stream.role is Role.MEASURED:
                self._last_ns[stream.name] = now_ns
                position, velocity = stream.indices("position"), stream.indices("velocity")
                if tuple(stream.columns[i].of for i in position) == self._axes:
                    self._columns[stream.name] = position, velocity

    def sent(self, chunk: Setpoints) -> None:
        """Remember setpoints, to compare the motion with."""
        self._sent.append(chunk)

    def judge(self, block: Block) -> None:
        """Every sample of a block."""
        name = block.stream.name
        if name in self._last_ns:
            self._last_ns[name] = max(self._last_ns[name], int(block.host_ns[-1]))
        saturated = block.validity == Validity.SATURATED
        if saturated.any():
            row, column = np.argwhere(saturated)[0]
            raise SafetyStop(
                f"{name}: {block.stream.columns[column].name} is saturated at sample {block.sequence + row}; "
                "lower the load on the sensor or slow the motion"
            )
        if self.moving and name in self._columns:
            self._judge_joints(block)

    def silent(self, now_ns: int) -> None:
        """Raise DeviceLost for a stream whose last sample is too old."""
        for name, last_ns in self._last_ns.items():
            age_s = (now_ns - last_ns) * 1e-9
            if age_s > self._bounds.stream_age_s:
                raise DeviceLost(
                    name.split(".")[0],
                    f"{name} has been silent for {age_s:.3f} s (bound {self._bounds.stream_age_s:g} s); "
                    "check its cable and power",
                )

    def _judge_joints(self, block: Block) -> None:
        position_columns, velocity_columns = self._columns[block.stream.name]
        si = block.si
        position = si[:, position_columns]
        outside = (position < self._low) | (position > self._high)
        if outside.any():
            row, axis = np.argwhere(outside)[0]
            raise SafetyStop(
                f"{block.stream.name}: {self._axes[axis]} is at {position[row, axis]:.4f} rad, outside "
                f"[{self._low[axis]:.4f}, {self._high[axis]:.4f}] rad; check the trajectory and the encoder's zero"
            )
        if velocity_columns.size:
            velocity = np.abs(si[:, velocity_columns])
            fast = velocity > self._speed
            if fast.any():
                row, axis = np.argwhere(fast)[0]
                raise SafetyStop(
                    f"{block.stream.name}: {self._axes[axis]} moves at {velocity[row, axis]:.3f} rad/s, "
                    f"bound {self._speed[axis]:.3f} rad/s; slow the trajectory"
                )
        self._judge_tracking(block, position)

    def _judge_tracking(self, block: Block, position: NDArray[np.float64]) -> None:
        reference = self._reference(block.host_ns)
        if reference is None:
            return
        error = np.abs(position - reference)
        error[np.isnan(error)] = 0.0  # an invalid value says nothing about tracking
        self.worst_tracking = max(self.worst_tracking, float(error.max(initial=0.0)))
        if self.worst_tracking > self._bounds.tracking_error:
            row, axis = np.unravel_index(int(np.argmax(error)), error.shape)
            raise SafetyStop(
                f"{block.stream.name}: {self._axes[axis]} is {error[row, axis]:.4f} rad away from its setpoint, bound "
                f"{self._bounds.tracking_error:g} rad; is the arm blocked, or the payload too heavy?"
            )

    def _reference(self, host_ns: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """Setpoints at these times [rad], shape (N, n); None before the first one is due."""
        while len(self._sent) > 1 and self._sent[0].host_ns[-1] < host_ns[0] - _MEMORY_NS:
            self._sent.popleft()
        if not self._sent or host_ns[0] < self._sent[0].host_ns[0]:
            return None
        near = [
            c for c in self._sent if c.host_ns[0] <= host_ns[-1] and c.host_ns[-1] >= host_ns[0] - _MEMORY_NS
        ]
        near = near or [self._sent[-1]]
        times = np.concatenate([c.host_ns for c in near]) - host_ns[0]
        positions = np.concatenate([c.position for c in near])
        return np.column_stack([np.interp(host_ns - host_ns[0], times, p) for p in positions.T])


_MEMORY_NS = 1_000_000_000  # a block may be this late and still be compared with its own setpoints
