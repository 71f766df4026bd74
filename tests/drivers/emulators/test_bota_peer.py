"""The maker's own driver, unmodified, in a process of its own, configures and reads the emulated sensor."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys

import numpy as np
import pytest

# It keeps Python's lock while it waits, so that the emulator would stand still in the same process.
PROGRAM = """
import json, sys
import bota_driver as bota

config = bota.BotaDriverConfig()
config.product_name, config.serial_number = "PN", "SN"
config.communication_interface_name = "Bota_Binary_gen0"
line = bota.BotaBinaryCommunicationInterfaceConfig()
line.com_port, line.baudrate = sys.argv[1], 460800
config.binary_communication_interface_params = line
sensor = bota.Gen0SensorOperationConfig()
sensor.sinc_length = 128
config.gen0_sensor_operation_params = sensor
config.driver_operation_params.skip_metadata_reading = True
driver = bota.BotaDriver(config)
assert driver.configure() and driver.activate()
frames = [driver.read_frame_blocking() for _ in range(50)]
driver.deactivate()
driver.shutdown()
print("FRAMES", json.dumps([[frame.timestamp, *frame.force] for frame in frames]))
"""


@pytest.mark.slow
async def test_the_makers_driver_waits_for_the_boot_configures_and_reads(emulated, bench, quiet, missing):
    if importlib.util.find_spec("bota_driver") is None:
        missing("bota-driver, the maker's own driver, is not installed")
    async with emulated("bota_serial", **quiet) as sensor, asyncio.timeout(60):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", PROGRAM, sensor.endpoint["pty"], stdout=-1, stderr=-2
        )
        output, _ = await process.communicate()
        assert sensor._stored == (460800, 128), "what it has set and saved"
    said = output.decode()
    assert "will reboot when the port is opened" in said
    (line,) = [line for line in said.splitlines() if line.startswith("FRAMES ")]
    frames = np.array(json.loads(line.removeprefix("FRAMES ")))
    assert np.median(np.diff(frames[:, 0])) == pytest.approx(2500, rel=1e-3)
    truth = bench.wrench(np.array([bench.now()]), 0.0)[0]
    assert frames[-1, 1:] == pytest.approx(-truth[:3], abs=1.0)
