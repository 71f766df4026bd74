"""Transports: bytes, datagrams and frames between this host and a device. The interface is `transport.Transport`.

transport        the interface; Chunk (bytes of a stream) and Datagram
serial_port      a serial port; pty_port: the device's end of one, on a pseudo-terminal
byte_line        what both share: a byte stream on a file descriptor
udp              datagrams over UDP
can_link         a CAN bus on the event loop; can_bus: opening one; can_frame: one frame
dds              topics of ROS 2 over DDS; ros2_types: the types of their messages
process_bus      a CAN bus inside this process; multicast_bus: one between processes
inbox            items received and not yet taken, bounded
receive_time     from the kernel's receive stamp to host time
stamped_socket   a datagram socket with the kernel's receive stamps
descriptor       a file descriptor on the event loop; bridge: a thread for what has none
faults           loss, corruption and delay on command
"""
