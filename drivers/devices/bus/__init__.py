"""Base classes of drivers of devices that share a CAN bus, and parts that several of them use."""
