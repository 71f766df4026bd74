"""A body in the flange's frame as each maker's controller is told it: to text and back.

`of(ten)` makes the format from the ten numbers of a body (m, mc, inertia about the flange), `text` is what is typed or
sent, with all digits, `parse` reads it back, and `ten` are the ten numbers again, as far as the format has them. Where
a maker means hand and object together, `INCLUDES_HAND` is true: told of the object alone, the arm would sink by the
hand's weight.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.pseudo_inertia import from_mass_com_inertia, inertia_about_com
from heft.identify.errors import ParameterError

__all__ = ["FORMATS", "AbbLoad", "FanucLoad", "FrankaLoad", "KukaLoad", "LoadFormat", "UrLoad", "XarmLoad"]

Vector3 = tuple[float, float, float]

_KGF_CM_S2 = 0.0980665  # [kg m2] of one kgf cm s2
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def _text(value: float) -> str:
    """With all its digits: reading it gives the same number."""
    return repr(float(value))


def _list(values: ArrayLike) -> str:
    return "[" + ", ".join(_text(value) for value in np.asarray(values, dtype=np.float64)) + "]"


def _three(values: ArrayLike) -> Vector3:
    x, y, z = np.asarray(values, dtype=np.float64).tolist()
    return (x, y, z)


def _mass_and_com(ten: ArrayLike) -> tuple[float, Array]:
    numbers = np.asarray(ten, dtype=np.float64)
    if numbers.shape != (10,) or not numbers[0] > 0.0:
        raise ParameterError(f"a load of {numbers[:1]} kg: give ten numbers, with a mass above 0")
    return float(numbers[0]), numbers[1:4] / numbers[0]


def _principal(ten: ArrayLike) -> tuple[Array, Array]:
    """Principal moments [kg m2], largest first, and their axes as columns of a rotation."""
    moments, axes = np.linalg.eigh(inertia_about_com(np.asarray(ten, dtype=np.float64)))
    moments, axes = moments[::-1], axes[:, ::-1].copy()
    axes[:, 2] *= np.sign(np.linalg.det(axes))
    return moments, axes


def _numbers(text: str, count: int, maker: str) -> list[float]:
    found = [float(one) for one in _NUMBER.findall(text)]
    if len(found) != count:
        raise ParameterError(f"{maker}: {len(found)} numbers in {text!r}, expected {count}")
    return found


@dataclass(frozen=True)
class UrLoad:
    """URScript's `set_target_payload`: mass [kg], centre of gravity [m], inertia about it [kg m2] (xx, yy, zz, xy, xz,
    yz; None: not told).
    """

    NAME: ClassVar[str] = "UR"
    INCLUDES_HAND: ClassVar[bool] = True
    mass: float
    com: Vector3
    inertia: tuple[float, float, float, float, float, float] | None

    @classmethod
    def of(cls, ten: ArrayLike, *, inertia: bool = True) -> Self:
        """`inertia` False: it was not measured, and is left out."""
        mass, com = _mass_and_com(ten)
        about = inertia_about_com(np.asarray(ten, dtype=np.float64))
        xx, yy, zz, xy, xz, yz = about[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]].tolist()
        return cls(mass, _three(com), (xx, yy, zz, xy, xz, yz) if inertia else None)

    @property
    def text(self) -> str:
        more = "" if self.inertia is None else f", {_list(self.inertia)}"
        return f"set_target_payload({_text(self.mass)}, {_list(self.com)}{more})"

    @classmethod
    def parse(cls, text: str) -> Self:
        mass, com, *more = ast.literal_eval(text.removeprefix("set_target_payload"))
        return cls(mass, _three(com), tuple(more[0]) if more else None)

    @property
    def ten(self) -> Array:
        xx, yy, zz, xy, xz, yz = self.inertia or (0.0,) * 6
        return from_mass_com_inertia(
            self.mass, self.com, np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        )


@dataclass(frozen=True)
class FrankaLoad:
    """Arguments of libfranka's `Robot::setLoad`: mass [kg], translation from flange to centre of mass [m] (3),
    inertia about it [kg m2], column by column (9). The hand is set as end effector, apart from it.
    """

    NAME: ClassVar[str] = "Franka"
    INCLUDES_HAND: ClassVar[bool] = False
    load_mass: float
    F_x_Cload: tuple[float, ...]
    load_inertia: tuple[float, ...]

    @classmethod
    def of(cls, ten: ArrayLike) -> Self:
        mass, com = _mass_and_com(ten)
        about = inertia_about_com(np.asarray(ten, dtype=np.float64))
        return cls(mass, _three(com), tuple(about.ravel(order="F").tolist()))

    @property
    def text(self) -> str:
        return f"setLoad({_text(self.load_mass)}, {_list(self.F_x_Cload)}, {_list(self.load_inertia)})"

    @classmethod
    def parse(cls, text: str) -> Self:
        mass, com, inertia = ast.literal_eval(text.removeprefix("setLoad"))
        return cls(mass, tuple(com), tuple(inertia))

    @property
    def ten(self) -> Array:
        inertia = np.reshape(self.load_inertia, (3, 3), order="F")
        return from_mass_com_inertia(self.load_mass, self.F_x_Cload, inertia)


@dataclass(frozen=True)
class KukaLoad:
    """KUKA load data: M [kg]; centre of mass X, Y, Z [mm]; orientation of the principal axes A, B, C [deg], turned
    about Z, then the new Y, then the new X; principal moments JX, JY, JZ [kg m2]. All that is on the flange.
    """

    NAME: ClassVar[str] = "KUKA"
    INCLUDES_HAND: ClassVar[bool] = True
    M: float
    X: float
    Y: float
    Z: float
    A: float
    B: float
    C: float
    JX: float
    JY: float
    JZ: float

    @classmethod
    def of(cls, ten: ArrayLike) -> Self:
        mass, com = _mass_and_com(ten)
        moments, R = _principal(ten)
        cosine = float(np.hypot(R[0, 0], R[1, 0]))
        B = np.arctan2(-R[2, 0], cosine)
        if cosine > 1e-9:
            A, C = np.arctan2(R[1, 0], R[0, 0]), np.arctan2(R[2, 1], R[2, 2])
        else:  # A and C turn about the same axis: all of it is A
            A, C = np.arctan2(-R[0, 1], R[1, 1]), 0.0
        return cls(mass, *(1000.0 * com).tolist(), *np.degrees([A, B, C]).tolist(), *moments.tolist())

    @property
    def text(self) -> str:
        """As a KRL aggregate of type LOAD."""
        m, x, y, z, a, b, c, jx, jy, jz = map(_text, astuple(self))
        return f"{{M {m},CM {{X {x},Y {y},Z {z},A {a},B {b},C {c}}},J {{X {jx},Y {jy},Z {jz}}}}}"

    @property
    def krl(self) -> str:
        """The same."""
        return self.text

    @classmethod
    def parse(cls, text: str) -> Self:
        return cls(*_numbers(text, 10, "KUKA"))

    @property
    def ten(self) -> Array:
        R = Rotation.from_euler("ZYX", [self.A, self.B, self.C], degrees=True).as_matrix()
        inertia = (R * [self.JX, self.JY, self.JZ]) @ R.T
        return from_mass_com_inertia(self.M, np.array([self.X, self.Y, self.Z]) / 1000.0, inertia)


@dataclass(frozen=True)
class AbbLoad:
    """ABB `loaddata` for `GripLoad`: mass [kg], centre of gravity [mm], axes of moment as a quaternion (w first),
    moments about them [kg m2]. What the tool holds, without the tool; here in the frame of tool0, the flange's.
    """

    NAME: ClassVar[str] = "ABB"
    INCLUDES_HAND: ClassVar[bool] = False
    mass: float
    cog: Vector3
    aom: tuple[float, float, float, float]
    moments: Vector3

    @classmethod
    def of(cls, ten: ArrayLike) -> Self:
        mass, com = _mass_and_com(ten)
        moments, axes = _principal(ten)
        x, y, z, w = Rotation.from_matrix(axes).as_quat().tolist()
        sign = -1.0 if w < 0.0 else 1.0
        return cls(mass, _three(1000.0 * com), (sign * w, sign * x, sign * y, sign * z), _three(moments))

    @property
    def text(self) -> str:
        moments = ", ".join(map(_text, self.moments))
        return f"[{_text(self.mass)}, {_list(self.cog)}, {_list(self.aom)}, {moments}]"

    @classmethod
    def parse(cls, text: str) -> Self:
        mass, cog, aom, *moments = ast.literal_eval(text)
        return cls(mass, _three(cog), tuple(aom), _three(moments))

    @property
    def ten(self) -> Array:
        w, x, y, z = self.aom
        R = Rotation.from_quat([x, y, z, w]).as_matrix()
        return from_mass_com_inertia(self.mass, np.array(self.cog) / 1000.0, (R * list(self.moments)) @ R.T)


@dataclass(frozen=True)
class FanucLoad:
    """Fanuc payload schedule: payload [kg], its centre X, Y, Z [cm], moments about it along the flange's axes
    [kgf cm s2]; products of inertia are not taken. Hand and workpiece together.
    """

    NAME: ClassVar[str] = "Fanuc"
    INCLUDES_HAND: ClassVar[bool] = True
    payload: float
    centre: Vector3
    inertia: Vector3

    @classmethod
    def of(cls, ten: ArrayLike) -> Self:
        mass, com = _mass_and_com(ten)
        about = np.diag(inertia_about_com(np.asarray(ten, dtype=np.float64)))
        return cls(mass, _three(100.0 * com), _three(about / _KGF_CM_S2))

    @property
    def text(self) -> str:
        x, y, z = map(_text, self.centre)
        ix, iy, iz = map(_text, self.inertia)
        return (
            f"PAYLOAD [kg] {_text(self.payload)}; CENTER [cm] X {x} Y {y} Z {z}; "
            f"INERTIA [kgfcms^^2] X {ix} Y {iy} Z {iz}"
        )

    @classmethod
    def parse(cls, text: str) -> Self:
        m, x, y, z, ix, iy, iz = _numbers(text.replace("^^2", ""), 7, "Fanuc")
        return cls(m, (x, y, z), (ix, iy, iz))

    @property
    def ten(self) -> Array:
        inertia = np.diag(np.array(self.inertia) * _KGF_CM_S2)
        return from_mass_com_inertia(self.payload, np.array(self.centre) / 100.0, inertia)


@dataclass(frozen=True)
class XarmLoad:
    """UFACTORY xArm `set_tcp_load`: weight [kg], centre of gravity [mm]; no inertia. Hand and object together."""

    NAME: ClassVar[str] = "xArm"
    INCLUDES_HAND: ClassVar[bool] = True
    weight: float
    center_of_gravity: Vector3

    @classmethod
    def of(cls, ten: ArrayLike) -> Self:
        mass, com = _mass_and_com(ten)
        return cls(mass, _three(1000.0 * com))

    @property
    def text(self) -> str:
        return f"set_tcp_load({_text(self.weight)}, {_list(self.center_of_gravity)})"

    @classmethod
    def parse(cls, text: str) -> Self:
        mass, com = ast.literal_eval(text.removeprefix("set_tcp_load"))
        return cls(mass, _three(com))

    @property
    def ten(self) -> Array:
        com = np.array(self.center_of_gravity) / 1000.0
        return from_mass_com_inertia(self.weight, com, np.zeros((3, 3)))


class LoadFormat(Protocol):
    """What all of them have."""

    NAME: ClassVar[str]
    INCLUDES_HAND: ClassVar[bool]

    @classmethod
    def of(cls, ten: ArrayLike) -> Self: ...

    @property
    def text(self) -> str: ...

    @classmethod
    def parse(cls, text: str) -> Self: ...

    @property
    def ten(self) -> Array: ...


#: By the key that documents use.
FORMATS: Mapping[str, type[LoadFormat]] = {
    "ur": UrLoad,
    "franka": FrankaLoad,
    "kuka": KukaLoad,
    "abb": AbbLoad,
    "fanuc": FanucLoad,
    "xarm": XarmLoad,
}
