"""Simulated joint encoders: absolute, on the link side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from heft.drivers.driver import Context
from heft.drivers.options import NonNegative
from heft.drivers.plant.sensor import PerColumn, Sensor, per_column
from heft.drivers.sim.device import DeviceOptions, SimDevice
from heft.drivers.stream import Column, Stream

__all__ = ["EncoderOptions", "SimEncoders"]


class EncoderOptions(DeviceOptions):
    """Absolute encoders, one per joint."""

    #: Counts per turn are two to this.
    bits: Annotated[int, Field(ge=8, le=30)] = 19
    #: Noise [rad rms], size of the zero's error [rad] and of its drift [rad/s].
    noise: PerColumn = 0.0
    bias: PerColumn = 0.0
    bias_drift: PerColumn = 0.0
    #: Total delay [s]: the value stamped t is the position at t - delay_s.
    delay_s: NonNegative = 0.0


class SimEncoders(SimDevice):
    """Yields `NAME.position`."""

    Options = EncoderOptions
    MODEL = "simulated joint encoders"

    def __init__(self, name: str, options: EncoderOptions, context: Context) -> None:
        super().__init__(name, options, context)
        self._delay_s = options.delay_s
        every = self.world.axes
        self._places = np.arange(len(every)) if context.places is None else np.array(context.places)
        axes = [every[k] for k in self._places]
        n, scale = len(axes), 2.0 * np.pi / (1 << options.bits)
        sensor = Sensor.draw(
            self._rng("bias"),
            noise=per_column(f"{name}.noise", options.noise, n),
            bias=per_column(f"{name}.bias", options.bias, n),
            drift=per_column(f"{name}.bias_drift", options.bias_drift, n),
            resolution=np.full(n, scale),
        )
        stream = Stream(
            name=f"{name}.position",
            columns=tuple(Column(axis, "position", "rad", scale, raw_unit="count") for axis in axes),
            rate_hz=options.rate_hz,
            dtype="<i4",
            tick_hz=options.tick_hz,
            tick_bits=options.tick_bits,
        )
        self._add_sensor(stream, sensor, options.delay_s)

    def _measure(self, t: NDArray[np.float64]) -> Sequence[NDArray[np.float64]]:
        return [self.world.joint_positions(t - self._delay_s)[:, self._places]]
