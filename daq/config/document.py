"""The text of a YAML file as plain values: mappings with words as keys, lists, texts and numbers that can be meant.

What a file may ask for is bounded here, before anything looks at what it says: its size, its depth, what aliases
unfold to, and the size of its numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from heft.daq.errors import ConfigError

__all__ = ["document_text", "line_of", "read_document", "read_text"]

MOST_BYTES = 256 * 1024  # a session with two tables of 32 joints by 100 harmonics has half of it
MOST_DEPTH = 32  # lists and mappings inside each other; a rig's faults are five deep
MOST_VALUES = 50_000  # with every alias written out
LARGEST = 1e12  # of a number, in SI units or the device's own
SMALLEST = 1e-30  # beside zero: its square and its inverse's square are still numbers
LARGEST_INTEGER = 2**63 - 1  # seeds, serial numbers

Location = tuple[int | str, ...]


class _Loader(yaml.SafeLoader):
    """Takes a key once: of two, the reader would silently believe the last. Depth and sizes have an end."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self.depth += 1
        if self.depth > MOST_DEPTH:
            event: Any = self.peek_event()  # type: ignore[no-untyped-call]
            self._refuse(f"nested more than {MOST_DEPTH} deep; write it flatter", event.start_mark)
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        super().flatten_mapping(node)
        if len(node.value) > MOST_VALUES:
            self._refuse(f"merges more than {MOST_VALUES} keys; write them out", node.start_mark)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: dict[str, int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._refuse("a key is a word, not a list or a mapping; correct it", key.start_mark)
            if key.value in seen and key.tag != "tag:yaml.org,2002:merge":
                self._refuse(
                    f"{key.value!r} is given twice, on line {seen[key.value]} too; keep one", key.start_mark
                )
            seen[key.value] = key.start_mark.line + 1
        return super().construct_mapping(node, deep)

    def construct_integer(self, node: yaml.ScalarNode) -> int:
        value = 0 if len(node.value) > 100 else self.construct_yaml_int(node)
        if len(node.value) > 100 or abs(value) > LARGEST_INTEGER:
            self._refuse(f"an integer beyond {LARGEST_INTEGER}; give a smaller one", node.start_mark)
        return value

    def _refuse(self, what: str, mark: Any) -> None:
        raise yaml.constructor.ConstructorError(None, None, what, mark)


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_integer)
_Loader.add_implicit_resolver(  # 1e9, 1.5e9: in YAML 1.1 a text, to everybody else a number
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+$"),
    list("-+.0123456789"),
)


def read_text(path: Path) -> str:
    """A file's text; `ConfigError` where it is none, or too long to have been written by hand."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        text = data.decode("utf-8")
    except OSError as exc:
        raise ConfigError(f"{path}: cannot be read ({exc.strerror}); give the path of a YAML file") from exc
    except UnicodeDecodeError as exc:
        raise ConfigError(
            f"{path}: not text ({exc.reason} at byte {exc.start}); give the path of a YAML file"
        ) from exc
    if len(data) > MOST_BYTES:
        raise ConfigError(
            f"{path}: longer than {MOST_BYTES} bytes, which no configuration is; give the path of a YAML file"
        )
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def read_document(path: Path) -> dict[str, Any]:
    """The mapping at the top of a YAML file."""
    text = read_text(path)
    try:
        data = yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as exc:
        raise ConfigError(f"{path}: not valid YAML: {exc}") from exc
    except (
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        OverflowError,
    ) as exc:  # of tags: !!int x, 2001-99-99
        raise ConfigError(f"{path}: not valid YAML: a value is not what its tag says ({exc})") from exc
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: expected keys with values at the top, found {type(data).__name__}")
    for count, (where, value) in enumerate(_values(path, data, ())):
        if count > MOST_VALUES:
            raise ConfigError(
                f"{path}: more than {MOST_VALUES} values with its aliases written out; shorten it"
            )
        if (problem := _problem(value)) is not None:
            shown = repr(value) if len(repr(value)) <= 80 else repr(value)[:77] + "..."
            key = ".".join(str(part) for part in where)
            raise ConfigError(
                f"{path}:{line_of(yaml.compose(text, Loader=yaml.SafeLoader), where)}: {key}: {problem}, got {shown}"
            )
    return data


def document_text(data: dict[str, Any]) -> str:
    """The text of a YAML file that `read_document` reads as `data`; short lists on one line."""
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, default_flow_style=None, width=110)


def line_of(node: Any, location: Location) -> int:
    """Line (from 1) of the innermost part of a location that is in a composed text (`yaml.compose`)."""
    line: int = node.start_mark.line + 1
    for part in location:
        if isinstance(node, yaml.MappingNode):
            match = next(((k, v) for k, v in node.value if k.value == str(part)), None)
            if match is None:
                break
            line, node = match[0].start_mark.line + 1, match[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
    return line


def _values(path: Path, value: Any, where: Location) -> Iterator[tuple[Location, Any]]:
    """Every value with its keys, those that hold others first; `ConfigError` where aliases nest too deep."""
    if len(where) > MOST_DEPTH:
        raise ConfigError(
            f"{path}: {where[0]}: nested more than {MOST_DEPTH} deep by aliases; write it flatter"
        )
    yield where, value
    if isinstance(value, dict):
        for key, one in value.items():
            if not isinstance(key, str):
                at = ".".join(str(part) for part in (*where, key))
                raise ConfigError(f"{path}: {at}: a key is a word, got {key!r}; put it in quotes")
            yield from _values(path, one, (*where, key))
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from _values(path, one, (*where, number))


def _problem(value: Any) -> str | None:
    """What is wrong with a value whatever its key means; None where nothing is."""
    match value:
        case float() if not math.isfinite(value):
            return "Input should be a finite number"
        case float() if abs(value) > LARGEST or 0 < abs(value) < SMALLEST:
            return f"a number must be within {LARGEST:g}, and zero or above {SMALLEST:g}"
        case None | bool() | int() | float() | str() | dict() | list():
            return None
    return f"a {type(value).__name__} is no value of a configuration; put it in quotes"
