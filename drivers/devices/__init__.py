"""Drivers of real devices: one module per kind, over `drivers.transports` with `drivers.codecs`.

wire_driver   base of all: silence, stopping, gaps, reconnecting, standing in of an emulator
sequence      sequence numbers from a device's counter, or from its rate where it has none
"""
