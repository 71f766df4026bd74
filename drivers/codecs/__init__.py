"""Codecs: bytes to values and back, with no I/O, no clock and no await.

One module per protocol, each with its layout in its docstring. A message is a frozen dataclass with `encode()` and a
class method `decode()`; a stream parser is a small object fed with whatever bytes came, which gives back the frames in
them and counts what it had to reject. Wrong bytes, and values that do not fit their field, raise `ProtocolError` and
nothing else. Counters and codes come out raw, as the device sent them: unwrapping is done in `daq`, scaling by
the stream's columns.

Used by several protocols:

    checksums   CRC-16 X.25 and Modbus, of one message or of many rows at once
    layout      packed structures with errors that name the field
    framing     fixed-length frames in a byte stream, and how to find them again after a corruption
    modbus      Modbus RTU requests and responses
    canopen     CiA 301: NMT, SYNC, heartbeat, EMCY, PDO mapping
"""
