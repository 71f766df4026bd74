"""The device's end of its line, with bit rate and faults: a pseudo-terminal, UDP on loopback, a CAN bus."""
