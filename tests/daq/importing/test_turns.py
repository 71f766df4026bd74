"""Positions that start anew after a whole turn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heft.daq.errors import ConfigError
from heft.daq.importing.import_map import ImportMap
from heft.daq.importing.turns import TurnCounter, starts_anew


def test_which_columns_start_anew() -> None:
    t = np.linspace(0, 4, 400)
    turning, swinging = np.degrees(3 * t) % 360, np.degrees(2 * np.sin(t))
    spiked = swinging.copy()
    spiked[100] += 400.0
    columns = np.column_stack([turning, swinging, spiked, np.full(400, np.nan)])
    columns[7, 0] = np.nan
    assert starts_anew(columns, 360.0).tolist() == [True, False, False, False]


def test_turns_are_counted_from_piece_to_piece() -> None:
    angle = np.column_stack([np.linspace(0, -20, 500), np.linspace(0, 9, 500)])
    seen = angle % (2 * np.pi)
    seen[99:101, 0] = np.nan  # at the end of a piece
    counter = TurnCounter(np.array([2 * np.pi, 0.0]))
    out = np.concatenate([counter(seen[:100]), counter(seen[100:])])
    good = np.isfinite(seen[:, 0])
    np.testing.assert_allclose(out[good, 0], angle[good, 0], atol=1e-12)
    assert np.isnan(out[~good, 0]).all()
    np.testing.assert_array_equal(out[:, 1], seen[:, 1])


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_an_import_goes_on_where_a_turn_ends(
    motion: Any, imported: Callable[..., Any], tmp_path: Path, kind: Any
) -> None:
    path = tmp_path / "log.npz"
    wrapped = (np.degrees(motion.q) % 360).astype(kind)
    np.savez(path, t=motion.t, q=wrapped, dq=np.degrees(motion.dq), tau=motion.tau)
    found = imported(path)
    assert found.map["position"] == {"columns": ["q"], "unit": "deg", "wrapped": True}
    assert found.map["velocity"]["unit"] == "deg/s"
    turns = (found.signal("position") - motion.q) / (2 * np.pi)
    np.testing.assert_allclose(turns, np.round(turns[:1]).repeat(len(turns), axis=0), atol=1e-6)
    as_it_is = imported(path, changes={"position": {"wrapped": False}}).signal("position")
    np.testing.assert_allclose(as_it_is, np.radians(wrapped), atol=1e-6)


def test_only_positions_have_turns() -> None:
    with pytest.raises(ConfigError, match="only positions start anew"):
        ImportMap.of({"rate_hz": 100.0, "velocity": {"columns": ["dq"], "wrapped": True}})
