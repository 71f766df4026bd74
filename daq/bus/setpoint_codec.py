"""Setpoints to the payload and buffers of a control request, and back. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heft.drivers.errors import ProtocolError
from heft.drivers.setpoints import Setpoints

__all__ = ["decode", "encode"]

#: Order of the buffers after the times; each holds N x n little-endian doubles, one row per setpoint.
_ARRAYS = ("position", "velocity", "acceleration")


def encode(chunk: Setpoints) -> tuple[dict[str, Any], list[memoryview]]:
    """Payload (JSON values) and buffers: host times i64[N], then the three arrays f64[N, n]."""
    count, axes = chunk.position.shape
    payload = {"sequence": chunk.sequence, "count": count, "axes": axes, "last": chunk.last}
    buffers = [np.ascontiguousarray(chunk.host_ns, "<i8").data]
    buffers += [np.ascontiguousarray(getattr(chunk, name), "<f8").data for name in _ARRAYS]
    return payload, [buffer.cast("B") if buffer.nbytes else memoryview(b"") for buffer in buffers]


def decode(payload: Mapping[str, Any], buffers: Sequence[bytes]) -> Setpoints:
    """Inverse of `encode`; arrays are read-only views. ProtocolError for anything else."""
    sequence, count, axes = (_integer(payload, key) for key in ("sequence", "count", "axes"))
    last = payload.get("last")
    if not isinstance(last, bool):
        raise ProtocolError(f"setpoints: last is {last!r}, expected true or false")
    if len(buffers) != 1 + len(_ARRAYS):
        raise ProtocolError(f"setpoints: {len(buffers)} buffers, expected {1 + len(_ARRAYS)}")
    host_ns = _array("host_ns", buffers[0], "<i8", (count,))
    position, velocity, acceleration = (
        _array(name, data, "<f8", (count, axes)) for name, data in zip(_ARRAYS, buffers[1:], strict=True)
    )
    try:
        return Setpoints(sequence, host_ns, position, velocity, acceleration, last)
    except ValueError as exc:
        raise ProtocolError(f"setpoints: {exc}") from exc


def _integer(payload: Mapping[str, Any], key: str) -> int:
    value = payload.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ProtocolError(f"setpoints: {key} is {value!r}, expected an integer from 0 on")
    return value


def _array(name: str, data: bytes, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    expected = int(np.prod(shape)) * 8
    if len(data) != expected:
        raise ProtocolError(f"setpoints: {name} has {len(data)} bytes, {shape} numbers have {expected}")
    return np.frombuffer(data, dtype).reshape(shape)
