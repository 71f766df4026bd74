"""Codecs: bytes to values and back, with no I/O, no clock and no await.

One module per protocol. A message is a frozen dataclass with `encode()` and a class method `decode()`; a
stream parser is a small object fed with whatever bytes came, which gives back the frames in them and counts
what it had to reject. Wrong bytes, and values that do not fit their field, raise `ProtocolError` and
nothing else. Counters and codes come out raw, as the device sent them: unwrapping is the business of `daq`,
scaling that of the stream's columns.

    checksums      CRC-16 X.25 and Modbus, of one message or of many rows at once
    layout         packed structures with errors that name the field
    framing        fixed-length frames in a byte stream, and how to find them again after a corruption
    ati_rdt        ATI Net F/T, Axia and OnRobot HEX over UDP: requests and records
    ati_dialect    what differs between those boxes: status words, scales, bias, filter, rate
    ati_page       the ATI box's configuration page: scales, units, identity
    bota           Bota SensONE, Rokubi and MiniONE over serial
    robotiq_ft300  Robotiq FT 300: stream and registers
    robotiq_2f     Robotiq 2F and Hand-E grippers: registers
    robotiq_grasp  the rule that tells a pick from a drop
    modbus         Modbus RTU requests and responses
    canopen        CiA 301: NMT, SYNC, heartbeat, EMCY, PDO mapping
    cia402         drives: state machine, PDOs
    cia406         encoders
    odrive_can     ODrive CANSimple, firmware 0.5 and 0.6: frames to messages and back
    odrive_messages  the messages
    odrive_errors  the error bits in words
    mit_can        the packed protocol of T-Motor AK and Damiao actuators
    damiao         registers of Damiao actuators
    moteus         registers of moteus controllers, and the reply frame
    amt21          CUI AMT21 encoders over RS-485
"""
