"""The configuration files that Heft ships, and where a configuration that is named by its path is found."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

from heft.daq.errors import ConfigError

__all__ = ["CONFIGS", "locate"]

#: The shipped `configs/`: objects, rigs, robots, sessions; part of the installed package.
CONFIGS = Path(str(files("heft"))) / "configs"


def locate(path: Path | str, folder: Path | str = "", what: str = "a YAML file") -> Path:
    """The file or folder at `path`, seen from `folder`; where there is none, the shipped one of that name.

    `folder`: the current directory for a path that a user gives; that of the file for a path inside a file.
    Only a path that begins with `configs/` has a shipped counterpart; a user's own file comes before it.
    """
    own = Path(folder, path)
    if os.path.exists(own):
        return own
    places = [] if own.is_absolute() else [own.absolute()]
    parts = Path(os.path.normpath(path)).parts
    if parts[:1] == (CONFIGS.name,):
        places.append(CONFIGS.joinpath(*parts[1:]))
        if places[-1].exists():
            return places[-1]
    looked = f"looked for {' and '.join(str(place) for place in places)}; " if places else ""
    raise ConfigError(f"{own}: no such file; {looked}give the path of {what}")
