"""Mutations of inputs that keep their structure: values in a tree, elements of XML, parts of a message, bytes.

Each takes something valid and a `random.Random`, and returns bytes that are nearly as valid: most go deep into a
reader before it can refuse them.
"""

from __future__ import annotations

import copy
import json
import random
import re
import struct
import zlib
from typing import Any
from xml.etree import ElementTree

import lz4.frame
import yaml
import zstandard
from mcap.opcode import Opcode

__all__ = ["bytes_changed", "parts_changed", "recording_changed", "tree_changed", "xml_changed"]

INTEGERS = (0, 1, 2, 127, 255, 256, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
#: Values that readers forget.
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**63, 10**30, 0.0, -0.0, 1e-320, 1e300, -1e300, 1e16, float("nan"),
    float("inf"), -float("inf"), "", " ", "a b", "nan", "1e999", "../../outside", "/etc/passwd", "a\x00b", "\ud7ff",
    "x" * 300, "2001-01-01", "%s%n", [], {}, [[]], [None], [1, "2"], {"": 1}, {"a": {"a": {}}},
)  # fmt: skip
WORDS = (
    "nan",
    "inf",
    "-inf",
    "-1",
    "0",
    "1e400",
    "1e300",
    "",
    " ",
    "a b",
    "0 0",
    "0 0 0 0 0",
    "x",
    "../x",
    "\t",
    "9" * 400,
)


def bytes_changed(data: bytes, rng: random.Random) -> bytes:
    """One to four changes of bytes: bits, edge numbers in either order, pieces cut, doubled, moved or put in."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(changed)) if changed else 0
        length = rng.choice((1, 2, 4, 8, 16, 64))
        match rng.randrange(7):
            case 0 if changed:
                changed[at] ^= 1 << rng.randrange(8)
            case 1 if changed:
                changed[at] = rng.randrange(256)
            case 2:
                width = rng.choice((1, 2, 4, 8))
                number = rng.choice(INTEGERS) % 256**width
                changed[at : at + width] = number.to_bytes(width, rng.choice(("little", "big")))
            case 3:
                del changed[at : at + length]
            case 4:
                changed[at:at] = changed[at : at + length]
            case 5:
                changed[at:at] = rng.randbytes(rng.choice((1, 4, 16)))
            case _:
                del changed[at : None if rng.random() < 0.3 else at + 1]
    return bytes(changed)


def tree_changed(value: Any, rng: random.Random, style: str) -> bytes:
    """A tree of plain values with one to three of them changed, as `json` or `yaml`; one in ten as text, too."""
    tree = copy.deepcopy(value)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        _change_value(tree, rng)
    if style == "json":
        text = json.dumps(tree, ensure_ascii=rng.random() < 0.9)
    else:
        text = yaml.dump(tree, sort_keys=False, default_flow_style=rng.choice((None, True, False)))
    data = text.encode("utf-8", "surrogatepass")
    if rng.random() < 0.1:
        data = bytes_changed(data, rng)
    if rng.random() < 0.01:
        data = _nested(style, rng)
    return data


def _nested(style: str, rng: random.Random) -> bytes:
    depth = rng.choice((10, 100, 5000, 50_000))
    if style == "yaml" and rng.random() < 0.5:
        lines = ["a0: &a0 [0, 0, 0, 0, 0, 0, 0, 0]"]
        lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 8)}]" for i in range(1, 12)]
        return "\n".join(lines).encode()
    return (rng.choice(("[", '{"a":', "- ")) * depth).encode()


def _change_value(tree: Any, rng: random.Random) -> None:
    """One value of a tree, at a random place."""
    place = tree
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            break
        key = rng.choice(keys)
        below = place[key]
        if isinstance(below, dict | list) and below and rng.random() < 0.85:
            place = below
            continue
        match rng.randrange(8):
            case 0:
                del place[key]
            case 1 if isinstance(place, list):
                place.insert(key, copy.deepcopy(below))
            case 1:
                place[f"{key}{rng.choice(('x', ' ', '.', ''))}"] = copy.deepcopy(below)
            case 2 if len(keys) > 1:
                other = rng.choice(keys)
                place[key], place[other] = place[other], below
            case 3 if isinstance(below, int | float) and not isinstance(below, bool):
                place[key] = below * rng.choice((-1, 0, 1e-9, 1e9, 1e300))
            case 4:
                place[key] = [below] * rng.choice((1, 2, 100))
            case 5 if isinstance(below, str):
                place[key] = below + rng.choice((" ", "\n", "\x00", "/..", "é", "x" * 200))
            case _:
                place[key] = copy.deepcopy(rng.choice(VALUES))
        break


def xml_changed(text: str, rng: random.Random) -> bytes:
    """A model with one to three elements or attributes changed; now and then with a document type, or nested."""
    root = ElementTree.fromstring(text)
    for _ in range(rng.choice((1, 1, 2, 3))):
        _change_element(root, rng)
    data = ElementTree.tostring(root)
    chance = rng.random()
    if chance < 0.02:
        bomb = '<!ENTITY a "aaaaaaaaaa">' + "".join(
            f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in ("ab", "bc", "cd")
        )
        data = f"<!DOCTYPE m [{bomb}]>".encode() + re.sub(rb'name="', b'name="&d;', data, count=1)
    elif chance < 0.03:
        depth = rng.choice((50, 500, 100_000))
        data = b"<mujoco><worldbody>" + b"<body>" * depth + b"</body>" * depth + b"</worldbody></mujoco>"
    elif chance < 0.1:
        data = bytes_changed(data, rng)
    return data


def _change_element(root: ElementTree.Element, rng: random.Random) -> None:
    elements = list(root.iter())
    element = rng.choice(elements)
    match rng.randrange(8):
        case 0 | 1 | 2 | 3 if element.attrib:
            key = rng.choice(list(element.attrib))
            parts = element.attrib[key].split()
            if parts and rng.random() < 0.6:
                parts[rng.randrange(len(parts))] = rng.choice(WORDS)
                element.attrib[key] = " ".join(parts)
            else:
                element.attrib[key] = rng.choice((*WORDS, rng.choice(elements).attrib.get("name", "")))
        case 4 if element.attrib:
            del element.attrib[rng.choice(list(element.attrib))]
        case 5 if len(element):
            element.remove(rng.choice(list(element)))
        case 6:
            rng.choice(elements[: 1 + len(elements) // 2]).append(copy.deepcopy(element))
        case _:
            element.tag = rng.choice((rng.choice(elements).tag, "body", "joint", "link", "x"))


def parts_changed(parts: list[bytes], rng: random.Random) -> list[bytes]:
    """A message of several parts: one changed as JSON, where it is, or as bytes; or one more, or one less."""
    changed = list(parts)
    at = rng.randrange(len(changed))
    chance = rng.random()
    if chance < 0.1:
        del changed[at]
    elif chance < 0.2:
        changed.insert(at, rng.choice(parts))
    elif chance < 0.25:
        changed[at] = zlib.compress(bytes(rng.choice((10, 10**6, 10**7))))
    else:
        changed[at] = _part_changed(changed[at], rng)
    return changed


def _part_changed(part: bytes, rng: random.Random) -> bytes:
    for unpack, pack in ((bytes, bytes), (zlib.decompress, zlib.compress)):
        try:
            value = json.loads(unpack(part))
        except (ValueError, zlib.error):
            continue
        if isinstance(value, dict | list) and rng.random() < 0.8:
            return bytes(pack(tree_changed(value, rng, "json")))
    return bytes_changed(part, rng)


_CHUNK = struct.Struct("<BQQQQII")
_FOOTER = struct.Struct("<BQQQI")


def recording_changed(data: bytes, rng: random.Random) -> bytes:
    """A recording with its bytes changed; in a chunk or in the index with checksums and lengths made right again."""
    way = rng.randrange(4)
    if way == 0:
        return bytes_changed(data, rng)
    tail = len(data) - _FOOTER.size - 8
    start = _FOOTER.unpack_from(data, tail)[2]
    if way == 1:  # the index, of the same length, with its CRC
        index = bytes_changed(data[start:tail], rng)[: tail - start].ljust(tail - start, b"\0")
        footer = data[tail : tail + _FOOTER.size - 4]
        return data[:start] + index + footer + struct.pack("<I", zlib.crc32(index + footer)) + data[-8:]
    at = _a_chunk(data, start, rng)
    opcode, length, first, last, _, _, name_length = _CHUNK.unpack_from(data, at)
    begin = at + _CHUNK.size + name_length + 8
    end = at + 9 + length
    name = data[at + _CHUNK.size : at + _CHUNK.size + name_length]
    records = bytes(lz4.frame.decompress(data[begin:end]))
    records = bytes_changed(records, rng)
    if rng.random() < 0.02:
        records = bytes(rng.choice((10**6, 10**8)))
    size = len(records) if rng.random() < 0.9 else rng.choice(INTEGERS)
    if rng.random() < 0.2:
        name, packed = (
            b"zstd",
            zstandard.ZstdCompressor(write_content_size=rng.random() < 0.7).compress(records),
        )
    else:
        packed = lz4.frame.compress(records, store_size=rng.random() < 0.5)
    body = struct.pack("<QQQII", first, last, size, zlib.crc32(records), len(name)) + name
    body += struct.pack("<Q", len(packed)) + packed
    record = struct.pack("<BQ", opcode, len(body)) + body
    return data[:at] + record + (data[end:] if way == 2 else data[end:start])


def _a_chunk(data: bytes, end: int, rng: random.Random) -> int:
    """Offset of one of the chunks before the summary."""
    found, at = [], 8
    while at + 9 <= end:
        opcode, length = struct.unpack_from("<BQ", data, at)
        if opcode == Opcode.CHUNK:
            found.append(at)
        at += 9 + length
    return rng.choice(found)
