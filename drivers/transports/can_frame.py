"""One frame of a CAN bus, classic or FD; pure, so that codecs need no CAN library."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CanFrame"]

#: Payload lengths that CAN FD can carry [byte].
FD_LENGTHS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 32, 48, 64)
_BUS_OFF = 0x40  # error class bit in the identifier of an error frame, linux/can/error.h


@dataclass(frozen=True, slots=True)
class CanFrame:
    """Identifier and up to 8 (classic) or 64 (FD) bytes.

    id              11 bit, 29 bit where `extended`; of an error frame the error class bits
    data            payload; empty for a remote request
    remote          a request for the frame with this identifier (RTR)
    fd              CAN FD; `bitrate_switch`: payload at the faster rate
    error           not data but the controller's report of trouble on the bus
    host_ns         when it was received, host clock [ns]; 0 in a frame to be sent, or when an emulated device sent it
    """

    id: int
    data: bytes = b""
    extended: bool = False
    remote: bool = False
    fd: bool = False
    bitrate_switch: bool = False
    error: bool = False
    host_ns: int = 0

    def __post_init__(self) -> None:
        bits = 29 if self.extended else 11
        if not 0 <= self.id < 1 << bits:
            raise ValueError(
                f"CAN identifier {self.id:#x} does not fit {bits} bits; set `extended` for 29 bits"
            )
        length = len(self.data)
        if self.fd:
            if length not in FD_LENGTHS:
                raise ValueError(f"CAN FD cannot carry {length} bytes; pad to one of {FD_LENGTHS}")
        elif length > 8:
            raise ValueError(
                f"a classic CAN frame carries at most 8 bytes, got {length}; set `fd` or split it"
            )
        if self.remote and (self.fd or length):
            raise ValueError("a remote request is a classic frame without payload")

    def received(self, host_ns: int) -> CanFrame:
        """The same frame with its time of arrival [ns, host clock]."""
        return CanFrame(
            self.id,
            self.data,
            self.extended,
            self.remote,
            self.fd,
            self.bitrate_switch,
            self.error,
            host_ns,
        )

    @property
    def bus_off(self) -> bool:
        """The controller says that it has left the bus."""
        return self.error and bool(self.id & _BUS_OFF)
