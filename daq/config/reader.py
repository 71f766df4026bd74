"""YAML files as typed models, and values set in their text. Every error names file, line, key, value and remedy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from heft.daq.config.document import line_of, read_document, read_text
from heft.daq.errors import ConfigError
from heft.drivers.names import label, word

__all__ = ["Label", "Model", "Name", "explain", "read", "union_tag", "with_values"]

_SECRET = re.compile("password|passwd|secret|token|pin$", re.IGNORECASE)  # keys whose values are told nowhere

M = TypeVar("M", bound=BaseModel)

#: Of a robot, joint, link, frame or device: a word. It stands in names of parameters and streams, which blanks part.
Name = Annotated[str, AfterValidator(word)]
#: Of a rig, a robot, an object or a step: what people read.
Label = Annotated[str, AfterValidator(label)]

MOST_MISTAKES = 20  # that are told of one file
_TAG = "<"  # no key of a file begins like this


class Model(BaseModel):
    """Base of every configuration model: frozen, and unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def read(path: Path, model: type[M]) -> M:
    """Read the file at `path` as `model`, whose field `path` is where it came from."""
    data = read_document(path)
    try:
        return model.model_validate({**data, "path": path})
    except ValidationError as exc:
        raise ConfigError(explain(path, exc)) from exc


def explain(path: Path, exc: ValidationError, prefix: str = "") -> str:
    """One line per mistake: file:line: key: what, the value given, and the remedy.

    `prefix` is the key in the file below which the mistaken model stands.
    """
    node = yaml.compose(read_text(path), Loader=yaml.SafeLoader)
    errors, lines = exc.errors(), []
    for error in errors[:MOST_MISTAKES]:
        if (
            error["type"] == "too_short" and error["input"]
        ):  # its items are mistaken, and have lines of their own
            continue
        location = (*(prefix.split(".") if prefix else ()), *filter(_is_key, error["loc"]))
        key = ".".join(str(part) for part in location)
        where = f"{path}:{line_of(node, location)}"
        if error["type"] == "extra_forbidden" and _SECRET.search(key.rpartition(".")[2]):
            lines.append(
                f"{where}: {key}: this file travels inside recordings, so a secret may not be in it; "
                "remove it, and name the file or the environment variable that has it (docs/mqtt.md)"
            )
        elif error["type"] == "extra_forbidden":
            lines.append(f"{where}: {key}: unknown key; remove it or correct its spelling")
        elif error["type"] == "missing":
            lines.append(f"{where}: {key}: missing; add this key")
        else:
            message = error["msg"].removeprefix("Value error, ")
            lines.append(": ".join(part for part in (where, key, message) if part) + _given(error["input"]))
    if len(errors) > MOST_MISTAKES:
        lines.append(f"{path}: and {len(errors) - MOST_MISTAKES} more mistakes")
    return "\n".join(lines)


def with_values(text: str, values: Mapping[tuple[str, ...], float]) -> str:
    """The same YAML with numbers set, each by its keys from the top; all else, comments included, stays as it is.

    A key that is not there yet becomes the first of its mapping; the mapping itself must be there, and of its own.
    """
    edits: list[tuple[int, int, str]] = []
    owners: dict[tuple[int, str], tuple[str, ...]] = {}
    top = yaml.compose(text, Loader=yaml.SafeLoader)
    for keys, value in values.items():
        node: Any = top
        for part in keys[:-1]:
            pairs = node.value if isinstance(node, yaml.MappingNode) else []
            node = next((v for k, v in pairs if k.value == part), None)
        name = ".".join(keys)
        if not isinstance(node, yaml.MappingNode) or not node.value:
            raise ConfigError(
                f"{name}: there is no {'.'.join(keys[:-1])} with keys of its own to set it in; write it out"
            )
        other = owners.setdefault((node.start_mark.index, keys[-1]), keys)
        if other != keys:
            raise ConfigError(
                f"{name}: written together with {'.'.join(other)} (an alias); write each of them out"
            )
        told = f"{value:.6g}"
        told = (
            told if "e" not in told or "." in told else told.replace("e", ".0e")
        )  # as YAML 1.1 reads a number
        found = next((v for k, v in node.value if k.value == keys[-1]), None)
        if found is not None:
            edits.append((found.start_mark.index, found.end_mark.index, told))
            continue
        mark = node.value[0][0].start_mark
        line_end = "\r\n" if "\r\n" in text else "\n"
        between = ", " if node.flow_style else line_end + " " * mark.column
        edits.append((mark.index, mark.index, f"{keys[-1]}: {told}{between}"))
    for start, end, told in sorted(edits, reverse=True):
        text = text[:start] + told + text[end:]
    return text


def union_tag(kind: str) -> str:
    """Tag of one kind in a union of models. It stands in pydantic's locations, and is left out of messages."""
    return f"{_TAG}{kind}>"


def _is_key(part: int | str) -> bool:
    return isinstance(part, int) or not part.startswith(_TAG)


def _given(value: Any) -> str:
    """The value that was given; a whole table says no more than its line does."""
    if isinstance(value, dict | BaseModel):
        return ""
    if isinstance(value, str) and "@" in value:  # an address with a password in it
        return ""
    shown = repr(value)
    return f", got {shown if len(shown) <= 80 else shown[:77] + '...'}"
