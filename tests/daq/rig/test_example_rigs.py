"""The example rigs: each loads, and shows every key of its devices."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from pydantic import BaseModel

from heft.daq.clock import RealClock
from heft.daq.config import load_rig
from heft.daq.rig import Rig
from heft.drivers.registry import KINDS

RIGS = Path(__file__).parents[3] / "configs" / "rigs"
EXAMPLES = sorted(path.name for path in RIGS.glob("example_*.yaml"))


def missing(model: BaseModel, written: dict) -> list[str]:
    """Keys of a model that the file does not show; of repeated parts the first shows them all."""
    found = []
    for key in type(model).model_fields:
        value = getattr(model, key)
        if key not in written:
            found.append(key)
        elif isinstance(value, BaseModel) and isinstance(written[key], dict):
            found += [f"{key}.{name}" for name in missing(value, written[key])]
        elif isinstance(value, dict) and value and isinstance(next(iter(value.values())), BaseModel):
            name, part = next(iter(value.items()))
            found += [f"{key}.{name}.{inner}" for inner in missing(part, written[key][name])]
    return found


@pytest.mark.parametrize("name", EXAMPLES)
def test_shows_every_key(name):
    config = load_rig(RIGS / name)
    written = yaml.safe_load((RIGS / name).read_text())
    shown: set[str] = set()
    for device, options in config.devices.items():
        elsewhere = f"example_{options.kind}.yaml"
        if options.kind not in shown and (elsewhere == name or elsewhere not in EXAMPLES):
            assert not missing(options.options, written["devices"][device]), device
        shown.add(options.kind)
    Rig(config, RealClock())


def test_there_is_one_for_every_kind_on_a_wire():
    kinds = {d.kind for name in EXAMPLES for d in load_rig(RIGS / name).devices.values()}
    assert kinds == {name for name, kind in KINDS.items() if not kind.simulated}
