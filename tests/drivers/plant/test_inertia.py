"""Mass distributions: frames, sums, and neighbours that could exist."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from heft.drivers.plant.inertia import Inertia, transform


def cloud(seed: int) -> tuple[Inertia, np.ndarray, np.ndarray]:
    """A body made of point masses, and the points."""
    rng = np.random.default_rng(seed)
    points, masses = rng.standard_normal((9, 3)), rng.uniform(0.1, 1.0, 9)
    homogeneous = np.column_stack([points, np.ones(9)])
    return Inertia(np.einsum("k,ki,kj->ij", masses, homogeneous, homogeneous)), points, masses


def test_parameters_are_the_sums_over_the_points() -> None:
    body, points, masses = cloud(0)
    tensor = sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, points, strict=True))
    np.testing.assert_allclose(body.tensor, tensor)
    named = body.parameters("link3")
    assert list(named) == [f"link3.{k}" for k in ("m", "mx", "my", "mz", "xx", "xy", "yy", "xz", "yz", "zz")]
    np.testing.assert_allclose(named["link3.m"], masses.sum())
    np.testing.assert_allclose(named["link3.my"], masses @ points[:, 1])
    np.testing.assert_allclose(named["link3.xy"], -(masses * points[:, 0] * points[:, 1]).sum())


def test_of_is_the_inverse_of_its_parts() -> None:
    body, _, _ = cloud(1)
    np.testing.assert_allclose(
        Inertia.of(body.mass, body.com, body.tensor_com).pseudo, body.pseudo, atol=1e-14
    )


def test_moving_the_frame_moves_the_points() -> None:
    body, points, masses = cloud(2)
    rotation, _ = np.linalg.qr(np.random.default_rng(3).standard_normal((3, 3)))
    rotation *= np.linalg.det(rotation)
    moved = body.moved(transform(rotation, [0.1, -0.2, 0.3]))
    np.testing.assert_allclose(moved.com, masses @ (points @ rotation.T + [0.1, -0.2, 0.3]) / masses.sum())
    np.testing.assert_allclose(np.linalg.eigvalsh(moved.tensor_com), np.linalg.eigvalsh(body.tensor_com))


@settings(deadline=None)
@given(seed=st.integers(0, 10_000), size=st.floats(0.0, 0.6))
def test_a_neighbour_could_always_exist(seed: int, size: float) -> None:
    body, _, _ = cloud(seed)
    assert body.perturbed(size, np.random.default_rng(seed)).consistent


def test_a_neighbour_is_as_far_as_its_size() -> None:
    body, _, _ = cloud(4)
    rng = np.random.default_rng(5)
    masses = np.array([body.perturbed(0.05, rng).mass for _ in range(500)])
    assert 0.08 < masses.std() / body.mass < 0.12
    np.testing.assert_allclose(body.perturbed(0.0, rng).pseudo, body.pseudo, atol=1e-14)
