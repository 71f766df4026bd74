"""Does a message keep to payload.schema.json? The part of JSON Schema that it uses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

SCHEMA = json.loads((files("heft.identify.payload") / "payload.schema.json").read_text(encoding="utf-8"))
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
    "integer": (int,),
    "number": (int, float),
}
#: What is understood here; a schema that says more would not be checked as a whole.
UNDERSTOOD = {
    *("$schema", "$id", "$defs", "$ref", "title", "description", "type", "const", "enum", "minimum"),
    *("exclusiveMinimum", "minItems", "maxItems", "items", "properties", "required", "additionalProperties"),
    *("if", "else"),
}


def faults(value: Any, schema: dict[str, Any] = SCHEMA, where: str = "payload") -> Iterator[str]:
    """Everything that is wrong with it."""
    yield from (f"{where}: the schema says {word}" for word in schema.keys() - UNDERSTOOD)
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    if "type" in schema:
        kinds = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        if not any(_is(value, kind) for kind in kinds):
            yield f"{where}: {value!r} is no {' or '.join(kinds)}"
            return
    if "const" in schema and value != schema["const"]:
        yield f"{where}: {value!r} is not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: {value!r} is none of {schema['enum']}"
    if _is(value, "number") and (
        value < schema.get("minimum", value) or value <= schema.get("exclusiveMinimum", value - 1)
    ):
        yield f"{where}: {value} is too small"
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            yield f"{where}: {len(value)} items"
        for k, item in enumerate(value):
            yield from faults(item, schema.get("items", {}), f"{where}[{k}]")
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        yield from (f"{where}: no {name}" for name in schema.get("required", ()) if name not in value)
        for name, item in value.items():
            if name in properties:
                yield from faults(item, properties[name], f"{where}.{name}")
            elif isinstance(schema.get("additionalProperties"), dict):
                yield from faults(item, schema["additionalProperties"], f"{where}.{name}")
            elif schema.get("additionalProperties", True) is False:
                yield f"{where}: {name} is not in the schema"
    if "if" in schema and any(faults(value, schema["if"], where)):
        yield from faults(value, schema["else"], where)


def _is(value: Any, kind: str) -> bool:
    return isinstance(value, TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))
