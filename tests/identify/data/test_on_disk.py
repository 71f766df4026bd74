"""Tables on disk: indexed like arrays."""

from __future__ import annotations

import numpy as np
import pytest

from heft.identify.data import Dataset
from heft.identify.data.on_disk import OnDisk


@pytest.mark.parametrize("dtype", ["<f8", "<f4", "<i4"])
def test_what_comes_out_is_what_went_in(dtype: str) -> None:
    table = np.random.default_rng(0).normal(0, 100, (1000, 3)).astype(dtype)
    disk = OnDisk(table)
    assert (disk.shape, disk.dtype, len(disk)) == (table.shape, table.dtype, 1000)
    for rows in (slice(0, 10), slice(990, 2000), slice(-5, None), slice(7, 7), slice(9, 3), slice(0, 100, 7)):
        np.testing.assert_array_equal(disk[rows], table[rows])
    picked = np.array([5, 900, 5, 17])
    np.testing.assert_array_equal(disk[picked], table[picked])
    np.testing.assert_array_equal(disk[table[:, 0] > 0], table[table[:, 0] > 0])
    np.testing.assert_array_equal(disk[np.zeros(0, int)], table[:0])
    np.testing.assert_array_equal(np.asarray(disk), table)


def test_a_dataset_on_disk_is_the_same_dataset() -> None:
    rng = np.random.default_rng(0)
    data = Dataset.from_arrays(np.arange(500) * 1e-3, rng.normal(size=(500, 2)), rng.normal(size=(500, 2)))
    disk = data.on_disk()
    assert disk.fingerprint == data.fingerprint
    np.testing.assert_array_equal(disk.between(0.1, 0.2).q, data.between(0.1, 0.2).q)
