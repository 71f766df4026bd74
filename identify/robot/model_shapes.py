"""The shapes that a URDF or MJCF file draws of each link, and boxes around them."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pinocchio as pin

from heft.identify.bodies.arrays import Array, frozen
from heft.identify.robot.model_text import ModelText
from heft.identify.robot.pinocchio_model import build_model

__all__ = ["model_shapes", "shape_boxes"]


def model_shapes(path: Path, locked: Sequence[str] = ()) -> list[pin.GeometryObject]:
    """Collision shapes of a URDF or MJCF file, and the visual ones of links that have no others; placed in the frames
    of their joints, `locked` joints merged. A mesh that is not at hand has no say."""
    model = build_model(path, ModelText.read(path))
    kinds = (pin.GeometryType.COLLISION, pin.GeometryType.VISUAL)
    collision, visual = (_collection(path, model, kind) for kind in kinds)
    if locked:
        held = [model.getJointId(name) for name in locked]
        _, (collision, visual) = pin.buildReducedModel(model, [collision, visual], held, pin.neutral(model))
    found = list(collision.geometryObjects)
    has = {shape.parentJoint for shape in found}
    return found + [shape for shape in visual.geometryObjects if shape.parentJoint not in has]


def shape_boxes(path: Path, model: pin.Model, poses: Mapping[str, tuple[int, Array]]) -> dict[str, Array]:
    """Boxes around the collision shapes (where there are none, the visual ones) of a URDF or MJCF file.

    model   Pinocchio's model of the file, joints that are locked merged
    poses   of each link: the number of its joint, and its frame in that joint's (4, 4)

    A mesh that is not at hand (`package://...`) has no say; a link all of whose shapes are such has no box.
    """
    boxes: dict[str, Array] = {}
    for kind in (pin.GeometryType.COLLISION, pin.GeometryType.VISUAL):
        shapes = _geometry(path, model, kind)
        for link, (joint, place) in poses.items():
            corners = [_corners(shape, place) for shape in shapes if shape.parentJoint == joint]
            if corners and link not in boxes:
                points = np.concatenate(corners)
                boxes[link] = frozen(np.array([points.min(axis=0), points.max(axis=0)]))
    return boxes


def _corners(shape: pin.GeometryObject, place: Array) -> Array:
    """The eight corners of a shape's own box, in the frame of a link at `place` in the shape's joint, (8, 3)."""
    shape.geometry.computeLocalAABB()
    box = shape.geometry.aabb_local
    sides = np.stack([np.array(box.min_).ravel(), np.array(box.max_).ravel()]) * np.array(shape.meshScale)
    grid = np.stack(np.meshgrid(*sides.T, indexing="ij"), axis=-1).reshape(-1, 3)
    in_joint = grid @ shape.placement.rotation.T + shape.placement.translation
    return np.asarray((in_joint - place[:3, 3]) @ place[:3, :3])


def _geometry(path: Path, model: pin.Model, kind: pin.GeometryType) -> list[pin.GeometryObject]:
    """Shapes of a model file; none where Pinocchio cannot read them."""
    return list(_collection(path, model, kind).geometryObjects)


def _collection(path: Path, model: pin.Model, kind: pin.GeometryType) -> pin.GeometryModel:
    try:
        if path.suffix != ".urdf":
            return pin.buildGeomFromMJCF(model, str(path), kind)
        return pin.buildGeomFromUrdfString(
            model, _without_missing_meshes(path), kind, package_dirs=[str(path.parent)]
        )
    except (ValueError, RuntimeError):
        return pin.GeometryModel()


def _without_missing_meshes(path: Path) -> str:
    """A URDF's text without the shapes whose meshes are not beside it."""
    root = ModelText.read(path).root()
    for link in root.iter("link"):
        for shape in [*link.findall("collision"), *link.findall("visual")]:
            mesh = shape.find("geometry/mesh")
            if mesh is not None and not (path.parent / mesh.get("filename", "")).is_file():
                link.remove(shape)
    return ElementTree.tostring(root, encoding="unicode")
