"""Drivers of real devices: one module per kind, over `heft.drivers.transports` with `heft.drivers.codecs`.

Driver                                 heft.drivers.driver: the interface that `daq` uses
+-- DeviceDriver                       base/device_driver: options, identity, redirection to an emulator
    +-- WireDriver                     base/wire_driver: one device on a line of its own; loss, reconnecting, stop
    |   +-- StreamingDriver            base/streaming_driver: the device sends by itself
    |   +-- PolledDriver               base/polled_driver: the device answers requests
    +-- CycleDriver                    bus/cycle_driver: axes that share a line, one request cycle for all of them
        +-- BusDriver                  bus/bus_driver: on a CAN bus
        +-- FollowingDrives            bus/following_drives: drives, all axes of an arm as one Actuator
            +-- CanDrives              bus/can_drives: on a CAN bus (and a BusDriver)
            +-- ServoDrives            bus/servo_drives: servos on a half-duplex serial line
            +-- Ros2                   ros2: an arm under ros2_control, over DDS

base/sequence             sequence numbers from a counter, from the rate, or from arrival times; cutting blocks
base/byte_times           arrival times of frames in a byte stream
base/wrench_stream        the stream of a six-axis F/T sensor
base/modbus_client        the requesting side of Modbus RTU
base/http_get             one HTTP request on the event loop
bus/row_assembler         interface: values of single axes in, rows of a stream out
bus/cycle_assembler       rows from the answers to one request
bus/broadcast_assembler   rows from axes that send by themselves, each by its own clock
bus/stamped_rows          rows that come whole, each with a stamp of its publisher's clock
bus/trajectory_window     what a controller of trajectories is told each time: it ends at rest
bus/block_builder         blocks from rows
bus/can_options           keys of the rig's file that name a bus
bus/bus_load              share of the bus that the traffic takes
bus/servo_client          registers of servos, one after the other, before the cycle begins
bus/canopen_setup         SDO and NMT, in a thread, before the cycle begins
"""
