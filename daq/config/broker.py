"""The MQTT broker of a cell, as a rig's file names it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from heft.daq.config.reader import Model

__all__ = ["BrokerConfig"]

Positive = Annotated[float, Field(gt=0)]


class BrokerConfig(Model):
    """Where the broker is and how it is spoken to. A password is never in the rig's file, only where it is kept."""

    host: str
    port: Annotated[int, Field(ge=1, le=65535)] = 1883
    username: str | None = None
    password_file: Path | None = None  # its first line is the password; seen from the rig's file
    keepalive_s: Annotated[int, Field(ge=1)] = 10  # the broker tells the last will after 1.5 of it
    event_age_s: Positive = 30.0  # older events are not obeyed
