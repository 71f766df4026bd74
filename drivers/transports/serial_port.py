"""A serial port: RS-232, RS-485, USB adapters."""

from __future__ import annotations

import contextlib
import errno
import termios
from glob import glob

import serial

from heft.drivers.clock import Clock
from heft.drivers.errors import ConnectError
from heft.drivers.transports.byte_line import ByteLine

__all__ = ["SerialPort"]

_REMEDIES = {
    errno.ENOENT: "no such port; check the cable and the name",
    errno.ENODEV: "no such port; check the cable and the name",
    errno.EACCES: "permission denied; add the user to the port's group (often `dialout`) and log in again",
    errno.EPERM: "permission denied; add the user to the port's group (often `dialout`) and log in again",
    errno.EBUSY: "another program has it open; close that program",
    errno.EAGAIN: "another program has it open; close that program",
    errno.ENOTTY: "not a serial port; check the name",
}


class SerialPort(ByteLine):
    """A serial port by pyserial, opened exclusively, read and written on the event loop.

    `port` is a path (`/dev/serial/by-id/...` stays the same over re-plugging). `low_latency` asks the adapter to
    pass bytes on at once where its driver offers that: FTDI's default otherwise keeps them for up to 16 ms.
    A pseudo-terminal takes any baud rate, so a wrong one shows only on a real line.
    """

    def __init__(
        self,
        device: str,
        clock: Clock,
        *,
        port: str,
        baudrate: int,
        bytesize: int = 8,
        parity: str = "N",
        stopbits: float = 1,
        low_latency: bool = True,
    ) -> None:
        super().__init__(device, clock)
        self.port = port
        self.baudrate = baudrate
        self._bytesize, self._parity, self._stopbits = bytesize, parity, stopbits
        self._low_latency = low_latency
        self._serial: serial.Serial | None = None

    @property
    def where(self) -> str:
        return f"{self.port} at {self.baudrate} baud"

    async def _acquire(self) -> None:
        try:
            self._serial = serial.Serial(
                self.port,
                self.baudrate,
                self._bytesize,
                self._parity,
                self._stopbits,
                timeout=0,
                write_timeout=0,
                exclusive=True,
            )
        except serial.SerialException as exc:
            raise ConnectError(self.device, f"cannot open {self.where}: {self._reason(exc)}") from exc
        except (ValueError, OSError) as exc:  # a format that the port does not know
            raise ConnectError(
                self.device, f"cannot open {self.where}: {exc}; check the port's settings"
            ) from exc
        if self._low_latency:
            with contextlib.suppress(ValueError, OSError, NotImplementedError):  # not offered by every driver
                self._serial.set_low_latency_mode(True)
        self._watch(self._serial.fileno())

    def _close_files(self) -> None:
        if self._serial is not None:
            with contextlib.suppress(
                termios.error, OSError
            ):  # else closing waits for bytes that nobody takes
                self._serial.reset_output_buffer()
            self._serial.close()
            self._serial = None

    def _reason(self, exc: serial.SerialException) -> str:
        """What is wrong with the port, and what to do about it."""
        cause = exc.__context__  # pyserial keeps the number of some errors only there
        number = exc.errno or (cause.args[0] if cause is not None and cause.args else None)
        reason = _REMEDIES.get(number or 0, str(exc))
        if number == errno.ENOENT:
            found = sorted(glob("/dev/serial/by-id/*") or glob("/dev/tty[AU]*[0-9]"))
            reason += f"; found here: {', '.join(found) or 'none'}"
        return reason
