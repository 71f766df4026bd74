"""What the rig's file says about actuators with MIT's packed protocol."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from heft.drivers.codecs.mit_can import RANGES, TORQUE_GAINS, Dialect, Range
from heft.drivers.devices.bus.can_drives import DriveOptions
from heft.drivers.devices.bus.following_drives import AxisOptions
from heft.drivers.options import Options, Positive

__all__ = ["MitAxis", "MitOptions", "MitRange"]


class MitRange(Options):
    """Limits of a motor that is not in the table, or set otherwise: position [rad], velocity [rad/s], torque [N m]."""

    position: Positive
    velocity: Positive
    torque: Positive


class MitAxis(AxisOptions):
    """One actuator; position, velocity and torque are those of its output shaft."""

    #: Motor type, which fixes the ranges: AK80-9, AK80-64, DM4310, DM8009 ... (see docs/devices/mit_can.md).
    model: str
    #: Number of the motor: identifier of the commands to it.
    motor: Annotated[int, Field(ge=0, le=0x7FF)]
    #: Identifier of its answers. AK: 0 or the motor's number; Damiao: its MST_ID.
    reply: Annotated[int, Field(ge=0, le=0x7FF)] = 0
    #: 1, or -1 where the motor turns the other way than the joint.
    direction: Literal[1, -1] = 1
    #: What the motor reads where the joint's position is 0 [rad].
    zero: float = 0.0
    #: Stiffness [N m/rad] and damping [N m s/rad]: the arm sags by its weight over kp.
    kp: Annotated[float, Field(ge=0, le=500)]
    kd: Annotated[float, Field(ge=0, le=5)]
    #: True torque over what the motor reports (its firmware multiplies the current by a constant of its own); left
    #: out: as published for the model (AK80-9: 0.746), or 1 where nothing is known. Calibrate it with a weighed load.
    torque_gain: Positive | None = None
    #: Ranges other than those of the model.
    range: MitRange | None = None
    #: Serial number (register 15) that a Damiao motor must have; left out: any.
    serial: int | None = None

    @model_validator(mode="after")
    def _known(self) -> Self:
        if self.model not in RANGES and self.range is None:
            raise ValueError(
                f"model: {self.model!r} is not in the table ({', '.join(RANGES)}); give its `range`"
            )
        if self.dialect is Dialect.DAMIAO and self.motor > 15:
            raise ValueError(
                f"motor: {self.motor}; a Damiao motor tells only 4 bits of its number, so 0 to 15"
            )
        return self

    @property
    def true_torque(self) -> float:
        """True torque over what the motor reports."""
        return TORQUE_GAINS.get(self.model, 1.0) if self.torque_gain is None else self.torque_gain

    @property
    def dialect(self) -> Dialect:
        return Dialect.DAMIAO if self.model.upper().startswith("DM") else Dialect.AK

    @property
    def ranges(self) -> Range:
        given = self.range
        return RANGES[self.model] if given is None else Range.of(given.position, given.velocity, given.torque)


class MitOptions(DriveOptions):
    """T-Motor AK and Damiao actuators, all on one bus."""

    #: Joint by joint.
    axes: dict[str, MitAxis]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        motors = [axis.motor for axis in self.axes.values()]
        twice = sorted({motor for motor in motors if motors.count(motor) > 1})
        if twice:
            raise ValueError(f"axes: motor {twice[0]} is used twice; every motor has its own number")
        return self
