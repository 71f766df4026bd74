"""Alignment: the delay that remains between streams, estimated from the data."""

from __future__ import annotations

from heft.identify.estimation.alignment.delay import Delay, DelayWindow
from heft.identify.estimation.alignment.sensor_delays import settled_sensors
from heft.identify.estimation.alignment.torque_delay import Alignment, align, begun

__all__ = ["Alignment", "Delay", "DelayWindow", "align", "begun", "settled_sensors"]
