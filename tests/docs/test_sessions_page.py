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
ROW = re.compile(r"^\| ((?:`\w+`(?:, )?)+) \|([^|]*)\|", re.M)


def told(text: str) -> dict[str, str]:
    """Keys in the tables of a text, with their defaults."""
    return {
        key: default.strip() for names, default in ROW.findall(text) for key in re.findall(r"`(\w+)`", names)
    }


def section(action: str) -> str:
    """What the page says of one kind of step's own keys; of kinds without a section, all of it."""
    _, found, rest = PAGE.partition(f"### `{action}`\n")
    return re.split(r"^##", rest, maxsplit=1, flags=re.M)[0] if found else PAGE


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
    ("model", "text"),
    [
        *((model, PAGE) for model in (SessionConfig, WatchConfig, Step)),
        *(
            (a, section(key))
            for key, a in actions().items()
            if isinstance(a, type) and issubclass(a, BaseModel)
        ),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_keys_and_defaults(model: type[BaseModel], text: str) -> None:
    page = told(text)
    for key, default in keys(model).items():
        assert key in page, f"{model.__name__}.{key} is not on the page"
        if isinstance(default, int | float) and default is not PydanticUndefined:
            assert page[key] == f"{default:g}", key


def test_every_kind_of_step_is_there() -> None:
    assert [key for key in actions() if key not in told(PAGE)] == []
