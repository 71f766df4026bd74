"""What the RDT driver does besides what all drivers do."""

from __future__ import annotations

import numpy as np
import pytest

from heft.drivers.block import Validity
from heft.drivers.errors import ConnectError, DeviceLost, OptionError
from heft.drivers.plant.faults import Silence, Stuck


async def read(driver, samples):
    blocks = []
    async for block in driver:
        blocks.append(block)
        if sum(map(len, blocks)) >= samples:
            await driver.stop()
    return blocks


async def test_a_start_that_gets_lost_is_asked_again(bench, emulated, driver):
    async with emulated("ati_rdt") as box, driver("ati_rdt", box, host="x") as wrist:
        bench.inject(Silence(device="device", at_s=bench.now(), duration_s=0.15))
        assert await read(wrist, 10)


async def test_another_client_takes_the_stream_away(emulated, driver):
    async with (
        emulated("ati_rdt") as box,
        driver("ati_rdt", box, host="x", timeout_s=0.1) as wrist,
        driver("ati_rdt", box, host="x") as thief,
    ):

        async def share() -> None:
            async for _ in wrist:
                await read(thief, 5)

        with pytest.raises(DeviceLost, match="no other program has taken its stream"):
            await share()


async def test_a_box_that_has_stopped_measuring_is_stale(bench, emulated, driver):
    async with emulated("ati_rdt") as box, driver("ati_rdt", box, host="x") as wrist:
        bench.inject(Stuck(device="device", at_s=bench.now() + 0.05))
        blocks = await read(wrist, 200)
    validity = np.concatenate([b.validity[:, 0] for b in blocks])
    assert validity[0] == Validity.OK
    assert (validity[-50:] == Validity.STALE).all()
    assert np.isnan(blocks[-1].si).all()


async def test_sequence_wraps_without_a_gap(emulated, driver):
    async with (
        emulated("ati_rdt", first_record=(1 << 32) - 20) as box,
        driver("ati_rdt", box, host="x") as wrist,
    ):
        blocks = await read(wrist, 60)
        assert (np.diff(np.concatenate([np.arange(b.sequence, b.next_sequence) for b in blocks])) == 1).all()
        assert wrist.counters.lost == 0


async def test_units_of_the_box_are_compared_with_the_file(emulated, driver):
    pound = 4.4482216152605 / 1e6
    async with emulated("ati_rdt", force_unit="lbf") as box:
        async with driver("ati_rdt", box, host="x", force_scale=pound) as wrist:
            assert wrist.streams[0].columns[0].scale == pound
        with pytest.raises(ConnectError, match=r"force_scale is 4.44822e-06 N per count on the box, 1e-06"):
            await driver("ati_rdt", box, host="x").__aenter__()


async def test_serial_number_and_sign(bench, emulated, driver):
    async with emulated("ati_rdt", serial="FT2", force_noise=0.0, force_bias=0.0) as box:
        with pytest.raises(ConnectError, match=r"serial is 'FT2', 'FT1' in the rig's file"):
            await driver("ati_rdt", box, host="x", serial="FT1").__aenter__()
        async with driver("ati_rdt", box, host="x", serial="FT2", reaction=True) as wrist:
            assert wrist.identity.serial == "FT2"
            si = (await read(wrist, 5))[-1].si[-1]
    assert si[2] == pytest.approx(-bench.wrench(np.array([bench.now()]), 0.0)[0, 2], abs=0.2)


def test_onrobot_settings_that_the_box_cannot_take(driver):
    with pytest.raises(OptionError, match=r"device: onrobot: 300.0 Hz is a period of 3.33333 ms"):
        driver("onrobot_hex", host="x", rate_hz=300.0)
    with pytest.raises(OptionError, match=r"device: onrobot: filter 100.0 Hz"):
        driver("onrobot_hex", host="x", filter_hz=100.0)
