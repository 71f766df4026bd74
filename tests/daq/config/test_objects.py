"""The library of known objects, as files."""

from __future__ import annotations

from pathlib import Path

import pytest

from heft.daq.config.objects import load_object, load_objects
from heft.daq.errors import ConfigError

OBJECTS = Path(__file__).parents[3] / "configs" / "objects"


def test_the_shipped_library_reads() -> None:
    objects = load_objects(OBJECTS)
    assert len(objects) >= 8
    assert all(one.grasp is not None and one.dimensions is not None for one in objects)
    assert [one.path.stem for one in objects] == [one.name for one in objects]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: a\nmass: -1\ninertia: [1, 1, 1, 0, 0, 0]\n", "a.yaml:2: mass"),
        ("name: a\nmass: 1\ninertia: [1, 1, 3, 0, 0, 0]\n", "triangle inequality"),
        ("name: a\nmass: 1\ninertia: [1, 1, 1, 2, 0, 0]\n", "smallest principal moment"),
        ("name: a\nmass: 1\ninertia: [1, 1, 1, 0, 0, 0]\nweight: 3\n", "weight: unknown key"),
        ("name: a\nmass: 1\n", "inertia: missing"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_object(file)


def test_names_are_unique_and_a_library_is_not_empty(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no object files"):
        load_objects(tmp_path)
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text("name: same\nmass: 1\ninertia: [1, 1, 1, 0, 0, 0]\n")
    with pytest.raises(ConfigError, match="same is taken by"):
        load_objects(tmp_path)
