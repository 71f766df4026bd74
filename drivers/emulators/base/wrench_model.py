"""What every emulated F/T sensor does to the plant's wrench: average, delay, bias, noise, resolution, range."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heft.drivers.emulators.base.emulator import EmulatorOptions
from heft.drivers.options import NonNegative, Positive
from heft.drivers.plant.plant import Plant
from heft.drivers.plant.sensor import Sensor, per_wrench

__all__ = ["WrenchModel", "WrenchOptions"]


class WrenchOptions(EmulatorOptions):
    """Errors of a strain-gauge sensor; forces [N], torques [N m]."""

    #: rms of white noise.
    force_noise: NonNegative = 0.05
    torque_noise: NonNegative = 0.002
    #: Sizes of the bias, and of its drift [N/s], [N m/s].
    force_bias: NonNegative = 1.0
    torque_bias: NonNegative = 0.05
    force_bias_drift: NonNegative = 0.0005
    torque_bias_drift: NonNegative = 0.00002
    #: How old a value is when it is sent, besides the half period that it is averaged over [s].
    delay_s: NonNegative = 0.001
    force_range: Positive = 200.0
    torque_range: Positive = 12.0
    #: The sensor reports what its load does to it, so that the force of a weight points down at rest.
    reaction: bool = False


class WrenchModel:
    """The gauges of one sensor; each sample is the mean over one period.

    resolution   SI value of one count, shape (6,)
    delay_s      total: a sample taken at t shows the wrench at t - delay_s
    """

    def __init__(
        self,
        name: str,
        options: WrenchOptions,
        plant: Plant,
        *,
        period_s: float,
        resolution: NDArray[np.float64],
    ) -> None:
        self.delay_s = options.delay_s + 0.5 * period_s
        self._plant = plant
        self._period_s = period_s
        self._sign = -1.0 if options.reaction else 1.0
        self._noise = plant.rng(name, "noise")
        self.sensor = Sensor.draw(
            plant.rng(name, "bias"),
            noise=per_wrench(options.force_noise, options.torque_noise),
            bias=per_wrench(options.force_bias, options.torque_bias),
            drift=per_wrench(options.force_bias_drift, options.torque_bias_drift),
            resolution=resolution,
            limit=per_wrench(options.force_range, options.torque_range),
        )

    def read(self, t: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Counts of samples taken at t [s], shape (N, 6), and which samples are at full scale, shape (N,)."""
        truth = self._sign * self._plant.wrench(t - self.delay_s, self._period_s)
        counts, clipped = self.sensor.read(truth, t, self._noise)
        return counts.astype(np.int64), np.any(clipped, axis=1)
