"""What the rig's file says about ODrives."""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from drivers.devices.bus_driver import Positive
from drivers.devices.can_drives import AxisOptions, DriveOptions

__all__ = ["OdriveAxis", "OdriveEndpoints", "OdriveOptions"]


class OdriveAxis(AxisOptions):
    """One axis."""

    node: Annotated[int, Field(ge=0, le=63)]
    #: Turns of the motor for one of the joint; negative where it turns the other way.
    gear: float = 1.0
    #: What the encoder reads where the joint's position is 0 [turn of the motor].
    zero: float = 0.0

    @property
    def sign(self) -> float:
        return math.copysign(1.0, self.gear)

    @property
    def scale(self) -> float:
        """[rad] of the joint for one turn of the motor."""
        return 2.0 * math.pi / self.gear

    @model_validator(mode="after")
    def _turns(self) -> Self:
        if self.gear == 0.0:
            raise ValueError("gear: 0 turns of the motor for one of the joint; 1 where there is no gear")
        return self


class OdriveEndpoints(BaseModel):
    """Numbers of parameters in the vendor's `flat_endpoints.json` of the firmware that is on the ODrive (0.6)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    enable_watchdog: Annotated[int, Field(ge=0, lt=65536)]
    watchdog_timeout: Annotated[int, Field(ge=0, lt=65536)]


class OdriveOptions(DriveOptions):
    """ODrives that send encoder estimates and Iq by themselves, all on one bus."""

    #: Joint by joint.
    axes: dict[str, OdriveAxis]
    #: 0.5 on ODrive 3.x; 0.6 on Pro, S1 and Micro. Heartbeat and error bits differ.
    firmware: Literal["0.5", "0.6"] = "0.6"
    #: How often each axis sends encoder estimates, and Iq: as set there (encoder_rate_ms, iq_rate_ms).
    feedback_hz: Positive = 100.0
    #: `passthrough`: setpoints act as they come, with their velocity fed forward; `filter`: smoothed by the ODrive.
    input_mode: Literal["passthrough", "filter"] = "passthrough"
    #: Where the watchdog's parameters are, to read them (0.6); left out: the watchdog must be seen to bite.
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
