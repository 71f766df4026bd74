"""The readers of Heft that a stranger's bytes reach: something valid for each, its mutations, and how it is read.

A reader either takes an input or raises one of its declared errors; anything else is a fault.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import fuzz_mutations as mutations
import numpy as np
import yaml

from heft.daq.bounded_json import bounded_text
from heft.daq.bus import message, requests, setpoint_codec
from heft.daq.config import load_rig, load_robot, load_session
from heft.daq.config.objects import load_object
from heft.daq.config.shipped import CONFIGS
from heft.daq.errors import BusError, ConfigError, RecordingError
from heft.daq.following.messages import Ending, RecordedBytes, SessionInfo
from heft.daq.mqtt.inbox import Inbox
from heft.daq.record.codec import encode
from heft.daq.record.writer import Writer
from heft.daq.recording import Recording
from heft.daq.recording.growing import GrowingRecording
from heft.drivers.block import Block
from heft.drivers.errors import HeftError, ProtocolError
from heft.drivers.setpoints import Setpoints
from heft.drivers.stream import Column, Stream
from heft.identify import Processing, Result, Robot, load
from heft.identify.bodies.parameters import Layout
from heft.identify.errors import ModelError, ParameterError
from heft.identify.result import BaseValues, Parameters, Provenance, RelativeError
from heft.identify.result.export import export_model, objections, write_csv, write_yaml
from heft.identify.robot.base import base_parameters

__all__ = ["READERS", "Reader"]

Random = random.Random


@dataclass(frozen=True)
class Reader:
    """A reader and what it is fed with.

    make     one input by a random number generator, of structure as the reader expects it
    read     read it, in a folder of its own; all that it may write is there
    errors   what it may raise
    valid    an input that it takes
    """

    make: Callable[[Random], bytes]
    read: Callable[[bytes, Path], None]
    errors: tuple[type[Exception], ...]
    valid: Callable[[], bytes]


# Files.


def _stream() -> Stream:
    columns = tuple(Column(f"joint{i}", "position", "rad", 1e-3, 0.5, "count") for i in (1, 2))
    return Stream("arm.motion", columns, 1000.0, "<i4", tick_hz=1e6, tick_bits=32)


def _block(first: int, n: int = 10) -> Block:
    sequence = np.arange(first, first + n)
    values = np.stack([sequence, -sequence], axis=1).astype("<i4")
    validity = np.zeros((n, 2), np.uint8)
    return Block(_stream(), first, 10**9 + sequence * 10**6, values, validity, ticks=sequence * 1000)


@cache
def _recording() -> bytes:
    """A recording of 20 Blocks, an event, a note and an attachment, in several chunks."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "seed.mcap"
        with path.open("xb", buffering=0) as raw:
            writer = Writer(raw, 10**18)
            writer.attach("configuration/robot.yaml", "application/yaml", 0, b"name: arm\n" * 5)
            for i in range(20):
                writer.block(_block(10 * i))
                if i % 5 == 0:
                    facts = {
                        "t_ns": 10**9,
                        "name": "segment_start",
                        "segment": f"part{i}",
                        "use": "validation",
                    }
                    writer.event(10**9, json.dumps(facts))
                    writer.note(f"note{i}", {"value": str(i)})
                    writer.flush()
            writer.finish()
        return path.read_bytes()


def _read_recording(data: bytes, folder: Path) -> None:
    path = folder / "input.mcap"
    path.write_bytes(data)
    growing = GrowingRecording(path)
    growing.advance()
    recording = Recording.open(path)
    str(recording.recovery)
    for name in recording.streams:
        len(recording.columns(name).si)
        list(recording.blocks(name, 10**9, 10**9 + 10**8))
    for name in recording.attachments:
        try:
            recording.attachment(name)
        except RecordingError:
            continue
    recording.digest, recording.duration_s, recording.segments, recording.metadata  # noqa: B018


_LOADERS: dict[str, Callable[[Path], object]] = {
    "robots": load_robot,
    "rigs": load_rig,
    "sessions": load_session,
    "objects": load_object,
}


@cache
def _configurations() -> list[tuple[str, Any]]:
    """Shipped files by folder, as plain values; paths in them are absolute."""
    found = []
    for folder in _LOADERS:
        for file in sorted((CONFIGS / folder).glob("*.yaml")):
            value = yaml.safe_load(file.read_text(encoding="utf-8"))
            for key in ("robot", "model", "rig"):
                if isinstance(value.get(key), str) and (file.parent / value[key]).exists():
                    value[key] = str((file.parent / value[key]).resolve())
            found.append((folder, value))
    return found


def _configuration(rng: Random) -> bytes:
    folder, value = rng.choice(_configurations())
    return folder.encode() + b"\n" + mutations.tree_changed(value, rng, "yaml")


def _read_configuration(data: bytes, folder: Path) -> None:
    """The first line says which kind of file it is."""
    kind, _, text = data.partition(b"\n")
    path = folder / "input.yaml"
    path.write_bytes(text)
    _LOADERS[kind.decode()](path)


@cache
def _result() -> Any:
    """The Panda as its file has it, with its model's text."""
    robot = Robot.load(CONFIGS / "robots" / "panda.yaml")
    assert robot.prior is not None
    base, n = base_parameters(robot), len(robot.joints)
    result = Result(
        robot=robot,
        method="sdp",
        level="full",
        parameters=Parameters(Layout(robot.parameter_names), robot.prior),
        base=BaseValues(base.names, base.matrix @ robot.prior, np.eye(base.rank), base.matrix),
        rank=base.rank,
        condition_number=80.0,
        fit=RelativeError(0.01, np.full(n, 0.01), np.full(n, 0.1), np.full(n, 100)),
        weights=np.ones(n),
        processing=Processing(5.0),
        provenance=Provenance((), {}, {}),
        prior=robot.prior,
    )
    return json.loads(json.dumps(result.to_dict()))


def _read_result(data: bytes, folder: Path) -> None:
    path = folder / "result.json"
    path.write_bytes(data)
    result = load(path)
    result.save(folder / "again.json")
    objections(result)
    write_csv(result, folder / "out.csv")
    write_yaml(result, folder / "out.yaml")
    if len(data) % 20 == 0:
        export_model(result, folder / "out.urdf", "urdf", force=True)


_SEEDS = Path(__file__).parent / "seeds"
_URDF = (_SEEDS / "arm.urdf").read_text(encoding="utf-8")
_MJCF = (_SEEDS / "arm.xml").read_text(encoding="utf-8")


def _read_model(name: str) -> Callable[[bytes, Path], None]:
    def read(data: bytes, folder: Path) -> None:
        path = folder / name
        path.write_bytes(data)
        (Robot.from_urdf if name.endswith(".urdf") else Robot.from_mjcf)(path)

    return read


# Messages; several parts travel as a JSON list of Latin-1 texts.


def _packed(parts: Sequence[bytes]) -> bytes:
    return json.dumps([part.decode("latin-1") for part in parts]).encode()


def _unpacked(data: bytes) -> list[bytes]:
    return [part.encode("latin-1") for part in json.loads(data)]


def _telemetry_parts(is_block: bool) -> list[bytes]:
    header = message.Header("session-1", 7, False, is_block).encode()
    if is_block:
        parts = message.encode_block(
            _stream(), encode(_block(0, 3)), header, b"/heft/block/arm.motion", message.Descriptions()
        )
    else:
        parts = message.encode_json({"state": "moving", "t": [1, 2.5, None]}, header, b"/heft/state")
    return list(parts)


def _telemetry(rng: Random) -> bytes:
    return _packed(mutations.parts_changed(_telemetry_parts(rng.random() < 0.7), rng))


def _read_telemetry(data: bytes, folder: Path) -> None:
    message.decode(_unpacked(data), message.Descriptions())


def _control_parts() -> list[bytes]:
    n = 4
    arrays = [np.linspace(0, 1, n * 2).reshape(n, 2)] * 3
    payload, buffers = setpoint_codec.encode(Setpoints(0, np.arange(n) * 10**6, *arrays, False))
    return [b"ok", json.dumps(payload).encode(), *(bytes(buffer) for buffer in buffers)]


def _control(rng: Random) -> bytes:
    return _packed(mutations.parts_changed(_control_parts(), rng))


def _read_control(data: bytes, folder: Path) -> None:
    """As an answer, then as a request: a name or status, a JSON object, buffers."""
    parts = _unpacked(data)
    requests._decode_answer("setpoints", [b"", *parts])
    request = requests._decode_request(parts)
    setpoint_codec.decode(request.payload, request.buffers)


def _stop(rng: Random) -> bytes:
    return mutations.bytes_changed("operator: wrong part in the gripper\u2028".encode(), rng) * rng.choice(
        (1, 100)
    )


def _read_stop(data: bytes, folder: Path) -> None:
    reason = bounded_text(data.decode(errors="replace"), 500)
    if len(reason) > 500 or not reason.isprintable():
        raise AssertionError(f"{reason!r} is not fit to be shown")


def _following_parts() -> list[bytes]:
    answer, buffers = RecordedBytes(b"abc", 3, Ending("done")).encode()
    info = SessionInfo("s-1", "arm", False, 5).encode()
    return [json.dumps(info).encode(), json.dumps(answer).encode(), *buffers]


def _following(rng: Random) -> bytes:
    return _packed(mutations.parts_changed(_following_parts(), rng))


def _read_following(data: bytes, folder: Path) -> None:
    parts = _unpacked(data)
    for number, part in enumerate(parts[:2]):
        try:
            reply = requests._decode_answer("info", [b"", b"ok", part, *parts[2:]])
            if number:
                RecordedBytes.decode(reply.payload, reply.buffers)
            else:
                info = SessionInfo.decode(reply.payload)
                (folder / info.session).mkdir()
                (folder / info.session / f"{info.name}.mcap").write_bytes(b"")
        except BusError:
            continue


def _event(rng: Random) -> bytes:
    event = {
        "event_id": "pick-1",
        "ts": 1.7e9,
        "event": "picked",
        "object": {"name": "gearbox", "width": 0.08},
    }
    if rng.random() < 0.3:
        event["ts"] = "2023-11-14T22:13:20+00:00"
    return mutations.tree_changed(event, rng, "json")


def _read_event(data: bytes, folder: Path) -> None:
    Inbox(30.0).judge("cell/event", data, retained=False, utc_s=1.7e9)


READERS: dict[str, Reader] = {
    "recording": Reader(
        lambda rng: mutations.recording_changed(_recording(), rng),
        _read_recording,
        (RecordingError,),
        _recording,
    ),
    "configuration": Reader(
        _configuration,
        _read_configuration,
        (ConfigError,),
        lambda: b"sessions\n" + yaml.dump(next(v for f, v in _configurations() if f == "sessions")).encode(),
    ),
    "result": Reader(
        lambda rng: mutations.tree_changed(_result(), rng, "json"),
        _read_result,
        (HeftError,),
        lambda: json.dumps(_result()).encode(),
    ),
    "urdf": Reader(
        lambda rng: mutations.xml_changed(_URDF, rng),
        _read_model("input.urdf"),
        (ModelError, ParameterError),
        _URDF.encode,
    ),
    "mjcf": Reader(
        lambda rng: mutations.xml_changed(_MJCF, rng),
        _read_model("input.xml"),
        (ModelError, ParameterError),
        _MJCF.encode,
    ),
    "telemetry": Reader(_telemetry, _read_telemetry, (BusError,), lambda: _packed(_telemetry_parts(True))),
    "control": Reader(_control, _read_control, (BusError, ProtocolError), lambda: _packed(_control_parts())),
    "stop": Reader(_stop, _read_stop, (), lambda: b"operator"),
    "following": Reader(_following, _read_following, (), lambda: _packed(_following_parts())),
    "mqtt": Reader(_event, _read_event, (), lambda: b'{"event_id": "a", "ts": 1.7e9}'),
}
