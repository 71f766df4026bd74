"""A way between two postures that keeps clear: straight in the joints' space, or around (RRT-Connect, shortened).

Kuffner, LaValle 2000: two trees grow from both ends towards random postures and towards each other. Deterministic: the
random postures come from a fixed seed.
"""

from __future__ import annotations

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.excitation.preflight import looked_at
from heft.identify.excitation.scene import Scene

__all__ = ["Router"]

STEP = 0.4  # [rad] that a tree grows by
FINE = 0.02  # [rad] between two postures of a line
TRIES = 400
SHORTENINGS = 40


class Router:
    """Finds ways in a scene inside position limits `lower`, `upper` (n,)."""

    def __init__(self, scene: Scene, lower: Array, upper: Array) -> None:
        self._scene, self._lower, self._upper = scene, lower, upper

    def __call__(self, begin: Array, end: Array) -> list[Array]:
        """Postures between `begin` and `end` (n,), both left out; none where the straight way is clear, or where no
        way was found: then the check of the straight one says what is in the way."""
        if self.clear(begin, end) or not (self._free(begin) and self._free(end)):
            return []
        rng = np.random.default_rng(0)
        trees: list[list[tuple[Array, int]]] = [[(begin, -1)], [(end, -1)]]
        for number in range(TRIES):
            grown, other = trees[number % 2], trees[1 - number % 2]
            new = self._extend(grown, rng.uniform(self._lower, self._upper))
            if new is None:
                continue
            met = self._connect(other, grown[new][0])
            if met is not None:
                first, second = _path(grown, new), _path(other, met)
                whole = first[::-1] + second if number % 2 == 0 else second[::-1] + first
                return self._shortened(whole, rng)[1:-1]
        return []

    def clear(self, begin: Array, end: Array) -> bool:
        """Whether the straight way keeps clear, and the workspace."""
        count = max(2, int(np.ceil(float(np.abs(end - begin).max()) / FINE)) + 1)
        line = begin + np.linspace(0.0, 1.0, count)[:, None] * (end - begin)
        if not self._free(line[-1]):
            return False
        _, pairs, distances = looked_at(self._scene, line)
        if np.any(distances < self._scene.wanted[pairs]):
            return False
        return self._inside(line)

    def _free(self, q: Array) -> bool:
        wanted = self._scene.wanted
        return bool(np.all(self._scene.distances(q[None], wanted) >= wanted)) and self._inside(q[None])

    def _inside(self, q: Array) -> bool:
        if self._scene.workspace is None:
            return True
        points, _ = self._scene.flange(q)
        low, high = self._scene.workspace
        return bool(np.all((points >= low) & (points <= high)))

    def _extend(self, tree: list[tuple[Array, int]], towards: Array) -> int | None:
        near = int(np.argmin([np.linalg.norm(node - towards) for node, _ in tree]))
        here = tree[near][0]
        way = towards - here
        length = float(np.linalg.norm(way))
        there = towards if length <= STEP else here + way * (STEP / length)
        if not self.clear(here, there):
            return None
        tree.append((there, near))
        return len(tree) - 1

    def _connect(self, tree: list[tuple[Array, int]], towards: Array) -> int | None:
        while True:
            new = self._extend(tree, towards)
            if new is None:
                return None
            if np.array_equal(tree[new][0], towards):
                return new

    def _shortened(self, path: list[Array], rng: np.random.Generator) -> list[Array]:
        for _ in range(SHORTENINGS):
            if len(path) < 3:
                break
            i, j = sorted(rng.choice(len(path), 2, replace=False).tolist())
            if j - i > 1 and self.clear(path[i], path[j]):
                path = path[: i + 1] + path[j:]
        return path


def _path(tree: list[tuple[Array, int]], node: int) -> list[Array]:
    """From a node to the tree's root."""
    found = []
    while node >= 0:
        posture, node = tree[node]
        found.append(posture)
    return found
