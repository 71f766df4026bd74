"""Base classes of drivers of real devices, and parts that several of them use."""
