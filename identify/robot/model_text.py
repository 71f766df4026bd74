"""The file that a robot was read from, as it travels with the robot and its results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from heft.identify.errors import ModelError

__all__ = ["Format", "ModelText", "format_of"]

Format = Literal["urdf", "mjcf"]


@dataclass(frozen=True)
class ModelText:
    """A URDF or MJCF file: its name, its text to the last character, and the joints that are held still in it."""

    name: str
    text: str
    locked: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: Path, locked: tuple[str, ...] = ()) -> Self:
        """Read a file; line ends stay as they are."""
        try:
            return cls(path.name, path.read_bytes().decode("utf-8"), tuple(locked))
        except FileNotFoundError:
            raise ModelError(f"{path}: no such file; give the path of a URDF or MJCF file") from None
        except (OSError, UnicodeDecodeError) as exc:
            raise ModelError(f"{path}: cannot be read ({exc}); give a URDF or MJCF file in UTF-8") from exc

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
