"""The judge of setpoints: what arrives on the control channel is judged where the drives are, whoever sent it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heft.daq.errors import CheckError
from heft.daq.trajectory.checks import Check, limit_checks, run_checks
from heft.daq.trajectory.limits import Limits
from heft.daq.trajectory.trajectory import Trajectory
from heft.drivers.setpoints import Setpoints

__all__ = ["SetpointJudge"]

#: Setpoints in a chunk: 1 s of them at the highest rate.
LARGEST_CHUNK = 10_000
#: By which a setpoint's time may be off its grid [ns]: times are whole nanoseconds.
ROUNDING_NS = 1_000
#: A motion begins where the last one ended [rad].
SAME_PLACE = 1e-6


class SetpointJudge:
    """Raises CheckError for a chunk that may not be played; what passes is what the next one must go on from.

    A chunk has numbers for every axis, in time order at the rate of the session, goes on from the setpoint before it
    (or begins at rest where that one ended), stays inside the limits, also in a stop, and passes `checks` (torque).
    """

    def __init__(self, limits: Limits, rate_hz: float, checks: Sequence[Check] = ()) -> None:
        self.limits, self._axes, self._rate_hz = limits, limits.axes, rate_hz
        self._checks = [*limit_checks(limits), *checks]
        self._before: Setpoints | None = None  # the last chunk that passed

    def reset(self) -> None:
        """The motion was interrupted: the next one begins at rest, wherever that is."""
        self._before = None

    def judge(self, chunk: Setpoints) -> None:
        """CheckError, and nothing is remembered, where it may not be played."""
        self._judge_shape(chunk)
        self._judge_time(chunk)
        before = self._before
        goes_on = before is not None and not before.last
        rows = [chunk] if not goes_on or before is None else [before, chunk]
        position, velocity, acceleration = (
            np.concatenate([getattr(c, name)[-1:] if c is before else getattr(c, name) for c in rows])
            for name in ("position", "velocity", "acceleration")
        )
        first = chunk.sequence - (len(position) - len(chunk))
        try:
            motion = Trajectory(self._axes, self._rate_hz, position, velocity, acceleration, max(first, 0))
        except ValueError as exc:  # not a number
            raise CheckError(f"setpoints refused: {exc}") from exc
        if not goes_on:
            self._judge_beginning(motion)
        if chunk.last and not motion.ends_at_rest:
            raise CheckError("setpoints refused: marked as the last, but the motion does not end at rest")
        try:
            run_checks(motion, self._checks)
        except CheckError as exc:
            raise CheckError(f"setpoints refused: {exc}", exc.violations) from exc
        self._before = chunk

    def _judge_shape(self, chunk: Setpoints) -> None:
        if not 0 < len(chunk) <= LARGEST_CHUNK:
            raise CheckError(
                f"setpoints refused: {len(chunk)} in one chunk, must be 1 to {LARGEST_CHUNK}; send them in smaller ones"
            )
        if chunk.position.shape[1] != len(self._axes):
            raise CheckError(
                f"setpoints refused: for {chunk.position.shape[1]} axes, the robot has {len(self._axes)}: "
                f"{', '.join(self._axes)}"
            )

    def _judge_time(self, chunk: Setpoints) -> None:
        times, before = chunk.host_ns, self._before
        if before is not None:
            if times[0] <= before.host_ns[-1]:
                late_s = (before.host_ns[-1] - times[0]) * 1e-9
                raise CheckError(
                    f"setpoints refused: the first is due {late_s:.4f} s before the last that was sent; "
                    "keep their order"
                )
            if not before.last:
                times = np.concatenate([before.host_ns[-1:], times])
        spacing_ns = 1e9 / self._rate_hz
        off = np.abs(np.diff(times) - spacing_ns)
        if len(off) and off.max() > ROUNDING_NS:
            gap_s = float(np.diff(times)[int(off.argmax())]) * 1e-9
            raise CheckError(
                f"setpoints refused: {gap_s:.6f} s from one to the next, must be {spacing_ns * 1e-9:.6f} s "
                f"({self._rate_hz:g} Hz); send them at the rate of the session, without a gap"
            )

    def _judge_beginning(self, motion: Trajectory) -> None:
        if not motion.begins_at_rest:
            raise CheckError("setpoints refused: the motion does not begin at rest; begin without velocity")
        if self._before is not None:
            jump = np.abs(motion.position[0] - self._before.position[-1])
            k = int(jump.argmax())
            if jump[k] > SAME_PLACE:
                raise CheckError(
                    f"setpoints refused: {self._axes[k]} would jump by {jump[k]:.6g} rad, bound {SAME_PLACE:g} rad; "
                    "begin where the last motion ended"
                )
