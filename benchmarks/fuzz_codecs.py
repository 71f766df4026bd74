"""Campaigns of mutated frames, one for each codec of a device; `fuzz.py` runs them.

For each codec, seeded: valid frames, a third of them mutated (bits, bytes, missing and added pieces, headers
in the wrong place). What must hold, or the campaign stops with a FuzzError:

- no exception but ProtocolError;
- nothing accepted whose checksum, computed here bit by bit, is wrong; where there is no checksum, nothing
  accepted that does not encode to the same again;
- in byte streams every frame that came through whole is given out, whatever stood before it, payloads full of
  header bytes included; the one exception is a frame overlapped by garbage whose checksum happens to be right
  (one candidate in 65 536), and those are counted.
"""

from __future__ import annotations

import random
import re
import struct
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rosbags.typesys import Stores, get_typestore

from heft.drivers.codecs import (
    amt21,
    ati_rdt,
    bota,
    canopen,
    cia402,
    cia406,
    damiao,
    dynamixel,
    feetech,
    mit_can,
    modbus,
    odrive_can,
    robotiq_2f,
    robotiq_ft300,
    robotiq_urcap,
    ros2,
    ur_rtde,
    ur_script,
)
from heft.drivers.codecs.framing import Framing
from heft.drivers.errors import ProtocolError
from heft.drivers.transports.can_frame import CanFrame

BATCH = 2000


class FuzzError(AssertionError):
    """A codec broke its promise."""


class Outcome(NamedTuple):
    """Frames tried, accepted and refused; `overlapped`: whole ones lost to garbage with a right checksum."""

    frames: int
    accepted: int
    refused: int
    overlapped: int = 0


# What is right, computed here and not by the codecs.


def crc16(data: bytes, polynomial: int, final: int) -> int:
    """CRC-16, reflected, from 0xFFFF, bit by bit."""
    register = 0xFFFF
    for byte in data:
        for bit in range(8):
            carry = (register ^ byte >> bit) & 1
            register = register >> 1 ^ (polynomial if carry else 0)
    return register ^ final


def crc16_rows(rows: NDArray[np.uint8], polynomial: int, final: int) -> NDArray[np.uint16]:
    """The same for each row."""
    register = np.full(len(rows), 0xFFFF, dtype=np.uint16)
    for column in rows.T.astype(np.uint16):
        for bit in range(8):
            carry = (register ^ (column >> bit)) & 1
            register = (register >> 1) ^ (carry * np.uint16(polynomial))
    return register ^ np.uint16(final)


def mutated(frame: bytes, rng: random.Random, markers: bytes) -> bytes:
    """`frame`, damaged in one of the ways that lines and drivers damage frames."""
    place = rng.randrange(len(frame)) if frame else 0
    way = rng.randrange(8)
    if way == 0 and frame:  # one bit
        return frame[:place] + bytes([frame[place] ^ 1 << rng.randrange(8)]) + frame[place + 1 :]
    if way == 1 and frame:  # one byte
        return frame[:place] + rng.randbytes(1) + frame[place + 1 :]
    if way == 2:  # a piece is missing
        return frame[:place] + frame[place + rng.randrange(1, 5) :]
    if way == 3:  # a piece too much
        return frame[:place] + rng.randbytes(rng.randrange(1, 5)) + frame[place:]
    if way == 4:  # cut short
        return frame[:place]
    if way == 5:  # a header in the wrong place
        return frame[:place] + markers + frame[place + len(markers) :]
    if way == 6:  # a piece twice
        return frame[:place] + frame[max(0, place - rng.randrange(1, 9)) :]
    return rng.randbytes(rng.randrange(0, len(frame) + 3))  # noise


# Byte streams.


def fuzz_stream(
    parser: Framing,
    header: bytes,
    covered: slice,
    polynomial: int,
    final: int,
    decode: Callable[[bytes], object],
    frames: int,
    seed: int,
) -> Outcome:
    rng = random.Random(seed)
    length = parser.length
    accepted = overlapped = whole_total = 0
    before = 0
    for batch in range(0, frames, BATCH):
        count = min(BATCH, frames - batch)
        rows = _valid_rows(rng, count, length, header, covered, polynomial, final)
        pieces, whole, place = [], [], before
        for row in rows:
            frame = row.tobytes()
            piece = mutated(frame, rng, header) if rng.random() < 0.33 else frame
            if piece == frame:
                whole.append(place)
            pieces.append(piece)
            place += len(piece)
        stream, longest = b"".join(pieces), 4000 if rng.random() < 0.9 else 2 * length
        found_rows, found = [], []
        cut = 0
        while cut < len(stream):
            step = rng.randrange(1, longest)
            result = parser.feed(stream[cut : cut + step])
            cut += step
            found_rows.append(result.rows)
            found.extend((result.ends - length).tolist())
        before = place
        good = np.concatenate(found_rows)
        sent = good[:, -2] + (good[:, -1].astype(np.uint16) << 8)
        if np.any(crc16_rows(good[:, covered], polynomial, final) != sent):
            raise FuzzError("a frame with a wrong checksum was accepted")
        if np.any(good[:, : len(header)] != np.frombuffer(header, np.uint8)):
            raise FuzzError("a frame with a wrong header was accepted")
        for row in good[:: max(1, len(good) // 20)]:
            decode(row.tobytes())
        overlapped += _overlapped(set(whole), found, length)
        accepted += len(found)
        whole_total += len(whole)
    pending = parser.fed - parser.accepted * length - parser.rejected
    if parser.fed != before or parser.accepted != accepted or not 0 <= pending < length:
        raise FuzzError("the parser's counters do not add up")
    return Outcome(frames, accepted, frames - whole_total, overlapped)


def _valid_rows(
    rng: random.Random, count: int, length: int, header: bytes, covered: slice, polynomial: int, final: int
) -> NDArray[np.uint8]:
    rows = np.frombuffer(rng.randbytes(count * length), np.uint8).reshape(count, length).copy()
    style = rng.randrange(4)
    if style == 1:  # a header byte stands at the same place of every payload
        rows[:, rng.randrange(len(header), length - 2)] = header[0]
    elif style == 2:  # payloads of nothing but header bytes
        fill = (header * length)[: length - 2]
        rows[:, :-2] = np.frombuffer(fill, np.uint8)
    elif style == 3:  # a sensor at rest: nothing changes
        rows[:] = rows[0]
    rows[:, : len(header)] = np.frombuffer(header, np.uint8)
    crc = crc16_rows(rows[:, covered], polynomial, final)
    rows[:, -2], rows[:, -1] = crc & 0xFF, crc >> 8
    return rows


def _overlapped(whole: set[int], found: list[int], length: int) -> int:
    """How many whole frames were not given out; each must overlap one that was, and that began earlier."""
    missing = whole.difference(found)
    for place in missing:
        i = bisect_left(found, place) - 1
        if i < 0 or found[i] + length <= place:
            raise FuzzError(f"the whole frame at byte {place} was not given out")
    return len(missing)


def fuzz_bota(frames: int, seed: int) -> Outcome:
    return fuzz_stream(bota.Parser(), b"\xaa", slice(1, -2), 0x8408, 0xFFFF, bota.Sample.decode, frames, seed)


def fuzz_ft300(frames: int, seed: int) -> Outcome:
    return fuzz_stream(
        robotiq_ft300.Parser(),
        b"\x20\x4e",
        slice(0, -2),
        0xA001,
        0,
        robotiq_ft300.Sample.decode,
        frames,
        seed,
    )


# Single messages.


def fuzz_messages(
    valid: Callable[[random.Random], bytes],
    judge: Callable[[bytes], None],
    frames: int,
    seed: int,
) -> Outcome:
    """`judge` decodes, raises ProtocolError for what it refuses and FuzzError for what it should have."""
    rng = random.Random(seed)
    accepted = 0
    for _ in range(frames):
        frame = data = valid(rng)
        if rng.random() < 0.33:
            data = mutated(frame, rng, b"\xff")
        try:
            judge(data)
        except ProtocolError:
            if data == frame:
                raise FuzzError(f"the valid frame {frame.hex(' ')} was refused") from None
        else:
            accepted += 1
    return Outcome(frames, accepted, frames - accepted)


def same(got: object, expected: object, data: bytes) -> None:
    if got != expected:
        raise FuzzError(f"{data.hex(' ')} was accepted, but encodes to {got!r}")


def judge_rdt(data: bytes) -> None:
    batch = ati_rdt.decode_records([data])
    if len(data) % ati_rdt.RECORD_BYTES == 0 and data:
        same(len(batch), len(data) // ati_rdt.RECORD_BYTES, data)
    else:
        same((len(batch), batch.rejected), (0, 1), data)
    record = ati_rdt.Record.decode(data)
    same(record.encode(), data, data)
    same((record.rdt_sequence, *record.counts), (int(batch.rdt_sequence[0]), *batch.counts[0].tolist()), data)


def valid_modbus(rng: random.Random) -> bytes:
    body = bytes([9, 4, 6]) + rng.randbytes(6)
    return body + crc16(body, 0xA001, 0).to_bytes(2, "little")


def judge_2f(data: bytes) -> None:
    registers = modbus.decode_read_response(data, robotiq_2f.UNIT, 3, function=modbus.READ_INPUT)
    same(crc16(data[:-2], 0xA001, 0), int.from_bytes(data[-2:], "little"), data)
    status = robotiq_2f.Status.decode(registers)
    same(status, robotiq_2f.Status.decode(status.encode()), data)


def judge_cia402(data: bytes) -> None:
    feedback = cia402.Feedback.decode(data, torque=True)
    same(feedback.encode(), data, data)
    same(cia402.Motion.decode(data, current=True).encode(), data, data)
    same(canopen.Emergency.decode(data).encode(), data, data)
    same(cia402.Setpoint.decode(data[:7]).encode(), data[:7], data)
    try:
        present = cia402.state(feedback.statusword)
    except ProtocolError:
        return
    cia402.controlword_toward(present, cia402.State.OPERATION_ENABLED)


def judge_cia406(data: bytes) -> None:
    same(cia406.Position.decode(data).encode(), data, data)


def valid_odrive(rng: random.Random) -> bytes:
    kind = rng.choice((0x01, 0x09, 0x0B, 0x0C, 0x14))
    return bytes([kind]) + rng.randbytes(8)


def judge_odrive(data: bytes) -> None:
    """The first byte stands for the command; both firmwares read what follows."""
    if not data or len(data) > 9:
        raise ProtocolError("not a CAN frame")
    frame = CanFrame(5 << 5 | data[0] & 0x1F, data[1:])
    refused = 0
    for firmware in odrive_can.Firmware:
        try:
            node, message = odrive_can.decode(frame, firmware)
        except ProtocolError:
            refused += 1
            continue
        again = odrive_can.decode(odrive_can.encode(node, message), firmware)
        same(repr(again), repr((5, message)), data)  # by text: NaN is not equal to itself
    if refused == len(odrive_can.Firmware):
        raise ProtocolError("refused by both")


def judge_mit(data: bytes) -> None:
    refused = 0
    for dialect in mit_can.Dialect:
        try:
            same(mit_can.Feedback.decode(data, dialect).encode(dialect), data, data)
        except ProtocolError:
            refused += 1
    try:
        motor = mit_can.RANGES["AK80-9"]
        same(mit_can.Command.decode(data, motor).encode(motor), data, data)
    except ProtocolError:
        refused += 1
    if refused == 3:
        raise ProtocolError("refused by all")


def valid_damiao(rng: random.Random) -> bytes:
    return struct.pack("<HBBf", rng.randrange(16), 0x33, rng.choice((9, 21, 22, 23)), rng.random())


def judge_damiao(data: bytes) -> None:
    answer = damiao.Answer.decode(data)
    same(repr(damiao.Answer.decode(answer.encode())), repr(answer), data)


def valid_amt21(rng: random.Random) -> bytes:
    value = rng.randrange(1 << 14)
    odd = bin(value & 0x2AAA).count("1") % 2 == 0
    even = bin(value & 0x1555).count("1") % 2 == 0
    return struct.pack("<H", odd << 15 | even << 14 | value)


def judge_amt21(data: bytes) -> None:
    counts = amt21.decode(data)
    (word,) = struct.unpack("<H", data)
    if (word & 0xAAAA).bit_count() % 2 == 0 or (word & 0x5555).bit_count() % 2 == 0:
        raise FuzzError(f"{data.hex(' ')} has wrong check bits and was accepted")
    same(amt21.encode(counts), data, data)


RTDE = ur_rtde.Recipe(1, ("timestamp", "actual_q", "safety_mode"), "d6di")


def valid_rtde(rng: random.Random) -> bytes:
    values = struct.pack(">Bd6di", 1, *(rng.uniform(-7.0, 7.0) for _ in range(7)), rng.randrange(1, 9))
    return struct.pack(">HB", 3 + len(values), ord("U")) + values


def judge_rtde(data: bytes) -> None:
    parser = ur_rtde.Parser()
    parser.data_bytes = RTDE.size
    packages = parser.feed(data)
    if len(packages) != 1 or parser.skipped or packages[0].encode() != data:
        raise ProtocolError("not one whole package")
    values = RTDE.unpack(packages[0])
    same(struct.pack(">Bd6di", 1, *values), packages[0].payload, data)


def valid_rtde_answer(rng: random.Random) -> bytes:
    """An answer to the recipe of inputs: its number and the types."""
    types = ["INT32"] * 2 + ["DOUBLE"] * 12
    payload = bytes([rng.randrange(1, 5)]) + ",".join(types).encode()
    return struct.pack(">HB", 3 + len(payload), ord("I")) + payload


def judge_rtde_answer(data: bytes) -> None:
    packages = ur_rtde.Parser().feed(data)
    if len(packages) != 1 or packages[0].encode() != data or packages[0].type != ord("I"):
        raise ProtocolError("not one whole package")
    recipe = ur_rtde.Recipe.decode(packages[0], ur_script.INPUTS)
    types = data[4:].decode("ascii").removesuffix(",").split(",")
    known = {"BOOL", "UINT8", "UINT32", "UINT64", "INT32", "DOUBLE", "VECTOR3D", "VECTOR6D"}
    if data[3] == 0 or not set(types) <= known | {"VECTOR6INT32", "VECTOR6UINT32"} or len(types) != 14:
        raise FuzzError(f"{data!r} was accepted")
    same((recipe.number, recipe.names), (data[3], ur_script.INPUTS), data)


def valid_urcap(rng: random.Random) -> bytes:
    return f"{rng.choice(robotiq_urcap.READ)} {rng.randrange(256)}\n".encode()


def judge_urcap(data: bytes) -> None:
    name = data[:3].decode("latin-1")
    if name not in robotiq_urcap.READ:
        raise ProtocolError("nobody asks for that")
    value = robotiq_urcap.answer_of(data, name)
    if not re.fullmatch(rb"[A-Z]{3} +[0-9]{1,3}[ \t\r\n\f\v]*", data) or not 0 <= value <= 255:
        raise FuzzError(f"{data!r} was accepted")
    same(value, int(data[3:].strip()), data)


def _remainder(byte: int) -> int:
    register = 0
    for bit in range(7, -1, -1):
        carry = (register >> 15 ^ byte >> bit) & 1
        register = (register << 1 & 0xFFFF) ^ (0x8005 if carry else 0)
    return register


REMAINDERS = [_remainder(byte) for byte in range(256)]


def crc16_forward(data: bytes) -> int:
    """CRC-16 of Dynamixel, high bit first, from 0."""
    register = 0
    for byte in data:
        register = register << 8 & 0xFFFF ^ REMAINDERS[register >> 8 ^ byte]
    return register


def dynamixel_status(servo: int, body: bytes) -> bytes:
    """A status packet; FD is stuffed byte by byte."""
    stuffed = bytearray()
    for byte in b"\x55" + body:
        stuffed.append(byte)
        if stuffed.endswith(b"\xff\xff\xfd"):
            stuffed.append(0xFD)
    packet = b"\xff\xff\xfd\x00" + struct.pack("<BH", servo, len(stuffed) + 2) + bytes(stuffed)
    return packet + struct.pack("<H", crc16_forward(packet))


def fuzz_dynamixel(frames: int, seed: int) -> Outcome:
    """A stream of answers of any length, payloads full of header bytes included, in pieces of any size."""
    rng, parser = random.Random(seed), dynamixel.Parser()
    accepted = overlapped = 0
    for batch in range(0, frames, BATCH):
        pieces, whole = [], []
        for _ in range(min(BATCH, frames - batch)):
            size = rng.randrange(1, 30)
            body = (
                rng.randbytes(size) if rng.random() < 0.5 else bytes(rng.choices(b"\xff\xff\xfd\x00", k=size))
            )
            packet = dynamixel_status(rng.randrange(253), body)
            piece = mutated(packet, rng, b"\xff\xff\xfd\x00") if rng.random() < 0.33 else packet
            if piece == packet:
                whole.append(packet)
            pieces.append(piece)
        stream, found, cut = b"".join(pieces) + bytes(1100), [], 0
        while cut < len(stream):
            step = rng.randrange(1, 400)
            found += parser.feed(stream[cut : cut + step])
            cut += step
        place = 0
        again = [dynamixel_status(servo, bytes([error]) + data) for servo, error, data in found]
        for packet in again:  # each stands in the stream, with its checksum, behind the one before
            start = stream.find(packet, place)
            if start < 0:
                raise FuzzError(f"{packet.hex(' ')} was given out, but never came")
            place = start + len(packet)
        missing = len(whole) - sum((Counter(whole) & Counter(again)).values())
        overlapped += missing
        accepted += len(again)
    if overlapped > 5 + frames // 10_000:
        raise FuzzError(f"{overlapped} whole packets were not given out")
    return Outcome(frames, accepted, frames - accepted, overlapped)


def valid_feetech(rng: random.Random) -> bytes:
    data = rng.randbytes(rng.randrange(31))
    body = bytes([rng.randrange(254), len(data) + 2, rng.randrange(64)]) + data
    return b"\xff\xff" + body + bytes([0xFF - sum(body) % 256])


def judge_feetech(data: bytes) -> None:
    packet = feetech.Packet.decode(data)
    if sum(data[2:]) % 256 != 0xFF:
        raise FuzzError(f"{data.hex(' ')} has a wrong checksum and was accepted")
    same(packet.encode(), data, data)
    same(feetech.Parser().feed(data), [(packet.id, packet.code, packet.parameters)], data)


ROS = get_typestore(Stores.ROS2_HUMBLE)
#: Messages of ROS, each with what is compared: the fields of ours and of the other implementation's, as flat lists.
ROS_KINDS: list[tuple[type[Any], str, Callable[[Any], list[Any]], Callable[[Any], list[Any]]]] = [
    (
        ros2.JointState,
        "sensor_msgs/msg/JointState",
        lambda m: [m.stamp_ns, m.frame, *m.name, *m.position, *m.velocity, *m.effort],
        lambda m: [_stamp(m.header), m.header.frame_id, *m.name, *m.position, *m.velocity, *m.effort],
    ),
    (
        ros2.WrenchStamped,
        "geometry_msgs/msg/WrenchStamped",
        lambda m: [m.stamp_ns, m.frame, *m.wrench],
        lambda m: [
            _stamp(m.header),
            m.header.frame_id,
            *(getattr(v, axis) for v in (m.wrench.force, m.wrench.torque) for axis in "xyz"),
        ],
    ),
    (
        ros2.JointTrajectory,
        "trajectory_msgs/msg/JointTrajectory",
        lambda m: [
            m.stamp_ns,
            *m.name,
            *(
                x
                for p in m.points
                for x in (p.after_ns, *p.position, *p.velocity, *p.acceleration, *p.effort)
            ),
        ],
        lambda m: [
            _stamp(m.header),
            *m.joint_names,
            *(x for p in m.points for x in (_time(p.time_from_start), *_point(p))),
        ],
    ),
    (ros2.Positions, "std_msgs/msg/Float64MultiArray", lambda m: [*m.values], lambda m: [*m.data]),
    (ros2.Clock, "rosgraph_msgs/msg/Clock", lambda m: [m.time_ns], lambda m: [_time(m.clock)]),
]


def _time(time: Any) -> int:
    return int(time.sec) * 10**9 + int(time.nanosec)


def _stamp(header: Any) -> int:
    return _time(header.stamp)


def _point(point: Any) -> Iterator[float]:
    for values in (point.positions, point.velocities, point.accelerations, point.effort):
        yield from values


def valid_ros2(rng: random.Random) -> bytes:
    """One of five messages; which one stands in front."""
    n, stamp_ns = rng.randrange(0, 8), rng.randrange(2**60)
    names = tuple(f"joint{i}" * rng.randrange(1, 3) for i in range(n))

    def some() -> tuple[float, ...]:
        return tuple(rng.uniform(-9.0, 9.0) for _ in range(n)) if rng.random() < 0.7 else ()

    kind = rng.randrange(len(ROS_KINDS))
    frame = rng.choice(("", "base", "tool0"))
    message = (
        lambda: ros2.JointState(stamp_ns, names, some(), some(), some(), frame),
        lambda: ros2.WrenchStamped(stamp_ns, tuple(rng.uniform(-9.0, 9.0) for _ in range(6)), frame),
        lambda: ros2.JointTrajectory(
            stamp_ns,
            names,
            tuple(ros2.Point(k * 10**7, some(), some(), some()) for k in range(rng.randrange(4))),
        ),
        lambda: ros2.Positions(some()),
        lambda: ros2.Clock(stamp_ns),
    )[kind]()
    return bytes([kind]) + message.encode()


def judge_ros2(data: bytes) -> None:
    """What is accepted is what `rosbags` reads in the same bytes, number by number."""
    if not data or data[0] >= len(ROS_KINDS):
        raise ProtocolError("no kind of message")
    own, name, ours, theirs = ROS_KINDS[data[0]]
    raw = data[1:]
    mine = ours(own.decode(raw))
    if own is ros2.JointState:
        same(repr(ours(ros2.JointStates().decode(raw))), repr(mine), data)
    try:
        other = theirs(ROS.deserialize_cdr(raw, name))
    except Exception as exc:
        raise FuzzError(f"{raw.hex(' ')} was accepted, and rosbags says {exc!r}") from exc
    plain = [x.item() if isinstance(x, np.generic) else x for x in other]
    same(repr(mine), repr(plain), data)


def messages(
    valid: Callable[[random.Random], bytes], judge: Callable[[bytes], None]
) -> Callable[[int, int], Outcome]:
    return lambda frames, seed: fuzz_messages(valid, judge, frames, seed)


CAMPAIGNS: dict[str, Callable[[int, int], Outcome]] = {
    "bota": fuzz_bota,
    "robotiq_ft300": fuzz_ft300,
    "ati_rdt": messages(lambda rng: rng.randbytes(36), judge_rdt),
    "robotiq_2f": messages(valid_modbus, judge_2f),
    "cia402": messages(lambda rng: rng.randbytes(8), judge_cia402),
    "cia406": messages(lambda rng: rng.randbytes(4), judge_cia406),
    "odrive_can": messages(valid_odrive, judge_odrive),
    "mit_can": messages(lambda rng: rng.randbytes(rng.choice((6, 8))), judge_mit),
    "damiao": messages(valid_damiao, judge_damiao),
    "amt21": messages(valid_amt21, judge_amt21),
    "ur_rtde": messages(valid_rtde, judge_rtde),
    "ros2": messages(valid_ros2, judge_ros2),
    "ur_rtde_inputs": messages(valid_rtde_answer, judge_rtde_answer),
    "robotiq_urcap": messages(valid_urcap, judge_urcap),
    "dynamixel": fuzz_dynamixel,
    "feetech": messages(valid_feetech, judge_feetech),
}
