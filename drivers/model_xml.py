"""Model files (URDF, MJCF) looked through before a parser gets them that trusts what it reads.

Parsers of robot models are written in C++, recurse into what is nested and unfold what is declared: a file that was
not meant well ends the process instead of an error. What an arm needs is bounded here, in words.
"""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree
from xml.parsers import expat

from heft.drivers.errors import ModelFileError
from heft.drivers.names import word

__all__ = ["model_root", "read_model_text"]

MOST_BYTES = 16 * 1024 * 1024
MOST_ELEMENTS = 20_000
MOST_DEPTH = 200  # a body inside another for each joint, and some more
MOST_BODIES = 1000
MOST_JOINTS = 500  # with those of fingers, tendons and defaults
LARGEST = 1e9  # of a mass [kg], a length [m], an inertia [kg m2]
LARGEST_SIDE = 4096  # of a picture [pixels]

#: Attributes that nature has not below zero, wherever they stand, and those that are numbers all the same.
NOT_NEGATIVE = frozenset(("mass", "density"))
NUMBERS = NOT_NEGATIVE | {
    "diaginertia",
    "ixx",
    "iyy",
    "izz",
    "armature",
    "damping",
    "frictionloss",
    "fullinertia",
    "ixy",
    "ixz",
    "iyz",
    "xyz",
    "rpy",
    "pos",
    "quat",
    "axisangle",
    "euler",
}
NUMBERS |= {"zaxis", "xyaxes", "axis", "gravity"}
#: What unfolds into more than was written in an MJCF file, and is no part of an arm. A URDF has plugins of Gazebo.
UNFOLDING = frozenset(("replicate", "composite", "flexcomp", "hfield", "plugin"))
BODIES = frozenset(("body", "link"))
JOINTS = frozenset(("joint", "freejoint"))


def read_model_text(path: Path) -> str:
    """A model file's text, line ends as they are."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise ModelFileError(f"{path}: longer than {MOST_BYTES} bytes; give the file of one robot")
        return data.decode("utf-8")
    except FileNotFoundError:
        raise ModelFileError(f"{path}: no such file; give the path of a URDF or MJCF file") from None
    except (OSError, UnicodeDecodeError) as exc:
        raise ModelFileError(f"{path}: cannot be read ({exc}); give a URDF or MJCF file in UTF-8") from exc


def model_root(text: str, name: str) -> ElementTree.Element:
    """The root element of a model's text, everything in it within bounds; `ModelFileError` where it is not.

    name   of the file, for messages
    """
    look = _Look(name)
    try:
        look.parser.Parse(text.encode("utf-8"), True)
        return look.tree.close()
    except (expat.ExpatError, UnicodeEncodeError, ElementTree.ParseError) as exc:
        raise ModelFileError(f"{name}: not XML: {exc}; correct the file") from exc


class _Look:
    """Builds the tree element by element, so that nothing is built of a file that goes too far."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.tree = ElementTree.TreeBuilder()
        self.depth = self.elements = self.bodies = self.joints = 0
        self.urdf = False
        parser = self.parser = expat.ParserCreate(
            encoding="utf-8"
        )  # whatever it declares: it has been decoded
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = lambda *_: self._refuse(
            "a document type with entities; a model needs none, take <!DOCTYPE ...> out"
        )
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self.tree.data

    def _refuse(self, what: str) -> None:
        raise ModelFileError(f"{self.name}: line {self.parser.CurrentLineNumber}: {what}")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if self.depth == 0:
            self.urdf = tag == "robot"
        self.depth += 1
        self.elements += 1
        self.bodies += tag in BODIES
        self.joints += tag in JOINTS and attributes.get("type") != "fixed"
        for what, count, most in (
            ("elements inside each other", self.depth, MOST_DEPTH),
            ("elements", self.elements, MOST_ELEMENTS),
            ("bodies", self.bodies, MOST_BODIES),
            ("joints", self.joints, MOST_JOINTS),
        ):
            if count > most:
                self._refuse(f"more than {most} {what}; give the file of one robot")
        if tag == "include":
            self._refuse("<include>: only this file travels with a recording; write included files into it")
        if tag in UNFOLDING and not self.urdf:
            self._refuse(f"<{tag}>: unfolds into more than is written; write out what the arm needs of it")
        for key, value in attributes.items():
            self._attribute(tag, key, value)
        self.tree.start(tag, attributes)

    def _attribute(self, tag: str, key: str, value: str) -> None:
        where = f"<{tag} {key}={_shown(value)}>"
        if key == "name" and tag in BODIES | JOINTS | {"site"}:
            try:
                word(value)
            except ValueError as exc:
                self._refuse(f"{where}: {exc}")
        elif key in NUMBERS or (key == "value" and tag == "mass"):
            for one in value.split():
                try:
                    number = float(one)
                except ValueError:
                    self._refuse(f"{where}: {_shown(one)} is no number; correct it")
                    return
                if not math.isfinite(number) or abs(number) > LARGEST:
                    self._refuse(f"{where}: must be finite and within {LARGEST:g}; correct it")
                if number < 0 and (key in NOT_NEGATIVE or key == "value"):
                    self._refuse(f"{where}: nothing has a negative one; correct it")
        elif (
            tag == "texture"
            and key in ("width", "height")
            and not (value.isdecimal() and len(value) < 9 and int(value) <= LARGEST_SIDE)
        ):
            self._refuse(f"{where}: at most {LARGEST_SIDE} pixels; make it smaller")

    def _end(self, tag: str) -> None:
        self.depth -= 1
        self.tree.end(tag)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")
