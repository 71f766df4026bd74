"""The streams that a payload is weighed by, and their stamps on the host's clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from daq.clockfit import ClockFit, ClockFitter, fit_clock
from daq.recording import NO_TIME, Columns
from daq.ticks import Unwrapper
from drivers.block import Block
from drivers.stream import Role, Stream
from identify.arrays import Array
from identify.errors import DataError
from identify.robot import Robot

__all__ = ["JointPositions", "JointTorques", "LiveStamps", "PayloadStreams", "stamps"]

_WRENCH = "a wrist's wrench"
_REFIT_S = 0.5  # a clock's skew changes slowly


@dataclass(frozen=True)
class PayloadStreams:
    """Names of streams; None where there is none.

    position  of the joints, for the wrist: rather from encoders than from drives, which do not see the links
    wrench    of the wrist sensor
    driven    positions for the joints' torques: from the same device, as where the arm was identified
    effort    the joints' torques, or currents
    gripper   whether something is held
    """

    position: str
    wrench: str | None
    driven: str
    effort: str | None
    gripper: str | None

    @classmethod
    def find(
        cls, streams: Mapping[str, Stream], robot: Robot, where: str, *, by_joints: bool = False
    ) -> PayloadStreams:
        """By what the streams measure.

        `by_joints`: the arm is known, so that currents can do without a wrist sensor.
        """
        measured = [stream for stream in streams.values() if stream.role is Role.MEASURED]
        effort = [
            stream for quantity in ("torque", "current") for stream in _with(measured, quantity, robot.joints)
        ]
        drives = {stream.device for stream in effort}
        position = sorted(_with(measured, "position", robot.joints), key=lambda s: s.device in drives)
        wrench = [s for s in measured if len(s.indices("force")) == 3 and len(s.indices("torque")) == 3]
        gripper = _with(measured, "detected", ("object",))
        scale, what = (
            (wrench or effort, "a wrist's wrench or joint torques") if by_joints else (wrench, _WRENCH)
        )
        for found, of in ((position, f"positions of {', '.join(robot.joints)}"), (scale, what)):
            if not found:
                raise DataError(
                    f"{where}: no stream with {of}; it has {', '.join(streams) or 'none'}: a payload is weighed by "
                    "the joints' positions with a wrist sensor, or with currents and the identified arm "
                    "(--result RESULT.json)"
                )
        return cls(
            position[0].name,
            wrench[0].name if wrench else None,
            next((s for s in position if effort and s.device == effort[0].device), position[0]).name,
            effort[0].name if effort else None,
            gripper[0].name if gripper else None,
        )

    def used(self, *, by_joints: bool) -> tuple[str, ...]:
        """Those that are read, once each; `by_joints`: for the joints' torques too."""
        names = [self.gripper]
        names += [self.position, self.wrench] if self.wrench is not None else []
        names += [self.driven, self.effort] if by_joints and self.effort is not None else []
        return tuple(dict.fromkeys(name for name in names if name is not None))


class JointPositions:
    """Positions of the joints out of a stream."""

    def __init__(self, stream: Stream, robot: Robot) -> None:
        names = [column.name for column in stream.columns]
        self._columns = [names.index(f"{joint}.position") for joint in robot.joints]

    def of(self, values: Array) -> Array:
        """[rad] (N, n) from a stream's values in SI units (N, k)."""
        return values[:, self._columns]


class JointTorques:
    """Torques of the joints out of a stream that measures them, or currents."""

    def __init__(self, stream: Stream, robot: Robot) -> None:
        names = [column.name for column in stream.columns]
        self._measured = any(column.quantity == "torque" for column in stream.columns)
        quantity = "torque" if self._measured else "current"
        self._robot, self._columns = robot, [names.index(f"{joint}.{quantity}") for joint in robot.joints]

    def of(self, values: Array) -> Array:
        """[N m] (N, n) from a stream's values in SI units (N, k)."""
        effort = values[:, self._columns]
        return effort if self._measured else self._robot.torque_from_current(effort)


def _with(streams: Iterable[Stream], quantity: str, of: Iterable[str]) -> list[Stream]:
    wanted = set(of)
    return [s for s in streams if {c.of for c in s.columns if c.quantity == quantity} >= wanted]


def stamps(columns: Columns) -> Array:
    """When the device took each sample of a recording, on the host's clock [s], shape (N,)."""
    stream, host_ns = columns.stream, columns.host_ns
    if stream.at_request and columns.request_ns is not None:
        host_ns = columns.request_ns
    if columns.ticks is not None and stream.tick_hz is not None and not np.any(columns.ticks == NO_TIME):
        out = Unwrapper.of(stream).unwrap(columns.sequence, columns.ticks)
        host_ns = fit_clock(out.ticks, host_ns, stream.tick_hz, restarts=out.rows.tolist()).to_host(out.ticks)
    return _seconds(host_ns)


class LiveStamps:
    """The same while samples come in: by the clock's fit so far."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._ticking = stream.tick_hz is not None and stream.tick_bits is not None
        if self._ticking:
            self._unwrapper, self._fitter = Unwrapper.of(stream), ClockFitter(stream.tick_hz or 0.0)
        self._fit: ClockFit | None = None
        self._fitted_ns = 0

    def of(self, block: Block) -> Array:
        """Stamps of a block's samples [s], shape (N,)."""
        host_ns = block.host_ns
        if self._stream.at_request and block.request_ns is not None:
            host_ns = block.request_ns
        if not self._ticking or block.ticks is None:
            return _seconds(host_ns)
        out = self._unwrapper.unwrap(np.arange(block.sequence, block.next_sequence), block.ticks)
        begin = 0
        for row in out.rows.tolist():
            self._fitter.add(out.ticks[begin:row], host_ns[begin:row])
            self._fitter.restart()
            begin, self._fit = row, None
        self._fitter.add(out.ticks[begin:], host_ns[begin:])
        now_ns = int(host_ns[-1])
        if self._fit is None or now_ns - self._fitted_ns > _REFIT_S * 1e9:
            self._fit, self._fitted_ns = self._fitter.fit(), now_ns
        return _seconds(host_ns if self._fit is None else self._fit.to_host(out.ticks))


def _seconds(ns: NDArray[np.int64]) -> Array:
    return np.asarray(ns, dtype=np.float64) * 1e-9
