"""Drivers of real devices: one module per kind, over `drivers.transports` with `drivers.codecs`.

Bases, of devices on a line of their own:

    wire_driver       life of all of them: connecting, stopping, loss, reconnecting, standing in of an emulator
    streaming_driver  devices that send by themselves
    polled_driver     devices that answer when they are asked

Parts:

    sequence          sequence numbers from a device's counter, or from its rate where it has none; cutting blocks
    byte_times        when a frame in a byte stream had arrived
    wrench_stream     the stream of a six-axis F/T sensor
    modbus_client     the asking side of Modbus RTU
    http_get          one HTTP request on the event loop

Devices on a CAN bus: `bus_driver`, `can_drives`, and what they name.
"""
