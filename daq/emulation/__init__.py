"""Emulation: the emulated devices of a rig and their plant, in a process of their own. See `docs/devices/README.md`."""
