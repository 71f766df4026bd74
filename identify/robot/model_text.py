"""The file that a robot was read from, as it travels with the robot and its results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self
from xml.etree.ElementTree import Element

from heft.drivers.errors import ModelFileError
from heft.drivers.model_xml import model_root, read_model_text
from heft.identify.errors import ModelError

__all__ = ["MODEL_SUFFIXES", "Format", "ModelText", "format_of"]

Format = Literal["urdf", "mjcf"]
#: Of model files, which are no robot's YAML.
MODEL_SUFFIXES = (".urdf", ".xml", ".mjcf")


@dataclass(frozen=True)
class ModelText:
    """A URDF or MJCF file: its name, its text to the last character, and the joints that are held still in it."""

    name: str
    text: str
    locked: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: Path, locked: tuple[str, ...] = ()) -> Self:
        """Read a file; line ends stay as they are. `ModelError` where it is none, or beyond bounds."""
        try:
            model = cls(path.name, read_model_text(path), tuple(locked))
        except ModelFileError as exc:
            raise ModelError(str(exc)) from exc
        model.root()
        return model

    def __post_init__(self) -> None:
        if self.name in ("", ".", "..") or self.name != Path(self.name).name or not self.name.isprintable():
            raise ModelError(f"the model's file is called {self.name!r}; a name without a folder is needed")

    def root(self) -> Element:
        """Its root element, all in it within the bounds of `heft.drivers.model_xml`; `ModelError` where it is not."""
        try:
            return model_root(self.text, self.name)
        except ModelFileError as exc:
            raise ModelError(str(exc)) from exc

    @property
    def format(self) -> Format:
        """By the file's name."""
        return format_of(self.name)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {"name": self.name, "text": self.text, "locked": list(self.locked)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Inverse of `to_dict`."""
        return cls(data["name"], data["text"], tuple(data["locked"]))


def format_of(name: Path | str) -> Format:
    """A file is URDF if its name says so, else MJCF."""
    return "urdf" if Path(name).suffix == ".urdf" else "mjcf"
