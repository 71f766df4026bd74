"""Where an arm's links are, as `/tf` of ROS 2: packed as arrays, like the other standard messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heft.daq.record.standard import HEADER_TEXT, RULE, Image
from heft.drivers.stream import Stream

__all__ = ["TF", "TF_TEXT", "LinkFrames", "TransformPacker"]

TF = "tf2_msgs/msg/TFMessage"
TF_TEXT = f"""\
geometry_msgs/TransformStamped[] transforms
{RULE}
MSG: geometry_msgs/TransformStamped
std_msgs/Header header
string child_frame_id
geometry_msgs/Transform transform
{HEADER_TEXT}{RULE}
MSG: geometry_msgs/Transform
geometry_msgs/Vector3 translation
geometry_msgs/Quaternion rotation
{RULE}
MSG: geometry_msgs/Vector3
float64 x
float64 y
float64 z
{RULE}
MSG: geometry_msgs/Quaternion
float64 x
float64 y
float64 z
float64 w
"""


@dataclass(frozen=True, eq=False)
class LinkFrames:
    """The joints of an arm as a viewer needs them: pose of a child in its parent = placement J(q).

    joints, parents, children   names, n each
    placement                   of each joint in its parent's frame (n, 4, 4)
    axis                        unit vectors in the joint's frame (n, 3)
    prismatic                   J is a slide [m], else a turn [rad] (n,)
    """

    joints: tuple[str, ...]
    parents: tuple[str, ...]
    children: tuple[str, ...]
    placement: NDArray[np.float64]
    axis: NDArray[np.float64]
    prismatic: NDArray[np.bool_]

    def columns(self, stream: Stream) -> list[int] | None:
        """Places of the joints' positions in a stream; None where it has not all of them."""
        names = [column.name for column in stream.columns]
        wanted = [f"{joint}.position" for joint in self.joints]
        return [names.index(name) for name in wanted] if set(wanted) <= set(names) else None

    def transforms(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Translation x y z [m] and quaternion x y z w of each joint at positions q (N, n): (N, n, 7)."""
        half = np.where(self.prismatic, 0.0, q) / 2
        turned = np.concatenate([self.axis * np.sin(half)[..., None], np.cos(half)[..., None]], axis=-1)
        fixed = np.stack([_quaternion(one[:3, :3]) for one in self.placement])
        slide = self.axis * np.where(self.prismatic, q, 0.0)[..., None]
        moved = np.einsum("jab,njb->nja", self.placement[:, :3, :3], slide)
        return np.concatenate([self.placement[:, :3, 3] + moved, _product(fixed, turned)], axis=-1)


class TransformPacker:
    """Packs positions of all joints as TFMessages."""

    def __init__(self, frames: LinkFrames) -> None:
        self._frames = frames
        image = Image()
        image.count(len(frames.joints))
        for k, (parent, child) in enumerate(zip(frames.parents, frames.children, strict=True)):
            image.header(parent, f" {k}")
            image.string(child)
            image.numbers(f"pose {k}", 7)
        self._image, self._dtype = bytes(image.data), image.dtype

    def pack(self, utc_ns: NDArray[np.int64], q: NDArray[np.float64]) -> NDArray[np.uint8]:
        """N messages, one per row, from times (N,) and positions (N, n)."""
        rows = np.frombuffer(bytearray(self._image) * len(utc_ns), self._dtype)
        seconds, rest = np.divmod(utc_ns, 1_000_000_000)
        poses = self._frames.transforms(q)
        for k in range(poses.shape[1]):
            rows[f"sec {k}"], rows[f"nanosec {k}"] = seconds, rest
            rows[f"pose {k}"] = poses[:, k]
        return rows.view(np.uint8).reshape(len(utc_ns), len(self._image))


def _product(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Product of quaternions x y z w."""
    ax, ay, az, aw = np.moveaxis(a, -1, 0)
    bx, by, bz, bw = np.moveaxis(b, -1, 0)
    parts: Sequence[NDArray[np.float64]] = (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )
    return np.stack(parts, axis=-1)


def _quaternion(R: NDArray[np.float64]) -> NDArray[np.float64]:
    """x y z w of a rotation (3, 3): the eigenvector of Bar-Itzhack's symmetric matrix, stable for every angle."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = R
    K = np.array(
        [
            [xx - yy - zz, yx + xy, zx + xz, zy - yz],
            [yx + xy, yy - xx - zz, zy + yz, xz - zx],
            [zx + xz, zy + yz, zz - xx - yy, yx - xy],
            [zy - yz, xz - zx, yx - xy, xx + yy + zz],
        ]
    )
    q = np.linalg.eigh(K)[1][:, -1]
    return q if q[3] >= 0 else -q
