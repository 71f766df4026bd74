"""A result.json that somebody has changed: refused in words, and nothing is written but what was asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from heft.identify import Result, load
from heft.identify.errors import HeftError, ModelError, ResultError
from heft.identify.robot.model_text import ModelText

Document = dict[str, Any]


def _set(*keys: Any) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        place: Any = document
        for key in keys[:-2]:
            place = place[key]
        place[keys[-2]] = keys[-1]

    return change


CHANGES = {
    "nan": _set("rank", float("nan")),
    "nan weight": _set("weights", 0, float("nan")),
    "infinite parameter": _set("parameters", "link1.m", float("inf")),
    "beyond all numbers": _set("total_mass", 10**400),
    "text for a number": _set("parameters", "link1.m", "heavy"),
    "null for a number": _set("parameters", "link1.m", None),
    "rank as text": _set("rank", "all"),
    "rank too high": _set("rank", 10_000),
    "weights too short": _set("weights", [1.0]),
    "ragged": _set("base", "matrix", 0, [1.0]),
    "levels": _set("level", "superb"),
    "robot's gear": _set("robot", "gear", [1.0]),
    "robot's limits": _set("robot", "limits", "velocity", []),
    "a frame of a text": _set("robot", "frames", {"flange": ["link3", "there"]}),
    "a frame on nothing": _set("robot", "frames", {"flange": ["link9", [[1, 0, 0, 0]] * 4]}),
    "a box of one corner": _set("robot", "boxes", "link1", [[0, 0, 0]]),
    "warnings as a number": _set("warnings", 3),
    "findings as texts": _set("findings", ["bad"]),
    "facts as a list": _set("facts", []),
    "provenance": _set("provenance", []),
    "delays": _set("delays", {"arm": {"value_s": "long"}}),
    "a model in another folder": _set(
        "robot", "model", {"name": "../../x.xml", "text": "<mujoco/>", "locked": []}
    ),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_changed_result_is_refused_in_words(case: str, result: Result, tmp_path: Path) -> None:
    path = result.save(tmp_path / "result.json")
    document = json.loads(path.read_text())
    CHANGES[case](document)
    path.write_text(json.dumps(document))
    with pytest.raises(HeftError, match=r"result\.json: "):
        load(path)


def test_what_was_not_changed_is_read_as_before(result: Result, tmp_path: Path) -> None:
    again = load(result.save(tmp_path / "result.json"))
    assert again.to_dict() == result.to_dict()


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "1" * 5000, "NaN", "-Infinity", "1e999"])
def test_json_without_bounds(text: str, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(text)
    with pytest.raises(ResultError, match="not a result"):
        load(path)


@pytest.mark.parametrize("name", ["/tmp/x.urdf", "../x.urdf", "a/b.xml", "..", ".", "", "a\nb.xml"])
def test_a_model_has_a_name_without_a_folder(name: str) -> None:
    with pytest.raises(ModelError, match="a name without a folder is needed"):
        ModelText(name, "<mujoco/>")
