"""Files that are cut, flipped or written by somebody who means harm: refused in words, and nothing is made of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import yaml

from fault_campaign.isolation import start
from fault_campaign.motion import NAME, Setup, simulated
from fault_campaign.trial import Evidence, Expected, Fault, Trial
from heft.daq.errors import RecordingError
from heft.daq.recording import Recording
from heft.daq.recording.columns import Columns

__all__ = ["FAULTS"]


def _recorded(trial: Trial) -> tuple[Setup, Path]:
    setup = simulated(trial, seconds=1.0)
    setup.start().finish()
    return setup, setup.out / f"{NAME}.mcap"


def _damaged(spoil: Callable[[Trial, bytes], bytes]) -> Callable[[Trial], Evidence]:
    """What is read of a damaged recording is what was recorded, and reading it ends in words."""

    def run(trial: Trial) -> Evidence:
        setup, path = _recorded(trial)
        recording = Recording.open(path)
        whole = {name: recording.columns(name) for name in recording.streams}
        path.write_bytes(spoil(trial, path.read_bytes()))
        child = start(trial.folder, "replay", str(path), "--speed", "max", "--json")
        evidence = setup.evidence(child, Expected((0, 4), moves=False))
        return replace(evidence, recording=None, plant=None, misses=(*evidence.misses, *_wrong(path, whole)))

    return run


def _wrong(path: Path, whole: dict[str, Columns]) -> list[str]:
    """Samples that are not those that were recorded."""
    try:
        recording = Recording.open(path)
    except RecordingError:
        return []
    found = []
    for name, original in whole.items():
        if name not in recording.streams:
            continue
        columns = recording.columns(name)
        at = np.searchsorted(original.sequence, columns.sequence)
        if len(columns) and not np.array_equal(original.values[at], columns.values):
            found.append(f"{name}: samples that were never recorded")
    return found


def _cut(trial: Trial, data: bytes) -> bytes:
    return data[: int(trial.rng.integers(len(data)))]


def _flipped(trial: Trial, data: bytes) -> bytes:
    spoilt = bytearray(data)
    for at in trial.rng.integers(0, len(data), int(trial.choice(1, 3, 30))):
        spoilt[at] ^= 1 << int(trial.rng.integers(8))
    return bytes(spoilt)


def _garbage(trial: Trial, data: bytes) -> bytes:
    return trial.rng.bytes(int(trial.choice(0, 8, 1000, 1_000_000)))


def _configuration(trial: Trial) -> Evidence:
    """One number or key of the robot's, the rig's or the session's file becomes something else."""
    setup = simulated(trial, seconds=0.5)
    setup.write()
    path = trial.folder / f"{trial.choice('robot', 'rig', 'session')}.yaml"
    lines = path.read_text(encoding="utf-8").splitlines()
    bad = trial.choice(
        ".nan",
        ".inf",
        "-1e308",
        "[[[[]]]]",
        "1" * 400,
        "!!python/object:os.system",
        "'\\x00'",
        "{a: {b: 1}}",
        "&a [*a]",
    )
    at = int(trial.rng.integers(len(lines)))
    key, colon, _ = lines[at].partition(":")
    lines[at] = f"{key}: {bad}" if colon else f"- {bad}"
    path.write_text("\n".join(lines), encoding="utf-8")
    out = trial.folder / "out"
    child = start(
        trial.folder,
        "run",
        str(trial.folder / "session.yaml"),
        "--out",
        str(out),
        "--speed",
        "max",
        "--no-identify",
    )
    evidence = setup.evidence(child, Expected((0, 2), moves=False))
    misses = evidence.misses
    if evidence.code == 2 and out.exists():
        misses = (*misses, "refused, but a folder was made")
    return replace(evidence, recording=None, plant=None, misses=misses)


def _hostile_result(trial: Trial) -> Evidence:
    """A result whose names are paths, whose numbers are none, or whose text is cut."""
    setup = simulated(trial, still=True, seconds=0.2)
    text = json.dumps(
        {
            "format": "heft.Result",
            "version": 1,
            "robot": {"model": {"name": "../../escaped.urdf", "text": "<robot/>"}},
        }
    )
    text = str(
        trial.choice(text, text[:50], "[" * 100_000, '{"version": NaN}', '{"version": 1e999}', "null", "")
    )
    path = trial.folder / "result.json"
    path.write_text(text, encoding="utf-8")
    child = start(trial.folder, "export", str(path), "--urdf", str(trial.folder / "model.urdf"))
    evidence = setup.evidence(child, Expected((2, 4), moves=False))
    escaped = [str(p) for p in trial.folder.parent.glob("escaped*")]
    return replace(evidence, recording=None, misses=(*evidence.misses, *(f"wrote {p}" for p in escaped)))


def _hostile_model(trial: Trial) -> Evidence:
    """A model with entities that multiply, bodies without end, masses that cannot be."""
    setup = simulated(trial, seconds=0.2, still=True)
    setup.write()
    body = "<body><inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/>"
    names = [f"a{i}" for i in range(1, 9)]
    entities = "".join(f"<!ENTITY {b} '{f'&{a};' * 10}'>" for a, b in pairwise(names))
    bomb = f"<!DOCTYPE m [<!ENTITY a1 '{'x' * 1000}'>{entities}]>"
    hostile = {
        "entities": bomb + "<mujoco>&a8;</mujoco>",
        "depth": "<mujoco><worldbody>" + body * 100_000 + "</body>" * 100_000 + "</worldbody></mujoco>",
        "mass": "<mujoco><worldbody>" + body.replace("'1'", "'-1'") + "</body></worldbody></mujoco>",
        "infinite": "<mujoco><worldbody>"
        + body.replace("mass='1'", "mass='inf'")
        + "</body></worldbody></mujoco>",
        "no text": "\x00\xff",
        "empty": "",
    }
    (trial.folder / "wam7.xml").write_text(hostile[str(trial.choice(*hostile))], encoding="utf-8")
    child = start(
        trial.folder,
        "run",
        str(trial.folder / "session.yaml"),
        "--out",
        str(trial.folder / "out"),
        "--speed",
        "max",
        "--no-identify",
    )
    evidence = setup.evidence(child, Expected((2, 4), moves=False))
    return replace(evidence, recording=None, plant=None)


def _foreign_yaml(trial: Trial) -> Evidence:
    """A session's file that is something else altogether."""
    setup = simulated(trial, seconds=0.2, still=True)
    setup.write()
    deep = "a: " + "{a: " * 5000 + "1" + "}" * 5000
    texts = (
        deep,
        yaml.safe_dump(list(range(1000))),
        "%PDF-1.7",
        "\x00" * 100,
        "name: x\nrig: /dev/zero\nsteps: []",
        "a: &a [*a]",
    )
    (trial.folder / "session.yaml").write_text(str(trial.choice(*texts)), encoding="utf-8")
    child = start(trial.folder, "run", str(trial.folder / "session.yaml"), "--out", str(trial.folder / "out"))
    return replace(setup.evidence(child, Expected((2,), moves=False)), recording=None, plant=None)


FAULTS = (
    Fault("a recording cut off", "file", _damaged(_cut)),
    Fault("a recording with flipped bits", "file", _damaged(_flipped)),
    Fault("a recording of garbage", "file", _damaged(_garbage)),
    Fault("a number that is none", "file", _configuration),
    Fault("a file that is no session", "file", _foreign_yaml),
    Fault("a hostile result", "file", _hostile_result),
    Fault("a hostile model", "file", _hostile_model),
)
