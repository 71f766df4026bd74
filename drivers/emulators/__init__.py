"""Emulators: models of devices that speak the real protocols on a real wire.

An emulator is a device model on a shared plant, a wire and faults on command:

    plant = Bench(clock)                     # or heft.drivers.sim.World: the arm that simulated drivers measure
    async with registry.create_emulator("ati_rdt", "wrist", options, plant) as wrist:
        wrist.endpoint                       # {"host": "127.0.0.1", "port": 40123, "http_port": 40125}
        plant.inject(Silence(device="wrist", at_s=plant.now(), duration_s=0.3))

Nothing here imports `heft.drivers.codecs` or `heft.drivers.devices`: the bytes were written down twice, from the same
published facts (docs/decisions/0007-independence-of-emulators.md). Emulators run in real time only.

One module per kind of device, on three folders:

    base/       Emulator, sampling by the device's clock, models of drives and of F/T sensors
    protocols/  the device's side of CANopen and Modbus RTU, and checksums
    wires/      the device's end of a serial line, of UDP and of a CAN bus, and faults on them
"""
