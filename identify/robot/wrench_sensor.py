"""Six-axis sensors of a robot: where they sit, and what they carry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.robot.regressor import BASE, Contact, Cut

__all__ = ["WrenchSensor", "cuts_of"]


@dataclass(frozen=True, eq=False)
class WrenchSensor:
    """A six-axis sensor at a frame of the robot.

    frame     its name in the model
    link      place of the link whose frame `place` (4, 4) is given in; -1: the base, or a free root
    beyond    places of the links that it carries; all of them where it is a contact
    contact   it touches or carries the robot from outside, else it sits inside and measures what lies beyond it
    reaction  it reports what the robot does to it, instead of what it does to the robot
    delay_s   how old its samples are against joint positions [s], on top of what all sources have in common; None: not
              known, and found in the data where there are others to tell it from
    bias      standard deviations of its force [N] and torque [N m] at no load, or None: anything
    rest      the contact stands still in the world: a foot on the ground
    """

    frame: str
    link: int
    place: Array
    beyond: tuple[int, ...]
    contact: bool = False
    reaction: bool = False
    delay_s: float | None = None
    bias: tuple[float, float] | None = None
    rest: bool = False

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "frame": self.frame,
            "link": self.link,
            "place": self.place.tolist(),
            "beyond": list(self.beyond),
            "contact": self.contact,
            "reaction": self.reaction,
            "delay_s": self.delay_s,
            "bias": None if self.bias is None else list(self.bias),
            "rest": self.rest,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> WrenchSensor:
        """Inverse of `to_dict`."""
        bias = data["bias"]
        return cls(
            **{
                **data,
                "place": frozen(data["place"]),
                "beyond": tuple(data["beyond"]),
                "bias": None if bias is None else (float(bias[0]), float(bias[1])),
            }
        )


def cuts_of(
    sensors: Mapping[str, WrenchSensor], bodies: int, free: bool, given: bool
) -> tuple[tuple[Cut, ...], tuple[Contact, ...]]:
    """The rows of the regression that these sensors measure, and the contacts that act on them.

    A sensor inside the robot is a cut of its own. Contacts act on all of the robot together: one that is fixed to the
    base is the cut itself, so that its rows are in its own frame; several are summed up in the base's frame. A contact
    on a link of an arm with a fixed base acts on its joints alone, because nothing measures what the base does.

    bodies   number of the robot's links; `free`: its base is one of them
    given    the sum of all that acts on the robot is given as such
    """
    contacts = {name: one for name, one in sensors.items() if one.contact}
    on_base = [name for name, one in contacts.items() if one.link < 0]
    everything = tuple(range(bodies))
    cuts, acting = [], tuple(Contact(name, one.link, one.place) for name, one in contacts.items())
    if given:
        cuts.append(Cut(BASE, -1, np.eye(4), everything, biased=False))
        acting = ()
    elif len(contacts) == 1 and on_base:
        cuts.append(Cut(on_base[0], -1, contacts[on_base[0]].place, everything))
        acting = ()
    elif contacts and (free or on_base):
        cuts.append(Cut(BASE, -1, np.eye(4), everything, biased=False, summed=True))
    cuts += [Cut(name, one.link, one.place, one.beyond) for name, one in sensors.items() if not one.contact]
    return tuple(cuts), acting
