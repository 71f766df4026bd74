"""How fast the codecs are: frames per second on one core, and how that compares to what is needed.

    python benchmarks/codecs.py [--seconds 0.5]

Streams are fed in reads of several sizes, as a driver gets them: one frame per read is the worst case, 64 KiB that of
a driver which was held up. `needed` is the requirement where there is one (Bota 100 000 frames/s, RDT 50 000
records/s), else what the line itself can carry.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from functools import partial

from heft.drivers.codecs import (
    amt21,
    ati_rdt,
    bota,
    cia402,
    mit_can,
    modbus,
    odrive_can,
    odrive_messages,
    robotiq_2f,
    robotiq_ft300,
)

CLASSIC_CAN = 9009  # 8-byte frames per second on a bus of 1 Mbit/s without stuff bits


def rate(work: Callable[[], object], frames: int, seconds: float) -> float:
    """Frames per second of `work`, which handles `frames` at a time."""
    work()
    rounds, started = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - started) < seconds:
        for _ in range(10):
            work()
        rounds += 10
    return rounds * frames / elapsed


def bota_stream(frames: int, damaged: float = 0.0) -> bytes:
    rng = random.Random(1)
    stream = bytearray()
    for i in range(frames):
        wrench = tuple(rng.uniform(-100, 100) for _ in range(6))
        frame = bytearray(bota.Sample(0, wrench, 1000 * i, 25.0).encode())
        if rng.random() < damaged:
            frame[rng.randrange(37)] ^= 0x55
        stream += frame
    return bytes(stream)


def cases() -> list[tuple[str, float, int, Callable[[], object]]]:
    """Name, what is needed [1/s], frames per call, call."""
    found: list[tuple[str, float, int, Callable[[], object]]] = []
    for frames, name, needed in (
        (1, "one frame per read", bota.line_rate_hz(460800)),
        (10, "10 frames per read", bota.line_rate_hz(460800)),
        (1771, "64 KiB per read", 100_000.0),
    ):
        stream, parser = bota_stream(frames), bota.Parser()
        found.append((f"bota, {name}", needed, frames, partial(parser.samples, stream)))
    worn, worn_parser = bota_stream(1771, damaged=0.1), bota.Parser()
    found.append(("bota, 64 KiB, every tenth damaged", 100_000.0, 1771, lambda: worn_parser.samples(worn)))
    locked, locked_parser = b"\xaa" * 65536, bota.Parser()
    found.append(("bota, nothing but header bytes", 100_000.0, 1771, lambda: locked_parser.samples(locked)))
    sample = bota.Sample(0, (1.0, 2.0, 3.0, 0.1, 0.2, 0.3), 1, 25.0).encode()
    found.append(("bota, single frames", bota.line_rate_hz(460800), 1, lambda: bota.Sample.decode(sample)))

    ft300 = robotiq_ft300.Sample((100, -250, 3000, 15, -20, 7)).encode()
    ft300_parser = robotiq_ft300.Parser()
    found.append(("ft300, one frame per read", 120.0, 1, lambda: ft300_parser.samples(ft300)))

    for batch in (1, 10, 100):
        datagrams = [ati_rdt.Record(i, i, 0, (1, 2, 3, 4, 5, 6)).encode() for i in range(batch)]
        needed = 50_000.0 if batch == 100 else 7000.0
        found.append((f"rdt, batches of {batch}", needed, batch, partial(ati_rdt.decode_records, datagrams)))
    found.append(("rdt, single records", 7000.0, 1, lambda: ati_rdt.Record.decode(datagrams[0])))

    feedback = cia402.Feedback(0x1637, 123456, -500).encode()
    setpoint = cia402.Setpoint(0x0F, 123456)
    found.append(("cia402, decode TPDO1", CLASSIC_CAN, 1, lambda: cia402.Feedback.decode(feedback)))
    found.append(("cia402, state", CLASSIC_CAN, 1, lambda: cia402.state(0x1637)))
    found.append(("cia402, encode RPDO1", CLASSIC_CAN, 1, setpoint.encode))

    estimate = odrive_can.encode(3, odrive_messages.EncoderEstimates(1.5, -0.25))
    found.append(
        ("odrive, decode", CLASSIC_CAN, 1, lambda: odrive_can.decode(estimate, odrive_can.Firmware.V06))
    )
    position = odrive_messages.InputPosition(1.5, 1.0, -0.25)
    found.append(("odrive, encode", CLASSIC_CAN, 1, lambda: odrive_can.encode(3, position)))

    motor, command = mit_can.RANGES["AK80-9"], mit_can.Command(1.0, 0.0, 20.0, 1.0, 2.0)
    answer = mit_can.Feedback(3, 35388, 2047, 2275, 0, (30,)).encode(mit_can.Dialect.AK)
    found.append(
        ("mit, decode feedback", CLASSIC_CAN, 1, lambda: mit_can.Feedback.decode(answer, mit_can.Dialect.AK))
    )
    found.append(("mit, encode command", CLASSIC_CAN, 1, lambda: command.encode(motor)))

    reply = amt21.encode(0x21AB)
    found.append(("amt21, decode", 2e6 / 30, 1, lambda: amt21.decode(reply)))
    status = bytes.fromhex("090406b90000ffbd005c9a")
    found.append(
        (
            "robotiq 2f, response to status",
            100.0,
            1,
            lambda: robotiq_2f.Status.decode(modbus.decode_read_response(status, 9, 3, function=4)),
        )
    )
    return found


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--seconds", type=float, default=0.5, help="per case")
    options = arguments.parse_args()
    print(f"{'case':36s} {'frames/s':>12s} {'needed':>9s} {'ratio':>8s}")
    for name, needed, frames, work in cases():
        found = rate(work, frames, options.seconds)
        print(f"{name:36s} {found:12,.0f} {needed:9,.0f} {found / needed:8.1f}")


if __name__ == "__main__":
    main()
