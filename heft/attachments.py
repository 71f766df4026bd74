"""The files that describe a session or a rig, as they travel inside a recording."""

from __future__ import annotations

from heft.daq.config.rig import RigConfig
from heft.daq.config.session import SessionConfig

__all__ = ["attachments_of"]


def attachments_of(config: SessionConfig | RigConfig) -> dict[str, bytes]:
    """File contents by the names they have inside the recording."""
    rig = config.rig if isinstance(config, SessionConfig) else config
    robot = rig.robot
    files = {"rig.yaml": rig.path, "robot.yaml": robot.path}
    if isinstance(config, SessionConfig):
        designs = {name: path for step in config.steps for name, path in step.files.items()}
        files = {"session.yaml": config.path, **files, **designs}
    if robot.model is not None:
        files[robot.travel_model.as_posix()] = robot.model_file
    return {f"configuration/{name}": path.read_bytes() for name, path in files.items()}
