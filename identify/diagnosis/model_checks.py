"""A robot's model by itself: links that could not exist, inertias of another unit, limits that say nothing."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from heft.identify.bodies.arrays import Array
from heft.identify.bodies.consistency import LEVELS, consistency, half_diagonal
from heft.identify.bodies.pseudo_inertia import inertia_about_com
from heft.identify.diagnosis.finding import Finding, Severity
from heft.identify.robot import Robot

__all__ = ["check_bodies", "check_limits_of", "check_meshes"]

WIDER = 3.0  # radius of gyration over half the diagonal of a link's box: no mass lies out there
HEAVIEST = 1000.0  # [kg] of a link
TURNS = 10  # to one side
FASTEST = 60.0  # [rad/s]: beyond, a limit is in degrees
MEANING = "a prior that cannot be is contradicted by every fit, or pulls it to where nothing can be"


def check_bodies(robot: Robot) -> list[Finding]:
    """Every link at the levels mass, inertia and full; and whether its inertia is of its own size."""
    if robot.prior is None:
        return []
    found: list[Finding] = []
    for i, link in enumerate(robot.links):
        ten = robot.prior[10 * i : 10 * i + 10]
        if not np.any(ten):
            continue
        box = robot.extents.get(link)
        for level in LEVELS[:3]:
            answer = consistency(ten, level, box=box)
            if not answer.ok:
                severity: Severity = "note" if abs(answer.margin) < 1e-6 else "serious"
                found.append(
                    Finding(
                        "model_inconsistent",
                        severity,
                        link,
                        f"it fails at level {level} ({answer.culprit}), margin {answer.margin:.2g}, must be above 0",
                        MEANING,
                        f"correct mass, centre or inertia of {link} in the model file",
                        None,
                        110.0,
                    )
                )
                break
        else:
            found += _size(link, ten, box)
    return found


def _size(link: str, ten: Array, box: Array | None) -> list[Finding]:
    """A body whose inertia is that of another size."""
    mass = float(ten[0])
    radius = float(np.sqrt(max(np.trace(inertia_about_com(ten)), 0.0) / (2 * mass)))
    if mass > HEAVIEST:
        text = f"it weighs {mass:.3g} kg, at most {HEAVIEST:g} are believed: grams?"
    elif box is not None and radius > WIDER * half_diagonal(box) > 0:
        text = (
            f"its radius of gyration is {radius:.3g} m, its shape reaches {half_diagonal(box):.2g} m: an "
            "inertia in another "
            "unit, or about another point"
        )
    else:
        return []
    return [
        Finding(
            "model_inconsistent",
            "serious",
            link,
            text,
            MEANING,
            f"correct the inertial of {link}",
            None,
            105.0,
        )
    ]


def check_limits_of(robot: Robot) -> list[Finding]:
    """Ranges and speeds that look like another unit, or that say nothing."""
    assert robot.limits is not None
    found = []
    for j, joint in enumerate(robot.joints):
        low, high = (float(one) for one in robot.limits.position[j])
        fastest, slides = float(robot.limits.velocity[j]), bool(robot.tree.prismatic[j])
        said = ""
        if np.isfinite(low) and np.isfinite(high) and not low < high:
            said = f"its range is {low:g} to {high:g}, which leaves nothing"
        elif not slides and np.isfinite(low) and max(abs(low), abs(high)) > 2 * np.pi * TURNS:
            said = f"its range is {low:g} to {high:g} rad, over {TURNS} turns: degrees?"
        elif not slides and np.isfinite(fastest) and fastest > FASTEST:
            said = f"its velocity limit is {fastest:g} rad/s, arms reach {FASTEST:g} at most: degrees?"
        if said:
            found.append(
                Finding(
                    "model_limits",
                    "serious",
                    joint,
                    said,
                    "motion is planned and units are judged by these limits",
                    "give ranges in radians or metres, speeds in rad/s or m/s",
                    None,
                    60.0,
                )
            )
    return found


def check_meshes(path: Path) -> list[Finding]:
    """Files of shapes that a model names and that are not there; shapes are drawn, and bound the links."""
    try:
        root = ElementTree.parse(path).getroot()
    except (ElementTree.ParseError, OSError):
        return []
    compiler = root.find("compiler")
    folder = path.parent / ("" if compiler is None else compiler.get("meshdir", ""))
    named = [mesh.get("filename") or mesh.get("file") or "" for mesh in root.iter("mesh")]
    missing = sorted({name for name in named if name and not _there(folder, name)})
    if not missing:
        return []
    return [
        Finding(
            "model_meshes",
            "note",
            path.name,
            f"{len(missing)} shapes are not there, among them {missing[0]}",
            "links without shapes have no box: how far their mass may lie out is not known",
            "put the meshes beside the model, or write `box` for the links",
            None,
            5.0,
        )
    ]


def _there(folder: Path, name: str) -> bool:
    bare = name.split("://", 1)[-1]
    return any((folder / one).is_file() for one in (name, bare, Path(bare).name))
