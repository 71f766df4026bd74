"""Random design requests, judged by another engine: every one ends in a motion that keeps everything, or in a message
that names a bound which is then shown to bind.

    python benchmarks/excitation.py [--requests 100] [--seed 0] [--budget 30]

Arms, limits, scenes and mountings are drawn by seed. A motion is looked at by MuJoCo on a grid of its own (inverse
dynamics, and distances between its own geoms), at 200 samples per second; a message by loosening the bound it names.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np

from heft.daq.config.robot import load_robot
from heft.daq.config.scene import MountingConfig, ObstacleConfig, SceneConfig
from heft.designing import robot_limits
from heft.identify.errors import HeftError
from heft.identify.excitation.design import design
from heft.identify.excitation.request import DesignRequest
from heft.identify.excitation.scene import BASE, MOUNTING_PLANE, Scene

CONFIGS = Path(__file__).parents[1] / "configs/robots"
ARMS = ("panda", "wam7", "ddarm")
RATE_HZ = 200.0
ROUNDING_M = 2e-3  # two engines about one distance: shapes with edges
RADIUS_M = 0.05  # around links that are drawn nowhere
CRITERIA = ("d", "condition", "e", "worst")


def drawn(rng: np.random.Generator) -> tuple[DesignRequest, str]:
    """A request, and what is special about it."""
    config = load_robot(CONFIGS / f"{rng.choice(ARMS)}.yaml")
    share = {key: float(rng.uniform(0.3, 1.0)) for key in ("velocity", "acceleration", "torque")}
    if rng.random() < 0.15:
        share[str(rng.choice(list(share)))] *= float(10.0 ** rng.uniform(-4, -1))
    joints = {}
    for name, joint in config.joints.items():
        low, high = joint.position
        width = (high - low) * float(rng.uniform(0.4, 1.0))
        begin = low + float(rng.uniform(0.0, 1.0)) * (high - low - width)
        joints[name] = joint.model_copy(
            update={"position": (begin, begin + width)}
            | {key: getattr(joint, key) * factor for key, factor in share.items()}
        )
    config = config.model_copy(update={"joints": joints})
    obstacles: dict[str, ObstacleConfig] = {}
    for number in range(int(rng.integers(0, 4))):
        place = rng.uniform(-1.0, 1.0, 3)
        place = tuple((place / np.linalg.norm(place) * rng.uniform(0.4, 1.2)).tolist())
        turned = tuple(rng.uniform(-1.0, 1.0, 3).tolist())
        kind = rng.choice(["box", "sphere", "capsule", "cylinder"])
        size = float(rng.uniform(0.05, 0.3))
        shape = {
            "box": {"box": tuple(rng.uniform(0.05, 0.6, 3).tolist())},
            "sphere": {"sphere": size},
            "capsule": {"capsule": {"radius": size / 2, "length": 2 * size}},
            "cylinder": {"cylinder": {"radius": size / 2, "length": 2 * size}},
        }[str(kind)]
        obstacles[f"obstacle{number}"] = ObstacleConfig.model_validate({**shape, "at": place, "rpy": turned})
    height = config.scene.mounting.height if config.scene.mounting is not None else 0.0
    mounting = MountingConfig(
        height=height - float(rng.choice([0.0, 0.3])),
        plane=bool(rng.random() < 0.8) and config.name != "ddarm",
    )
    scene = config.scene.extended(SceneConfig(obstacles=obstacles, mounting=mounting))
    request = DesignRequest(
        config,
        scene,
        robot_limits(config),
        seconds=float(rng.choice([10.0, 20.0])),
        harmonics=int(rng.choice([4, 5])),
        criterion=str(rng.choice(CRITERIA)),
        seed=int(rng.integers(1000)),
        starts=1,
    )
    return request, f"{config.name}, {len(obstacles)} obstacles, plane {mounting.plane}"


def judged(request: DesignRequest, q: np.ndarray, dq: np.ndarray, ddq: np.ndarray) -> list[str]:
    """What MuJoCo has against a motion (T, n)."""
    spec = mujoco.MjSpec.from_file(str(CONFIGS / f"{request.config.name}.xml"))
    for name, obstacle in request.scene.obstacles.items():
        _add(spec, name, obstacle)
    _draw(spec)
    balanced = request.config.name == "ddarm"  # its published inertia breaks the triangle inequality
    spec.compiler.balanceinertia = balanced
    model = spec.compile()
    data = mujoco.MjData(model)
    scene = Scene(request.config, request.robot, request.scene)  # which pairs count; distances are MuJoCo's
    height = request.scene.mounting.height if request.scene.mounting is not None else 0.0
    wrong: Counter[str] = Counter()
    limits = request.limits
    for label, out in (
        ("position", (q > limits.upper + 1e-9) | (q < limits.lower - 1e-9)),
        ("velocity", np.abs(dq) > limits.velocity + 1e-9),
        ("acceleration", np.abs(ddq) > limits.acceleration + 1e-9),
    ):
        wrong[label] += int(out.sum())
    geoms = {part: _geoms(model, part) for pair in scene.pairs for part in pair if part != MOUNTING_PLANE}
    bound = np.array([joint.torque for joint in request.config.joints.values()])
    robot = request.robot
    n = len(robot.joints)
    links = 10 * n
    friction = robot.torque(q, dq, ddq, np.concatenate([np.zeros(links), robot.prior[links:]]))
    pairs = {
        pair: min(w for p, w in zip(scene.pairs, scene.wanted, strict=True) if p == pair)
        for pair in scene.pairs
    }
    model.dof_armature[:], model.dof_damping[:], model.dof_frictionloss[:] = 0.0, 0.0, 0.0
    for i in range(len(q)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[i], dq[i], ddq[i]
        mujoco.mj_inverse(model, data)
        wrong["torque"] += not balanced and int(np.any(np.abs(data.qfrc_inverse + friction[i]) > bound))
        if i % 4:
            continue
        for (one, other), wanted in pairs.items():
            if other == MOUNTING_PLANE:
                far = min(_lowest(model, data, geom) for geom in geoms[one]) - height
            else:
                far = min(
                    mujoco.mj_geomDistance(model, data, a, b, 1.0, None)
                    for a in geoms[one]
                    for b in geoms[other]
                )
            wrong[f"{one} and {other}"] += int(far < wanted - ROUNDING_M)
    return [f"{label} at {count} samples" for label, count in wrong.items() if count]


def _draw(spec: mujoco.MjSpec) -> None:
    """Capsules of 5 cm from joint to joint around links that the file draws nowhere, as the documentation says."""
    kinds = mujoco.mjtGeom
    drawn = any(body.geoms for body in spec.bodies if body.name != "world")
    for body in [] if drawn else [body for body in spec.bodies if body.name != "world"]:
        for child in body.bodies or [None]:
            if child is None or np.linalg.norm(child.pos) < 1e-3:
                body.add_geom(type=kinds.mjGEOM_SPHERE, size=[RADIUS_M, 0.0, 0.0])
            else:
                ends = [0.0, 0.0, 0.0, *child.pos]
                body.add_geom(type=kinds.mjGEOM_CAPSULE, size=[RADIUS_M, 0.0, 0.0], fromto=ends)


def _add(spec: mujoco.MjSpec, name: str, obstacle: ObstacleConfig) -> None:
    kinds = mujoco.mjtGeom
    if obstacle.box is not None:
        kind, size = kinds.mjGEOM_BOX, [side / 2 for side in obstacle.box]
    elif obstacle.sphere is not None:
        kind, size = kinds.mjGEOM_SPHERE, [obstacle.sphere, 0.0, 0.0]
    else:
        round_ = obstacle.capsule or obstacle.cylinder
        assert round_ is not None
        kind = kinds.mjGEOM_CAPSULE if obstacle.capsule else kinds.mjGEOM_CYLINDER
        size = [round_.radius, round_.length / 2, 0.0]
    quat = np.zeros(4)
    mujoco.mju_euler2Quat(quat, np.array(obstacle.rpy), "XYZ")  # about fixed axes, x first
    spec.worldbody.add_geom(name=name, type=kind, size=size, pos=list(obstacle.at), quat=quat.tolist())


def _geoms(model: mujoco.MjModel, part: str) -> list[int]:
    """The geoms of a link, of the base that stands still, or an obstacle's."""
    body = 0 if part == BASE else mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, part)
    if part != BASE and body < 0:
        geom = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, part)
        if geom < 0:
            raise KeyError(f"{part}: MuJoCo's model has neither a body nor a geom of this name")
        return [geom]
    own = {body} | {b for b in range(model.nbody) if model.body_weldid[b] == model.body_weldid[body]}
    return [
        g
        for g in range(model.ngeom)
        if model.geom_bodyid[g] in own and not (part == BASE and model.geom(g).name)
    ]


def _lowest(model: mujoco.MjModel, data: mujoco.MjData, geom: int) -> float:
    """Height of a geom's lowest point [m]."""
    R = data.geom_xmat[geom].reshape(3, 3)
    a, b, c = model.geom_size[geom]
    z = float(data.geom_xpos[geom][2])
    kind = model.geom_type[geom]
    if kind == mujoco.mjtGeom.mjGEOM_BOX:
        return z - float(np.abs(R[2]) @ [a, b, c])
    if kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
        return z - abs(float(R[2, 2])) * b - a
    if kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        return z - abs(float(R[2, 2])) * b - a * float(np.hypot(R[2, 0], R[2, 1]))
    return z - a


def named(message: str) -> tuple[str, str] | None:
    """The bound that a message names: what it is, and of which joint or between which parts; None: it names none."""
    for pattern, kind, of in (
        (r"(\w+): its (position|velocity|acceleration) limit", 2, 1),
        (r"the (position|velocity|acceleration|torque) limit of (\w+)", 1, 2),
        (r"(torque|stop) of (\w+)", 1, 2),
    ):
        if found := re.search(pattern, message):
            return found[kind], found[of]
    pair = re.search(r"(\w+ and \w+)(?:: -?[0-9.]+ m apart| is left)", message)
    return None if pair is None else ("distance", pair[1])


def loosened(request: DesignRequest, bound: tuple[str, str]) -> DesignRequest:
    """The request without this bound, all others as they are."""
    kind, of = bound
    config, scene = request.config, request.scene
    if kind == "distance":
        pair = tuple(of.split(" and "))
        scene = scene.model_copy(update={"separate": (*scene.separate, pair)})
    elif kind == "stop":
        config = config.model_copy(
            update={"excitation": config.excitation.model_copy(update={"keep_stop": False})}
        )
    else:
        shipped = load_robot(CONFIGS / f"{config.name}.yaml").joints[of]
        value = 1e4 if kind == "torque" else getattr(shipped, kind)
        joint = config.joints[of].model_copy(update={kind: value})
        config = config.model_copy(update={"joints": {**config.joints, of: joint}})
    return replace(request, config=config, scene=scene, limits=robot_limits(config))


def refused(request: DesignRequest, message: str) -> str:
    """Whether the bound that a message names binds: without it there is a motion, or another bound is in the way."""
    bound = named(message)
    if bound is None:
        return "names no bound"
    try:
        design(loosened(request, bound))
    except HeftError as again:
        return "does not bind" if named(str(again)) in (bound, None) else "binds"
    return "binds"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget", type=float, default=30.0)
    arguments = parser.parse_args()
    ends: Counter[str] = Counter()
    for number in range(arguments.first, arguments.first + arguments.requests):
        request, what = drawn(np.random.default_rng([arguments.seed, number]))
        request = replace(request, budget_s=arguments.budget)
        begin = time.monotonic()
        try:
            made = design(request)
        except HeftError as exc:
            end, said = f"refused, {refused(request, str(exc))}", str(exc)
        else:
            t = np.arange(round(request.seconds * RATE_HZ) + 1) / RATE_HZ
            wrong = judged(request, *made.series.at(t))
            end = "in between" if wrong or not made.limits_ok else "feasible"
            said = "; ".join(wrong) or f"condition {made.condition_number:.0f}"
        ends[end] += 1
        print(f"{number:3d} {what}: {end} ({time.monotonic() - begin:.0f} s): {said[:160]}", flush=True)
    print(", ".join(f"{count} {end}" for end, count in sorted(ends.items())))
    return 0 if ends.keys() <= {"feasible", "refused, binds"} else 1


if __name__ == "__main__":
    sys.exit(main())
