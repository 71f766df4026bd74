"""What the rig's file says about CiA 402 drives."""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from heft.drivers.codecs.canopen import PdoMap
from heft.drivers.codecs.cia402 import CURRENT_PDOS, TORQUE_PDOS, Abort
from heft.drivers.devices.bus.can_drives import DriveOptions
from heft.drivers.devices.bus.following_drives import AxisOptions
from heft.drivers.options import Positive

__all__ = ["Cia402Axis", "Cia402Options"]

Node = Annotated[int, Field(ge=1, le=127)]


class Cia402Axis(AxisOptions):
    """One drive. The drive's units are set in the drive; nothing on the bus reports what they mean at the joint."""

    node: Node
    #: Position units (6064) for one turn of the joint; negative where the drive counts the other way.
    counts_per_turn: float
    #: What the drive reads where the joint's position is 0.
    zero: int = 0
    #: Velocity units (606C) for one turn of the joint per second; left out: as many as position units.
    velocity_per_turn: Positive | None = None
    #: Rated current (6075) [A] and rated torque (6076) [N m], of which the drive reports thousandths.
    rated_current: Positive | None = None
    rated_torque: Positive | None = None
    #: Turns of the motor for one of the joint: torque (not current) is reported at the motor.
    gear: Positive = 1.0
    #: Serial number (1018:4) that the drive must have; left out: any.
    serial: int | None = None

    @model_validator(mode="after")
    def _turns(self) -> Self:
        if self.counts_per_turn == 0.0:
            raise ValueError(
                "counts_per_turn: 0 units for a turn; count them from the encoder, the gear and 608F, 6091"
            )
        return self

    @property
    def sign(self) -> float:
        return math.copysign(1.0, self.counts_per_turn)

    @property
    def position_scale(self) -> float:
        """[rad] of one position unit."""
        return 2.0 * math.pi / self.counts_per_turn

    @property
    def velocity_scale(self) -> float:
        """[rad/s] of one velocity unit."""
        return self.sign * 2.0 * math.pi / (self.velocity_per_turn or abs(self.counts_per_turn))


class Cia402Options(DriveOptions):
    """CANopen drives in cyclic synchronous position mode, all on one bus."""

    #: Joint by joint.
    axes: dict[str, Cia402Axis]
    #: Which of the drive's numbers is torque identified from: current (6078), or torque (6077).
    effort: Literal["current", "torque"] = "current"
    #: Node number that this host's heartbeat has; no node of the bus may have it.
    host_node: Node = 127
    #: What a drive does when the heartbeat is missing (6007).
    on_silence: Literal["quick_stop", "disable_voltage"] = "quick_stop"
    #: Bit of the statusword that says that the position is referenced (15 on EPOS4); left out: the drives do not tell.
    referenced_bit: Annotated[int, Field(ge=0, le=15)] | None = None
    #: Compare counts_per_turn with the drive's objects 608F, 6091 and 6092, where it has them.
    verify_scale: bool = True

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        nodes = [axis.node for axis in self.axes.values()]
        twice = sorted({node for node in nodes if nodes.count(node) > 1})
        if twice or self.host_node in nodes:
            raise ValueError(
                f"axes: node {(twice or [self.host_node])[0]} is used twice; every node has its own number"
            )
        wanted = "rated_current" if self.effort == "current" else "rated_torque"
        for name, axis in self.axes.items():
            if getattr(axis, wanted) is None:
                raise ValueError(
                    f"axes.{name}.{wanted}: missing; the drive tells {self.effort} in thousandths of it"
                )
        if not 1e-3 <= self.watchdog_s <= 65.0:
            raise ValueError(
                f"watchdog_s: {self.watchdog_s} s is outside 0.001 to 65 s, what object 1016 can hold"
            )
        return self

    @property
    def transmitted(self) -> tuple[PdoMap, PdoMap]:
        """TPDO1 and TPDO2: only what is used is asked of a drive."""
        return TORQUE_PDOS if self.effort == "torque" else CURRENT_PDOS

    @property
    def abort(self) -> Abort:
        """Value of object 6007."""
        return Abort.QUICK_STOP if self.on_silence == "quick_stop" else Abort.DISABLE_VOLTAGE
