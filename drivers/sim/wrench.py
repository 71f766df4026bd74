"""A simulated six-axis force/torque sensor: at the wrist, inside a limb, under the base, or at a crane's hook."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from heft.drivers.driver import Context
from heft.drivers.errors import OptionError
from heft.drivers.options import NonNegative, Positive
from heft.drivers.plant.mounting import UPRIGHT_DEG, turned
from heft.drivers.plant.sensor import Sensor, per_wrench
from heft.drivers.sim.device import DeviceOptions, SimDevice
from heft.drivers.stream import Column, Stream

__all__ = ["SimWrench", "WrenchOptions"]


class WrenchOptions(DeviceOptions):
    """Strain-gauge sensor; forces [N], torques [N m]."""

    #: Site or body in whose frame it measures, between that body and its parent; left out: where the robot's file puts
    #: a device of this name (`wrench_sensors`), else the wrist (`sensor`).
    frame: str | None = None
    #: Whether it reports what its load exerts on it.
    reaction: bool = False
    #: How it is really mounted: roll, pitch and yaw in the frame [degrees].
    turned_deg: tuple[float, float, float] = UPRIGHT_DEG
    #: rms of white noise.
    force_noise: NonNegative = 0.05
    torque_noise: NonNegative = 0.002
    #: Sizes of the bias: such sensors are never zero at rest.
    force_bias: NonNegative = 1.0
    torque_bias: NonNegative = 0.05
    #: Sizes of its drift [N/s], [N m/s]: temperature.
    force_bias_drift: NonNegative = 0.0005
    torque_bias_drift: NonNegative = 0.00002
    #: Total delay [s]: the value stamped t is the mean over one sample period around t - delay_s.
    delay_s: NonNegative = 0.003
    force_range: Positive = 200.0
    torque_range: Positive = 12.0
    #: SI value of one count.
    force_resolution: Positive = 0.001
    torque_resolution: Positive = 0.00005


class SimWrench(SimDevice):
    """Yields `NAME.wrench` in the sensor's frame, as the sensor acts on the load: at rest the force points up.

    With `reaction` it is what the load exerts on the sensor.
    """

    Options = WrenchOptions
    MODEL = "simulated F/T sensor"

    def __init__(self, name: str, options: WrenchOptions, context: Context) -> None:
        super().__init__(name, options, context)
        frame = self.world.robot.places.get(name, self.world.robot.sensor)
        if frame is None:
            raise OptionError(
                f"{name}: nobody says where it sits: the robot's file names no `sensor` site; add it to "
                "`wrench_sensors` there, or give its `frame`"
            )
        if options.delay_s < 0.5 / options.rate_hz:
            raise OptionError(
                f"{name}: delay_s is {options.delay_s} s, less than half a sample period ({0.5 / options.rate_hz} s), "
                "and the sensor averages over a whole one; raise it"
            )
        self._frame, self._wrench = frame, options
        gauges = Sensor.draw(
            self._rng("bias"),
            noise=per_wrench(options.force_noise, options.torque_noise),
            bias=per_wrench(options.force_bias, options.torque_bias),
            drift=per_wrench(options.force_bias_drift, options.torque_bias_drift),
            resolution=per_wrench(options.force_resolution, options.torque_resolution),
            limit=per_wrench(options.force_range, options.torque_range),
        )
        force, torque = options.force_resolution, options.torque_resolution
        stream = Stream(
            name=f"{name}.wrench",
            columns=(
                *(Column(axis, "force", "N", force, raw_unit="count") for axis in "xyz"),
                *(Column(axis, "torque", "N m", torque, raw_unit="count") for axis in "xyz"),
            ),
            rate_hz=options.rate_hz,
            dtype="<i4",
            tick_hz=options.tick_hz,
            tick_bits=options.tick_bits,
            hold_s=1.0 / options.rate_hz,
            frame=frame,
        )
        self._add_sensor(stream, gauges, options.delay_s)

    def _measure(self, t: NDArray[np.float64]) -> Sequence[NDArray[np.float64]]:
        o = self._wrench
        wrench = turned(self.world.wrench(t - o.delay_s, self._period, self._frame), o.turned_deg)
        return [-wrench if o.reaction else wrench]
