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
    async with emulated("ati_rdt") as box, driver("ati_rdt", box, host="x", measure_s=0.05) as wrist:
        bench.inject(Silence(device="device", at_s=bench.now(), duration_s=0.15))
        assert await read(wrist, 10)


async def test_another_client_takes_the_stream_away(emulated, driver):
    async with (
        emulated("ati_rdt") as box,
        driver("ati_rdt", box, host="x", measure_s=0.05, timeout_s=0.1) as wrist,
        driver("ati_rdt", box, host="x", measure_s=0.05) as thief,
    ):

        async def share() -> None:
            async for _ in wrist:
                await read(thief, 5)

        with pytest.raises(DeviceLost, match="no other program has taken its stream"):
            await share()


async def test_a_box_that_has_stopped_measuring_is_stale(bench, emulated, driver):
    async with emulated("ati_rdt") as box, driver("ati_rdt", box, host="x", measure_s=0.05) as wrist:
        bench.inject(Stuck(device="device", at_s=bench.now() + 0.05))
        blocks = await read(wrist, 200)
    validity = np.concatenate([b.validity[:, 0] for b in blocks])
    assert validity[0] == Validity.OK
    assert (validity[-50:] == Validity.STALE).all()
    assert np.isnan(blocks[-1].si).all()


async def test_full_scale_is_no_measurement_whatever_the_status_says(bench, emulated, driver, monkeypatch):
    async with emulated("ati_rdt") as box, driver("ati_rdt", box, host="x") as wrist:
        measured = box._model.read

        def at_the_rail(t):
            counts, _ = measured(t)
            counts[:, 2] = (1 << 31) - 1
            counts[:, 4] = -(1 << 31)
            return counts, np.zeros(len(counts), dtype=bool)  # the box says that all is well

        monkeypatch.setattr(box._model, "read", at_the_rail)
        blocks = await read(wrist, 60)
    last = blocks[-1]
    assert (
        last.validity[-1] == np.where(np.isin(np.arange(6), (2, 4)), Validity.SATURATED, Validity.OK)
    ).all()
    assert np.isnan(last.si[-1, [2, 4]]).all()


async def test_sequence_wraps_without_a_gap(emulated, driver):
    async with (
        emulated("ati_rdt", first_record=(1 << 32) - 20) as box,
        driver("ati_rdt", box, host="x", measure_s=0.05) as wrist,
    ):
        blocks = await read(wrist, 60)
        assert (np.diff(np.concatenate([np.arange(b.sequence, b.next_sequence) for b in blocks])) == 1).all()
        assert wrist.counters.lost == 0


async def test_units_of_the_box_are_compared_with_the_file(emulated, driver):
    pound = 4.4482216152605 / 1e6
    async with emulated("ati_rdt", force_unit="lbf") as box:
        async with driver("ati_rdt", box, host="x", measure_s=0.05, force_scale=pound) as wrist:
            assert wrist.streams[0].columns[0].scale == pound
        with pytest.raises(ConnectError, match=r"force_scale is 4.44822e-06 N per count on the box, 1e-06"):
            await driver("ati_rdt", box, host="x", measure_s=0.05).__aenter__()


async def test_serial_number_and_sign(bench, emulated, driver):
    async with emulated("ati_rdt", serial="FT2", force_noise=0.0, force_bias=0.0) as box:
        with pytest.raises(ConnectError, match=r"serial is 'FT2' or 'LOT0001', 'FT1' in the rig's file"):
            await driver("ati_rdt", box, host="x", measure_s=0.05, serial="FT1").__aenter__()
        async with driver("ati_rdt", box, host="x", measure_s=0.05, serial="FT2", reaction=True) as wrist:
            assert wrist.identity.serial == "FT2"
            si = (await read(wrist, 5))[-1].si[-1]
    assert si[2] == pytest.approx(-bench.wrench(np.array([bench.now()]), 0.0)[0, 2], abs=0.2)


@pytest.mark.parametrize("serial", ["FT27462", "LOT2821"])
async def test_the_numbers_on_the_page_are_those_of_firmware_2_2_59(emulated, driver, serial):
    async with (
        emulated("ati_rdt", serial="FT27462", board="LOT2821") as box,
        driver("ati_rdt", box, host="x", measure_s=0.05, serial=serial) as wrist,
    ):
        assert (wrist.identity.serial, wrist.identity.firmware) == ("FT27462", "2.2.59")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"transform": (0, 0, 132.71, 0, 0, 0)},
            r"a tool transform is set on the box \(0; 0; 132.71; 0; 0; 0\)",
        ),
        ({"filter": 3}, r"filter is 3 on the box, 0 in the rig's file"),
        ({"enabled": False}, r"RDT is switched off on the box"),
    ],
)
async def test_what_the_box_is_set_to_is_not_passed_over(emulated, driver, settings, words):
    async with emulated("ati_rdt", **settings) as box:
        with pytest.raises(ConnectError, match=words):
            await driver("ati_rdt", box, host="x", measure_s=0.05).__aenter__()


@pytest.mark.parametrize(
    ("internal_hz", "told_hz"),
    [(7812.0, None), (976.0, None), pytest.param(7812.0, 7912.0, marks=pytest.mark.slow)],
)
async def test_the_clock_of_an_axia_is_as_fast_as_its_user_has_set_it(emulated, driver, internal_hz, told_hz):
    """Its page tells the rate, and is not always right: then what was measured counts."""
    async with (
        emulated(
            "ati_rdt", page="axia", internal_hz=internal_hz, told_internal_hz=told_hz, rate_hz=500.0
        ) as box,
        driver("ati_rdt", box, host="x", dialect="axia", rate_hz=500.0) as wrist,
    ):
        (stream,) = wrist.streams
        assert stream.tick_hz == pytest.approx(internal_hz, rel=1e-3)
        blocks = await read(wrist, 20)
        assert blocks[0].stream.tick_hz == stream.tick_hz


async def test_a_tick_rate_that_is_not_the_boxs_is_refused(emulated, driver):
    async with emulated("ati_rdt", page="axia", internal_hz=3906.0) as box:
        with pytest.raises(
            ConnectError, match=r"ft_sequence goes on at 3\d\d\d.\d Hz, 7000 Hz was expected; correct"
        ):
            await driver("ati_rdt", box, host="x", measure_s=0.2, tick_hz=7000.0).__aenter__()


def test_onrobot_settings_that_the_box_cannot_take(driver):
    with pytest.raises(OptionError, match=r"device: onrobot: 300.0 Hz is a period of 3.33333 ms"):
        driver("onrobot_hex", host="x", rate_hz=300.0)
    with pytest.raises(OptionError, match=r"device: onrobot: filter 100.0 Hz"):
        driver("onrobot_hex", host="x", filter_hz=100.0)
