"""What is asked of a job: typed keys, those that are missing by default, and no others."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from heft.daq.errors import ConfigError
from heft.options import speed

__all__ = ["JobRequest", "Speed", "Texts"]


def _speed(given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        raise ValueError("give a positive number, or max")
    try:
        return speed(str(given))
    except argparse.ArgumentTypeError as exc:
        raise ValueError(str(exc)) from exc


Speed = Annotated[float, BeforeValidator(_speed)]  #: times real time; infinite for `max`
Texts = Annotated[tuple[str, ...], Field(strict=False)]


class JobRequest(BaseModel):
    """Keys of a request; a value of another type is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @classmethod
    def read(cls, kind: str, facts: Mapping[str, Any]) -> Self:
        """From plain JSON values; ConfigError says which key is wrong, and why."""
        try:
            return cls.model_validate(dict(facts))
        except ValidationError as exc:
            first = exc.errors(include_url=False)[0]
            key = ".".join(str(part) for part in first["loc"])
            why = first["msg"].removeprefix("Value error, ")
            raise ConfigError(f"{kind}: {key[:100]}: {why}; see /api") from exc
