"""The drives' own servo in the simulated plant: setpoints in, torque out, at a fixed rate.

The torque is held from one tick to the next, and it is this torque that the drive's current reports.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from heft.drivers.errors import DeviceFault
from heft.drivers.plant.mover import PositionLaw
from heft.drivers.playback.setpoint_follower import MotionState, SetpointFollower

__all__ = ["Servo"]


class Servo(SetpointFollower):
    """One servo for all axes of a device; times are seconds since the world's start.

    deceleration   of the controlled stop [rad/s2], shape (n,)
    law            from setpoints to torque
    brakes         which axes have one, shape (n,); None: all
    stays_on       the drive holds after a stop of its watchdog, instead of switching off

    `failure` is set when the drive has stopped by itself: out of setpoints, host silent, or a drive fault.
    """

    def __init__(
        self,
        name: str,
        axes: Sequence[str],
        deceleration: NDArray[np.float64],
        law: PositionLaw,
        *,
        period_s: float,
        watchdog_s: float | None,
        brakes: NDArray[np.bool_] | None = None,
        stays_on: bool = False,
    ) -> None:
        super().__init__(name, axes, deceleration)
        n = len(self.axes)
        self.braked = np.ones(n, dtype=np.bool_) if brakes is None else brakes
        self.brakes = np.ones(n, dtype=np.bool_)  # until it is armed, the arm lies where it was put
        self.stays_on = stays_on
        self.period_s = period_s
        self.watchdog_s = watchdog_s
        self._law = law
        self._heard = 0.0

    def feed_watchdog(self, t: float) -> None:
        """The host is alive."""
        self._heard = t

    def arm(self, position: NDArray[np.float64]) -> None:
        """Take over from the brakes, where the motors are."""
        super().arm(position)
        self.brakes = self.braked
        self._law.reset()

    def trip(self, joint: str) -> None:
        """The drive finds a fault and switches itself off."""
        self.off()
        self.failure = DeviceFault(
            self.name,
            f"drive fault on {joint}: the drives are off; clear it and arm again",
        )

    def update(self, t: float, q: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Torque from this tick to the next [N m], shape (n,); None: the drives are off. q, v: of its motors."""
        if self.state is not MotionState.OFF:
            self._guard(t)
            self.follow(t)
        if self.state is MotionState.OFF:
            self.hold_at(q)
            return None
        return self._law.torque(q, v, self.reference)

    def _guard(self, t: float) -> None:
        """The drive's own watchdog: a silent host means stop, then off, or hold."""
        if self.watchdog_s is None or self.failing or t - self._heard <= self.watchdog_s:
            return
        self.stop(
            t,
            DeviceFault(
                self.name,
                f"watchdog: the host was silent for more than {self.watchdog_s:g} s; the drives stopped",
            ),
            then_off=not self.stays_on,
        )
