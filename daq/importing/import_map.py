"""The map of an import: which column is what, in which unit, on which side of the gear. Editable YAML."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from heft.daq.config.document import document_text, read_document
from heft.daq.config.reader import Model
from heft.daq.errors import ConfigError
from heft.daq.importing.units import known_unit, plain_unit

__all__ = ["ImportMap", "RobotChanges", "Segment", "Signal", "TimeBase", "WrenchMap", "merged", "read_map"]

Numbers = float | tuple[float, ...]
Positive = Annotated[float, Field(gt=0)]
Vector3 = tuple[float, float, float]
Columns = Annotated[tuple[str, ...], Field(min_length=1, max_length=256)]


class TimeBase(Model):
    """The column of stamps; `header.stamp` for those of a bag's messages.

    nanoseconds  a column of nanoseconds, where `column` has whole seconds
    host         a second column of stamps, by the host's clock
    """

    column: str
    unit: str = "s"
    nanoseconds: str | None = None
    host: str | None = None
    host_unit: str = "s"

    @field_validator("unit", "host_unit")
    @classmethod
    def _known(cls, value: str) -> str:
        if not known_unit("time", value):
            raise ValueError("must be s, ms, us or ns")
        return plain_unit(value)


class Signal(Model):
    """One quantity of the joints.

    value [SI] = sign * (raw * unit) * scale * gear * constant + offset     of torques
    value [SI] = sign * (raw * unit) * scale / gear + offset                of positions and velocities

    columns    one per joint, or the name of an array that has one per joint; numbers below: one for all, or one each
    constant   torque per current [N m/A], for torques in A; rated torque [N m], for torques in %
    gear       motor speed over joint speed: the column is measured at the motor
    wrapped    positions start anew after a turn (0 to 360 deg): where they jump by most of one, they go on
    """

    columns: Columns
    unit: str | tuple[str, ...] = ""
    gear: Numbers = 1.0
    sign: Numbers = 1.0
    offset: Numbers = 0.0
    constant: Numbers | None = None
    scale: Numbers = 1.0
    wrapped: bool = False

    @field_validator("columns", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @field_validator("gear", "scale", "constant", "sign")
    @classmethod
    def _not_zero(cls, value: Numbers | None) -> Numbers | None:
        if value is not None and any(one == 0 for one in (value if isinstance(value, tuple) else (value,))):
            raise ValueError("must not be zero")
        return value


class WrenchMap(Model):
    """Force and torque of the wrist's sensor: six columns, force before torque.

    frame      link or frame that it is measured in
    reaction   the sensor reports what the load does to it, not what it does to the load
    rotation   (3, 3) from the sensor's axes to those of the frame
    """

    columns: Columns
    unit: str | tuple[str, str] = ("N", "N m")
    frame: str | None = None
    reaction: bool = False
    rotation: tuple[Vector3, Vector3, Vector3] | None = None

    @field_validator("columns", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @field_validator("unit")
    @classmethod
    def _two(cls, value: str | tuple[str, str]) -> tuple[str, str]:
        parts = tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else value
        parts = ("N", "N m") if parts == ("",) else parts
        if len(parts) != 2 or plain_unit(parts[0]) not in ("N", "kN") or not known_unit("torque", parts[1]):
            raise ValueError("must be two units, of force and of torque, as N, N m")
        return plain_unit(parts[0]), plain_unit(parts[1])


class ImuMap(Model):
    """Angular velocity [rad/s] and linear acceleration [m/s2] of an inertial sensor, three columns each."""

    angular_velocity: Columns | None = None
    linear_acceleration: Columns | None = None
    unit: tuple[str, str] = ("rad/s", "m/s2")
    frame: str | None = None


class RobotChanges(Model):
    """What is said of the robot, not of the columns."""

    gravity: Vector3 | None = None


class Segment(Model):
    """What a file, or a run in it, is for."""

    file: str = ""
    run: str = ""
    use: Literal["fit", "validate", "payload", "none"] = "fit"


class ImportMap(Model):
    """All of it; see docs/your-data.md. `rate_hz` stands before `time`."""

    rate_hz: Positive | None = None
    time: TimeBase | None = None
    joints: tuple[str, ...] | None = None
    position: Signal | None = None
    velocity: Signal | None = None
    torque: Signal | None = None
    temperature: Signal | None = None
    wrench: WrenchMap | None = None
    imu: ImuMap | None = None
    ignore: tuple[str, ...] = ()
    robot: RobotChanges = RobotChanges()
    segments: tuple[Segment, ...] = ()

    @field_validator("joints")
    @classmethod
    def _once_each(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if value is not None and len(set(value)) != len(value):
            raise ValueError("a joint is named twice; name each once")
        return value

    @model_validator(mode="after")
    def _known_units(self) -> Self:
        for quantity in ("position", "velocity", "torque", "temperature"):
            signal: Signal | None = getattr(self, quantity)
            for unit in (
                () if signal is None else (signal.unit if isinstance(signal.unit, tuple) else (signal.unit,))
            ):
                if unit and not known_unit(quantity, unit):
                    raise ValueError(f"{quantity}.unit: {unit!r} is not known (docs/your-data.md lists them)")
            if signal is not None and signal.wrapped and quantity != "position":
                raise ValueError(f"{quantity}.wrapped: only positions start anew after a turn")
        return self

    @classmethod
    def of(cls, data: Mapping[str, Any], where: str = "map") -> Self:
        """From plain values; `ConfigError` names the mistakes."""
        try:
            return cls.model_validate(dict(data))
        except ValidationError as exc:
            lines = [
                f"{where}: {'.'.join(map(str, error['loc'])) or 'map'}: {error['msg'].removeprefix('Value error, ')}"
                for error in exc.errors()[:10]
            ]
            raise ConfigError("\n".join(lines)) from exc

    def to_dict(self) -> dict[str, Any]:
        """As plain values, what is as by default left out; the inverse of `of`."""
        return self.model_dump(mode="json", exclude_defaults=True)

    def to_yaml(self) -> str:
        """As the text of a file that `read_map` takes."""
        return document_text(self.to_dict())


def read_map(path: Path) -> dict[str, Any]:
    """A map, or a part of one, from a YAML file, checked; `ConfigError` where it says what no map can."""
    data = read_document(path)
    ImportMap.of(_whole(data), str(path))
    return data


def _whole(data: Mapping[str, Any]) -> dict[str, Any]:
    """A part of a map made whole, to be checked: signals without columns get some."""
    return {
        key: {"columns": ["?"], **value}
        if key in ("position", "velocity", "torque", "temperature", "wrench") and isinstance(value, Mapping)
        else {"column": "?", **value}
        if key == "time" and isinstance(value, Mapping)
        else value
        for key, value in data.items()
    }


def merged(base: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with a partial map laid over it: mappings key by key, all else replaced; null takes a key away."""
    result = dict(base)
    for key, value in change.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(result.get(key), Mapping):
            result[key] = merged(result[key], value)
        else:
            result[key] = value
    return result
