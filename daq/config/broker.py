"""The MQTT broker of a cell, as a rig's file names it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from heft.daq.config.reader import Model

__all__ = ["BrokerConfig", "TlsConfig"]

Positive = Annotated[float, Field(gt=0)]

_PLAIN_PORT, _TLS_PORT = 1883, 8883


class TlsConfig(Model):
    """Whom to believe, and who this is. Files are in PEM, seen from the rig's file."""

    ca: Path | None = None  # who signed the broker's certificate; None: those whom the system believes
    certificate: Path | None = None  # this client's own, where the broker asks for one
    key: Path | None = None  # the secret key of that certificate, readable by its user alone

    @model_validator(mode="after")
    def _both(self) -> Self:
        if (self.certificate is None) != (self.key is None):
            raise ValueError("a certificate and its key belong together; give both, or none")
        return self


class BrokerConfig(Model):
    """Where the broker is and how it is spoken to.

    A rig's file travels inside recordings, so no secret is in it, only where one is kept.
    """

    host: Annotated[str, Field(pattern=r"^[^@/\\s]+$")]  # no address with a password in it
    port: Annotated[int, Field(ge=1, le=65535)] = _PLAIN_PORT  # 8883 with TLS
    username: str | None = None
    password_file: Path | None = None  # its first line is the password; seen from the rig's file
    password_env: str | None = None  # the environment variable that has the password
    tls: TlsConfig | None = (
        None  # encrypted, the broker's certificate checked; `tls: {}` believes the system's
    )
    keepalive_s: Annotated[int, Field(ge=1)] = 10  # the broker tells the last will after 1.5 of it
    event_age_s: Positive = 30.0  # older events are not obeyed

    @model_validator(mode="before")
    @classmethod
    def _usual_port(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("tls") is not None and "port" not in data:
            return {**data, "port": _TLS_PORT}
        return data

    @model_validator(mode="after")
    def _one_password(self) -> Self:
        if self.password_file is not None and self.password_env is not None:
            raise ValueError("password_file and password_env: give one of them")
        return self
