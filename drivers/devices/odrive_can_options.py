"""What the rig's file says about ODrives."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from heft.drivers.devices.bus.can_drives import DriveOptions
from heft.drivers.devices.bus.following_drives import TurnAxisOptions
from heft.drivers.options import Options, RateHz

__all__ = ["OdriveAxis", "OdriveEndpoints", "OdriveOptions"]


class OdriveAxis(TurnAxisOptions):
    """One axis."""

    node: Annotated[int, Field(ge=0, le=63)]
    #: Counts of the encoder for a turn (encoder.config.cpr): firmware 0.5 tells position 0 until its loop has been
    #: closed once, and is asked for its counts instead. Left out: then it cannot be armed before that.
    cpr: Annotated[int, Field(gt=0)] | None = None


class OdriveEndpoints(Options):
    """Numbers of parameters in the vendor's `flat_endpoints.json` of the firmware that is on the ODrive (0.6)."""

    enable_watchdog: Annotated[int, Field(ge=0, lt=65536)]
    watchdog_timeout: Annotated[int, Field(ge=0, lt=65536)]


class OdriveOptions(DriveOptions):
    """ODrives that send encoder estimates and Iq by themselves, all on one bus."""

    #: Joint by joint.
    axes: dict[str, OdriveAxis]
    #: 0.5 on ODrive 3.x; 0.6 on Pro, S1 and Micro. Heartbeat and error bits differ.
    firmware: Literal["0.5", "0.6"] = "0.6"
    #: How often each axis sends encoder estimates, and Iq: as set there. Firmware 0.6: encoder_msg_rate_ms and
    #: iq_msg_rate_ms; 0.5: encoder_rate_ms and, from 0.5.6 on, iq_rate_ms.
    feedback_hz: RateHz = 100.0
    #: `passthrough`: setpoints act as they come, with their velocity fed forward; `filter`: smoothed by the ODrive.
    input_mode: Literal["passthrough", "filter"] = "passthrough"
    #: Where the watchdog's parameters are, to read them (0.6); left out: the driver waits for the watchdog to expire.
    endpoints: OdriveEndpoints | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        nodes = [axis.node for axis in self.axes.values()]
        twice = sorted({node for node in nodes if nodes.count(node) > 1})
        if twice:
            raise ValueError(f"axes: node {twice[0]} is used twice; every node has its own number")
        if self.endpoints is not None and self.firmware == "0.5":
            raise ValueError(
                "endpoints: firmware 0.5 cannot be asked for parameters over CAN; leave them out"
            )
        return self
