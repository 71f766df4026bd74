"""What the rig's file says about a Universal Robots controller."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from heft.drivers.codecs import ur_rtde as codec
from heft.drivers.devices.bus.following_drives import FollowingOptions
from heft.drivers.options import Positive, RateHz

__all__ = ["E_SERIES_HZ", "UrOptions"]

#: Fastest rate of an e-Series controller [1/s].
E_SERIES_HZ = 500.0

Port = Annotated[int, Field(gt=0, lt=65536)]


class UrOptions(FollowingOptions):
    """One controller."""

    #: Address of the controller, and its RTDE port.
    host: str
    port: Port = codec.PORT
    #: Where it takes programs (secondary interface), and its dashboard, asked for remote control; null: not asked.
    script_port: Port = codec.SCRIPT_PORT
    dashboard_port: Port | None = codec.DASHBOARD_PORT
    #: Samples per second: at most 500 (e-Series and later), 125 (CB3).
    rate_hz: RateHz = E_SERIES_HZ
    #: Setpoints per second; left out: as many. The program goes on by their velocity in between.
    command_hz: RateHz | None = None
    #: A controller that has been silent for this long is lost [s].
    timeout_s: Positive = 0.25
    #: Read the F/T sensor in the tool flange (e-Series) as it measures, without zeroing; false where there is none.
    wrench: bool = True
    #: Name of that sensor's frame in the robot's model.
    frame: str = "sensor"
    #: The sensor reports what its load does to it: all six signs are turned. Not verified which it does.
    reaction: bool = False
    #: Of `servoj`: how far it looks ahead to smooth the path [s], and its proportional gain.
    lookahead_s: Annotated[float, Field(ge=0.03, le=0.2)] = 0.03
    gain: Annotated[float, Field(ge=100, le=2000)] = 300.0
    #: Of the controlled stop [rad/s2]; left out: each joint's acceleration limit.
    deceleration: Positive | None = None
    #: Setpoints that may be missing, for which the program goes on at the same velocity; then it stays where it is.
    catch_up: Annotated[int, Field(ge=1)] = 10
