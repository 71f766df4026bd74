"""The device's side of protocols that several emulators speak, written apart from `heft.drivers.codecs`."""
