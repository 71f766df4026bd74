"""Every key of a session's file stands on its page, with its default."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from heft.daq.config.session import SessionConfig, WatchConfig
from heft.daq.config.steps import KINDS, Step

PAGE = (Path(__file__).parents[2] / "docs" / "sessions.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|([^|]*)\|", PAGE, re.M))
TOLD = {key: default.strip() for keys, default in ROWS.items() for key in re.findall(r"`(\w+)`", keys)}


def keys(model: type[BaseModel]) -> dict[str, Any]:
    return {name: field.get_default() for name, field in model.model_fields.items() if name != "path"}


def actions() -> dict[str, Any]:
    """The key of each kind of step, with the model behind it."""
    return {
        key: kind.model_fields[key].annotation
        for kind in KINDS
        for key in kind.model_fields
        if key not in Step.model_fields
    }


@pytest.mark.parametrize(
    "model",
    [
        SessionConfig,
        WatchConfig,
        Step,
        *(a for a in actions().values() if isinstance(a, type) and issubclass(a, BaseModel)),
    ],
    ids=lambda model: model.__name__,
)
def test_keys_and_defaults(model: type[BaseModel]) -> None:
    for key, default in keys(model).items():
        assert key in TOLD, f"{model.__name__}.{key} is not on the page"
        if isinstance(default, int | float) and default is not PydanticUndefined:
            assert TOLD[key] == f"{default:g}", key


def test_every_kind_of_step_is_there() -> None:
    assert [key for key in actions() if key not in TOLD] == []
