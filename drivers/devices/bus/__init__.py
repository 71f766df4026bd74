"""Base classes of drivers of axes that share a line, a CAN bus or a serial one, and parts that several of them use."""
