"""A simulated inertial measurement unit: gyroscope, accelerometer, and the orientation that it computes from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from heft.drivers.driver import Context
from heft.drivers.errors import OptionError
from heft.drivers.options import NonNegative, Positive
from heft.drivers.plant.mounting import UPRIGHT_DEG, turned, turned_quaternion
from heft.drivers.plant.sensor import Sensor
from heft.drivers.sim.device import DeviceOptions, SimDevice
from heft.drivers.stream import Column, Stream

__all__ = ["ImuOptions", "SimImu"]

#: Value of one count of a quaternion: 30 bits behind the point.
_QUATERNION_STEP = 2.0**-30


class ImuOptions(DeviceOptions):
    """Of a size that a good MEMS unit has; angular velocity [rad/s], specific force [m/s2], orientation [rad]."""

    #: Site or body in whose frame it measures; left out: where the robot's file puts it (`imu`).
    frame: str | None = None
    #: Whether it tells its orientation in the world.
    orientation: bool = True
    #: rms of white noise.
    gyro_noise: NonNegative = 0.002
    accelerometer_noise: NonNegative = 0.02
    orientation_noise: NonNegative = 0.0005
    #: Sizes of the bias; that of the orientation is a small rotation in the world.
    gyro_bias: NonNegative = 0.002
    accelerometer_bias: NonNegative = 0.03
    orientation_bias: NonNegative = 0.002
    #: Sizes of the drift of the bias, per second.
    gyro_bias_drift: NonNegative = 0.000002
    accelerometer_bias_drift: NonNegative = 0.00002
    #: Total delay [s]: the value stamped t is the mean over one sample period around t - delay_s.
    delay_s: NonNegative = 0.004
    gyro_range: Positive = 35.0
    accelerometer_range: Positive = 160.0
    #: SI value of one count.
    gyro_resolution: Positive = 0.00005
    accelerometer_resolution: Positive = 0.0005
    #: How it is really mounted: roll, pitch and yaw in the frame [degrees]. Upside down: [180, 0, 0].
    turned_deg: tuple[float, float, float] = UPRIGHT_DEG


class SimImu(SimDevice):
    """Yields `NAME.imu` in the sensor's frame: gyro x y z, accelerometer x y z, and orientation x y z w if it tells it.

    The accelerometer feels acceleration less gravity: at rest it points up. The orientation is that of the sensor in
    the world.
    """

    Options = ImuOptions
    MODEL = "simulated IMU"

    def __init__(self, name: str, options: ImuOptions, context: Context) -> None:
        super().__init__(name, options, context)
        frame = self.world.robot.places.get(name)
        if frame is None:
            raise OptionError(
                f"{name}: nobody says where it sits; add it to `imu` of the robot's file, or give its `frame`"
            )
        if options.delay_s < 0.5 / options.rate_hz:
            raise OptionError(
                f"{name}: delay_s is {options.delay_s} s, less than half a sample period ({0.5 / options.rate_hz} s), "
                "and the sensor averages over a whole one; raise it"
            )
        self._frame, self._imu = frame, options
        self._error = options.orientation_bias * self._rng("orientation").standard_normal(3)
        columns = [
            *(Column(axis, "gyro", "rad/s", options.gyro_resolution, raw_unit="count") for axis in "xyz"),
            *(
                Column(axis, "accelerometer", "m/s2", options.accelerometer_resolution, raw_unit="count")
                for axis in "xyz"
            ),
        ]
        if options.orientation:
            columns += [
                Column(axis, "orientation", "1", _QUATERNION_STEP, raw_unit="count") for axis in "xyzw"
            ]
        stream = Stream(
            name=f"{name}.imu",
            columns=tuple(columns),
            rate_hz=options.rate_hz,
            dtype="<i4",
            tick_hz=options.tick_hz,
            tick_bits=options.tick_bits,
            hold_s=1.0 / options.rate_hz,
            frame=frame,
        )
        self._add_sensor(stream, self._sensor(), options.delay_s)

    def _sensor(self) -> Sensor:
        o = self._imu
        sizes = {
            "noise": (o.gyro_noise, o.accelerometer_noise, 0.5 * o.orientation_noise),
            "bias": (o.gyro_bias, o.accelerometer_bias, 0.0),
            "drift": (o.gyro_bias_drift, o.accelerometer_bias_drift, 0.0),
            "resolution": (o.gyro_resolution, o.accelerometer_resolution, _QUATERNION_STEP),
            "limit": (o.gyro_range, o.accelerometer_range, 1.5),
        }
        counts = (3, 3, 4 if o.orientation else 0)
        return Sensor.draw(
            self._rng("bias"), **{key: np.repeat(value, counts) for key, value in sizes.items()}
        )

    def _measure(self, t: NDArray[np.float64]) -> Sequence[NDArray[np.float64]]:
        o = self._imu
        inertial, orientation = self.world.imu(t - o.delay_s, self._period, self._frame)
        inertial = turned(inertial, o.turned_deg)
        if not o.orientation:
            return [inertial]
        return [np.hstack([inertial, turned_quaternion(orientation, o.turned_deg, self._error)])]
