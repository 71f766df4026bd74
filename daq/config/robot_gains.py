"""Gains of the drives written into a robot's file, whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from heft.daq.config.reader import with_values
from heft.daq.config.robot import load_robot
from heft.daq.config.shipped import CONFIGS
from heft.daq.errors import ConfigError
from heft.daq.whole_file import whole_file

__all__ = ["write_gains"]


def write_gains(source: Path, target: Path, gains: Mapping[str, tuple[float, float]]) -> Path:
    """Write `source` to `target`, which may be the same file, with each joint's `gain` and `gain_std` (relative).

    Nothing else changes: not a comment, not a space. `ConfigError` where the file cannot be edited so, or what came
    out is not the robot that it was.
    """
    if target.resolve().is_relative_to(CONFIGS.resolve()):
        raise ConfigError(f"{target}: a file that Heft ships; write to one of your own (--out FILE)")
    with source.open(encoding="utf-8", newline="") as file:
        text = file.read()
    values: dict[tuple[str, ...], float] = {}
    for joint, (gain, std) in gains.items():
        values["joints", joint, "gain_std"], values["joints", joint, "gain"] = std, gain
    try:
        with whole_file(target) as draft:
            draft.write_bytes(with_values(text, values).encode())
            _check(source, draft, target)
        return target
    except OSError as exc:
        raise ConfigError(
            f"{target}: cannot be written: {exc.strerror}; choose another place (--out FILE)"
        ) from exc


def _check(source: Path, draft: Path, target: Path) -> None:
    """`ConfigError` where anything but gains differs."""
    try:
        configs = [load_robot(path) for path in (source, draft)]
    except ConfigError as exc:
        raise ConfigError(str(exc).replace(str(draft), str(target))) from exc
    plain = []
    for config in configs:
        document = config.model_dump(exclude={"path"})
        for joint in document["joints"].values():
            joint.pop("gain")
            joint.pop("gain_std")
        plain.append(document)
    if plain[0] != plain[1]:
        raise ConfigError(f"{source}: cannot be edited without changing more than gains; write them by hand")
