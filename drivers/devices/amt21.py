"""CUI (Same Sky) AMT21: absolute encoders that share an RS-485 line."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from heft.drivers.block import Block, Validity
from heft.drivers.codecs import amt21 as codec
from heft.drivers.devices.base.polled_driver import PolledDriver, PolledOptions
from heft.drivers.driver import Context, Identity
from heft.drivers.errors import ConnectError, OptionError, ProtocolError
from heft.drivers.options import Options, Positive, RateHz
from heft.drivers.stream import Column, Stream
from heft.drivers.transports.serial_port import SerialPort
from heft.drivers.transports.transport import Chunk, Transport

__all__ = ["Amt21", "Amt21Options", "EncoderOptions"]

_ATTEMPTS = 3


class EncoderOptions(Options):
    """One encoder on the line."""

    #: A byte whose last two bits are 0; 0x54 (84) from the factory.
    address: Annotated[int, Field(ge=0, le=0xFC, multiple_of=4)] = 0x54
    #: Of its resolution: 12 or 14.
    bits: Literal[12, 14] = 14
    #: It counts turns; they are read once, when connecting.
    multi_turn: bool = False
    #: Position of the joint at which the encoder reads zero [rad].
    zero: float = 0.0
    #: Turns of the encoder per turn of the joint; negative where they turn against each other.
    ratio: float = 1.0

    @model_validator(mode="after")
    def _turns(self) -> Self:
        if self.ratio == 0.0:
            raise ValueError("ratio is 0: the encoder would not turn; give its turns per turn of the joint")
        return self

    @property
    def turn(self) -> int:
        """Counts per turn of the encoder."""
        return 1 << self.bits

    @property
    def scale(self) -> float:
        """Of the joint per count [rad]."""
        return 2.0 * math.pi / (self.turn * self.ratio)


class Amt21Options(PolledOptions):
    """A line with its encoders, by the joints that they are on."""

    #: The serial port; `/dev/serial/by-id/...` stays the same over re-plugging.
    port: str
    #: 2000000 (models A to D), or what a model E to H is set to.
    baud: Literal[2_000_000, 115_200, 57_600, 38_400, 19_200, 9600] = 2_000_000
    #: How often every encoder is asked [1/s].
    rate_hz: RateHz = 500.0
    #: How long an answer may take on its way through adapter and kernel [s].
    answer_s: Positive = 0.02
    #: No joint turns faster than this [rad/s]: what shows more is garbage that passed the two check bits.
    max_speed: Positive = 10.0
    encoders: Annotated[dict[str, EncoderOptions], Field(min_length=1)]

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        addresses = [encoder.address for encoder in self.encoders.values()]
        if len(set(addresses)) < len(addresses):
            raise ValueError(f"encoders: addresses {addresses} are not all different; give each its own")
        return self


@dataclass(slots=True)
class _Encoder:
    """One encoder at work: its stream, and where it was last seen, in counts over all turns."""

    options: EncoderOptions
    stream: Stream
    counts: int = 0
    t_ns: int = 0
    heard: bool = False


class Amt21(PolledDriver[Amt21Options, Chunk, bytes]):
    """Yields one stream per encoder, `NAME.JOINT`: position in counts, continued over turns.

    Every encoder is asked in turn, so each has times of its own. It samples when it is asked.
    """

    Options: ClassVar[type[Amt21Options]] = Amt21Options
    CHECK = (
        "check its cable and power, its address, and that the adapter turns round by itself and does not echo"
    )

    def __init__(self, name: str, options: Amt21Options, context: Context) -> None:
        super().__init__(name, options, context)
        unknown = [joint for joint in options.encoders if joint not in context.axes]
        if unknown:
            raise OptionError(
                f"{name}.encoders: {', '.join(unknown)} is no joint of the robot; known: {', '.join(context.axes)}"
            )
        for joint, encoder in options.encoders.items():
            travel = options.max_speed * abs(encoder.ratio) * options.timeout_s
            if travel >= math.pi:
                raise OptionError(
                    f"{name}.encoders.{joint}: at max_speed {options.max_speed:g} rad/s the encoder turns {travel:.2f} "
                    "rad within timeout_s, more than half a turn, and turns could not be told apart; lower either"
                )
        self._encoders = [
            _Encoder(encoder, self._describe(joint, encoder)) for joint, encoder in options.encoders.items()
        ]

    @property
    def streams(self) -> tuple[Stream, ...]:
        return tuple(encoder.stream for encoder in self._encoders)

    def _describe(self, joint: str, encoder: EncoderOptions) -> Stream:
        column = Column(joint, "position", "rad", encoder.scale, encoder.zero, raw_unit="count")
        return Stream(f"{self.name}.{joint}", (column,), self.options.rate_hz, dtype="<i4", at_request=True)

    def _make_line(self) -> Transport[Chunk, bytes]:
        return SerialPort(self.name, self.clock, port=self.options.port, baudrate=self.options.baud)

    async def _connect(self) -> Identity:
        for encoder in self._encoders:
            await self._find(encoder)
        return Identity("Same Sky", f"AMT21, {len(self._encoders)} on the line")

    async def _find(self, encoder: _Encoder) -> None:
        """Where an encoder is, over all turns: by its own count, or within half a turn of the joint's zero."""
        o, why = encoder.options, "no answer"
        for _ in range(_ATTEMPTS):
            try:
                reply, encoder.t_ns, _ = await self._ask(codec.position(o.address))
                within = codec.decode(reply, o.bits)
                if o.multi_turn:
                    turns = codec.decode_turns((await self._ask(codec.turns(o.address)))[0])
                else:
                    turns = -1 if within >= o.turn // 2 else 0
            except TimeoutError:
                continue
            except ProtocolError as exc:
                why = str(exc)
            else:
                encoder.counts = turns * o.turn + within
                return
        raise ConnectError(
            self.name,
            f"{self.line.where}: encoder {o.address:#04x} on {encoder.stream.columns[0].of}, asked {_ATTEMPTS} times: "
            f"{why}; {self.CHECK}",
        )

    async def _ask(self, request: bytes) -> tuple[bytes, int, int]:
        """The two bytes of the answer, when the request left and when the answer was there [ns]."""
        await self._drain()
        request_ns = await self.line.send(request)
        give_up_ns = request_ns + round(self.options.answer_s * 1e9)
        received = b""
        while (left_ns := give_up_ns - self.clock.now_ns()) > 0:
            for chunk in await self._within(left_ns * 1e-9) or ():
                received += chunk.data
                if len(received) >= codec.REPLY_BYTES:
                    if len(received) > codec.REPLY_BYTES:
                        raise ProtocolError(f"AMT21: answer of {len(received)} bytes, expected 2")
                    return received, request_ns, chunk.host_ns
        if received:
            raise ProtocolError(f"AMT21: answer of {len(received)} byte, expected 2")
        raise TimeoutError

    async def _poll(self, number: int) -> Iterable[Block]:
        blocks: list[Block] = []
        failures: list[Exception] = []
        for encoder in self._encoders:
            try:
                blocks.append(await self._measure(encoder, number))
            except (TimeoutError, ProtocolError) as exc:
                failures.append(exc)
        if not blocks:
            raise failures.pop()
        for failure in failures:
            self._missed(failure)
        return blocks

    async def _measure(self, encoder: _Encoder, number: int) -> Block:
        o = encoder.options
        reply, request_ns, host_ns = await self._ask(codec.position(o.address))
        within = codec.decode(reply, o.bits)
        step = (within - encoder.counts + o.turn // 2) % o.turn - o.turn // 2
        counts = encoder.counts + step
        farthest = self.options.max_speed * (request_ns - encoder.t_ns) * 1e-9 / abs(o.scale) + 2
        plausible = abs(step) <= farthest
        if plausible:
            encoder.counts, encoder.t_ns = counts, request_ns
        else:
            self.counters.corrupt += 1
        validity = Validity.OK if plausible else Validity.CORRUPT
        return Block(
            encoder.stream,
            number,
            host_ns=np.array([host_ns]),
            values=np.array([[counts]], dtype=np.int32),
            validity=np.array([[validity]], dtype=np.uint8),
            request_ns=np.array([request_ns]),
        )
