"""JointState and WrenchStamped: the same bytes as the stock encoder makes, and what goes where."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from mcap_ros2.writer import Writer as Ros2Writer

from heft.daq.record.standard import Standard, standard
from heft.drivers.block import Block
from heft.drivers.stream import Column, Stream


def stock(messages: Standard, contents: list[dict[str, Any]]) -> list[bytes]:
    """The same messages as `mcap-ros2-support` encodes them."""
    buffer = BytesIO()
    writer = Ros2Writer(buffer)
    schema = writer.register_msgdef(messages.schema, messages.text)
    for i, content in enumerate(contents):
        writer.write_message("/topic", schema, content, log_time=i)
    writer.finish()
    buffer.seek(0)
    return [message.data for _, _, message in make_reader(buffer).iter_messages()]


def stamp(t_ns: int, frame: str = "") -> dict[str, Any]:
    return {"stamp": {"sec": t_ns // 10**9, "nanosec": t_ns % 10**9}, "frame_id": frame}


def pack(stream: Stream, block: Block) -> list[bytes]:
    return [row.tobytes() for row in standard(stream).pack(block.host_ns, block.si)]


def decoded(stream: Stream, data: bytes) -> Any:
    """By the stock decoder."""
    messages = standard(stream)
    schema = type("Schema", (), {"id": 1, "name": messages.schema, "encoding": "ros2msg"})()
    schema.data = messages.text.encode()
    decoder = DecoderFactory().decoder_for("cdr", schema)
    assert decoder is not None
    return decoder(data)


def test_motion_equals_the_stock_encoding(motion: Stream, make_block: Callable[..., Block]) -> None:
    block = make_block(motion, 123, bad=True)
    contents = [
        {
            "header": stamp(int(t)),
            "name": [f"joint{i}" for i in range(1, 8)],
            "position": row[:7].tolist(),
            "velocity": row[7:].tolist(),
            "effort": [],
        }
        for t, row in zip(block.host_ns, block.si, strict=True)
    ]
    assert np.isnan(block.si).any()
    assert pack(motion, block) == stock(standard(motion), contents)


def test_wrench_equals_the_stock_encoding(wrench: Stream, make_block: Callable[..., Block]) -> None:
    block = make_block(wrench, 77, bad=True)
    contents = [
        {
            "header": stamp(int(t), "wrist_frame"),
            "wrench": {
                "force": dict(zip("xyz", row[:3], strict=True)),
                "torque": dict(zip("xyz", row[3:], strict=True)),
            },
        }
        for t, row in zip(block.host_ns, block.si, strict=True)
    ]
    assert pack(wrench, block) == stock(standard(wrench), contents)


@given(
    names=st.lists(
        st.text(min_size=1, max_size=9).filter(str.isidentifier), min_size=1, max_size=5, unique=True
    ),
    arrays=st.sets(st.sampled_from(["rad", "rad/s", "N m"]), min_size=1),
    frame=st.text("abc/_", max_size=6),
    t_ns=st.integers(0, 2**31 * 10**9 - 1),
)
def test_every_padding_equals_the_stock_encoding(
    names: list[str], arrays: set[str], frame: str, t_ns: int
) -> None:
    units = sorted(arrays)
    columns = tuple(Column(name, "q", unit) for unit in units for name in names)
    stream = Stream("a.b", columns, 1000.0, frame=frame)
    values = np.arange(1.0, 1.0 + len(columns))[None]
    block = Block(stream, 0, np.array([t_ns]), values, np.zeros(values.shape, np.uint8))
    by_unit = {
        unit: values[0, i * len(names) : (i + 1) * len(names)].tolist() for i, unit in enumerate(units)
    }
    content = {
        "header": stamp(t_ns, frame),
        "name": names,
        "position": by_unit.get("rad", []),
        "velocity": by_unit.get("rad/s", []),
        "effort": by_unit.get("N m", []),
    }
    assert pack(stream, block) == stock(standard(stream), [content])


def test_current_goes_to_effort_and_says_so(current: Stream, make_block: Callable[..., Block]) -> None:
    block = make_block(current)
    message = decoded(current, pack(current, block)[3])
    assert list(message.effort) == block.si[3].tolist()
    assert list(message.position) == list(message.velocity) == []
    assert standard(current).metadata == {"stream": "arm.current", "effort": "current [A]"}


def test_what_one_joint_lacks_is_nan() -> None:
    stream = Stream("a.b", (Column("j1", "position", "rad"), Column("j2", "torque", "N m")), 100.0)
    block = Block(stream, 0, np.array([5]), np.array([[1.0, 2.0]]), np.zeros((1, 2), np.uint8))
    message = decoded(stream, pack(stream, block)[0])
    assert message.name == ["j1", "j2"]
    assert message.position[0] == 1.0
    assert np.isnan(message.position[1])
    assert np.isnan(message.effort[0])
    assert message.effort[1] == 2.0


def test_acceleration_has_no_place() -> None:
    columns = tuple(
        Column("j1", q, u)
        for q, u in (("position", "rad"), ("velocity", "rad/s"), ("acceleration", "rad/s2"))
    )
    stream = Stream("arm.played", columns, 1000.0)
    block = Block(stream, 0, np.array([5]), np.array([[1.0, 2.0, 3.0]]), np.zeros((1, 3), np.uint8))
    message = decoded(stream, pack(stream, block)[0])
    assert (message.name, list(message.position), list(message.velocity), list(message.effort)) == (
        ["j1"],
        [1.0],
        [2.0],
        [],
    )


def test_a_stream_without_any_place_is_named_by_its_columns() -> None:
    stream = Stream("arm.heat", (Column("j1", "temperature", "K"), Column("j2", "temperature", "K")), 1.0)
    block = Block(stream, 0, np.array([5]), np.array([[300.0, 301.0]]), np.zeros((1, 2), np.uint8))
    message = decoded(stream, pack(stream, block)[0])
    assert message.name == ["j1.temperature", "j2.temperature"]
    assert list(message.position) == [300.0, 301.0]


def test_force_alone_is_a_wrench_without_torque() -> None:
    stream = Stream("tip.force", tuple(Column(a, "force", "N") for a in "xyz"), 100.0)
    block = Block(stream, 0, np.array([5]), np.array([[1.0, 2.0, 3.0]]), np.zeros((1, 3), np.uint8))
    message = decoded(stream, pack(stream, block)[0])
    assert (message.wrench.force.x, message.wrench.force.z) == (1.0, 3.0)
    assert np.isnan(message.wrench.torque.x)


@pytest.mark.parametrize("n", [0, 1])
def test_few_samples(wrench: Stream, make_block: Callable[..., Block], n: int) -> None:
    assert len(pack(wrench, make_block(wrench, n=n))) == n
