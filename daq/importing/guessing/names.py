"""What a column's name says of it: quantity, unit, side of the gear, and whether it was measured at all."""

from __future__ import annotations

import re
from dataclasses import dataclass

from heft.daq.importing.units import plain_unit

__all__ = ["NameHints", "hints_of", "plain_joint", "words_of"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Words by the quantity they mean, the more special first: `ddq` before `dq`, `tau_cur` is a torque.
QUANTITIES: tuple[tuple[str, frozenset[str]], ...] = (
    ("acceleration", _words("ddq qdd qddot ddtheta acc accel acceleration accelerations qacc")),
    (
        "velocity",
        _words(
            "dq qd qdot dtheta vel vels velocity velocities speed speeds omega qvel jvel geschwindigkeit vitesse "
            "velocita velocidad drehzahl"
        ),
    ),
    (
        "torque",
        _words(
            "tau taus torque torques trq trqs effort efforts eff moment moments mom drehmoment couple coppia jtau"
        ),
    ),
    ("current", _words("current currents cur curr amp amps ampere iq strom courant corrente im")),
    ("temperature", _words("temp temps temperature temperatures temperatur")),
    (
        "position",
        _words(
            "q pos poss position positions angle angles theta thetas qpos jpos jnt encoder enc state winkel "
            "posizione posicion"
        ),
    ),
)
TIME = _words(
    "t time times timestamp timestamps stamp stamps sec secs seconds zeit clock utc millis milliseconds micros "
    "microseconds nanos nanoseconds"
)
COMMAND = _words(
    "cmd command commands commanded ref reference des desired target targets goal setpoint setpoints sp action plan "
    "planned soll nominal"
)
MODEL = _words(
    "model modelled modeled ff feedforward sim simulated pred predicted prediction expected dyn dynamics grav gravity "
    "estimated est hat computed calc rnea"
)
DERIVED = _words("err error errors residual residuals diff rel delta ext external dtau std var cov limit")
MEASURED = _words("measured meas msr actual act mes real raw ist")
MOTOR = _words("motor motors mot actuator rotor")
BESIDE_I = MEASURED | MOTOR | _words("i q a ma axis joint")  # of a current: i_meas, i_q_1
HOST = _words("host recv received receive pc log logged wall system arrival")
UNITS = _words(
    "rad deg rpm nm ma ms us ns mm degs rads nsec usec msec sec secs seconds degrees radians mrad dps millis "
    "milliseconds micros microseconds nanos nanoseconds pct percent"
)
_BRACKETS = re.compile(r"[\[(]\s*([^\])\d][^\])]*)\s*[\])]\s*$")
_SLASHED = re.compile(r"[ _.](rad|deg|rev|m|mm)[_/](s|sec)$", re.IGNORECASE)


@dataclass(frozen=True)
class NameHints:
    """words, quantity ("" unknown), unit ("" unknown), role (measured, command, model, derived), motor side or not."""

    words: tuple[str, ...]
    quantity: str
    unit: str
    role: str
    motor: bool
    emphatic: bool  # says that it was measured


def words_of(name: str) -> tuple[str, ...]:
    """Lower-case words and numbers of a name: `actualJointPos_3` is actual, joint, pos, 3."""
    parts = re.sub(r"([a-z])([A-Z][a-z])", r"\1 \2", name)
    return tuple(re.findall(r"[a-zµ°]+|\d+", parts.lower()))


def plain_joint(name: str) -> str:
    """A joint's name without what names differ in: `Arm_1_joint` is arm1."""
    return "".join(word for word in words_of(name) if word not in ("joint", "jnt", "axis", "j"))


def hints_of(name: str, unit: str = "") -> NameHints:
    """What a name says; `unit` where the file states it apart."""
    bare = name
    if match := _BRACKETS.search(name):
        unit, bare = unit or match[1], name[: match.start()]
    elif match := _SLASHED.search(name):
        unit, bare = unit or f"{match[1]}/s", name[: match.start()]
    words = words_of(bare)
    if not unit and words and words[-1] in UNITS and (len(words) > 1 or words[-1] in TIME):
        unit = words[-1]
    quantity = _quantity(words)
    text = [word for word in words if not word.isdigit()]
    role = "measured"
    if set(words) & COMMAND or (len(text) > 1 and text[-1] in ("d", "c", "r")):
        role = "command"
    elif set(words) & MODEL:
        role = "model"
    elif set(words) & DERIVED:
        role = "derived"
    return NameHints(
        words, quantity, plain_unit(unit), role, bool(set(words) & MOTOR), bool(set(words) & MEASURED)
    )


def _quantity(words: tuple[str, ...]) -> str:
    """The quantity of a name's words; `q dot` is a velocity."""
    joined = "".join(words)
    if "ddot" in words:
        return "acceleration"
    if "dot" in words or "qdot" in joined:
        return "velocity"
    if words[:1] == ("i",) and len(words) > 1 and all(word.isdigit() or word in BESIDE_I for word in words):
        return "current"
    for quantity, known in QUANTITIES:
        if set(words) & known:
            return quantity
    if words and words[0] == "v" and all(word.isdigit() for word in words[1:]) and len(words) > 1:
        return "velocity"
    return ""
