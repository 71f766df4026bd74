"""What emulators are built from: life cycle and options, sampling by the device's clock, device models."""
