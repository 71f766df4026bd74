"""A two-joint arm, what is identified from it, and the page that tells of it."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser

import numpy as np
import pytest

from heft.identify import Dataset, Result, Robot, fit
from heft.identify.result.report import Evidence
from heft.identify.result.report.page import render

ROWS = (
    {"alpha": -np.pi / 2, "a": 0.0, "d": 0.3},
    {"alpha": 0.0, "a": 0.4, "d": 0.0},
)
LINK = [2.0, 0.2, 0.1, 0.3, 0.15, -0.01, 0.16, -0.03, -0.015, 0.12]
VOID = {"meta", "br", "link", "input", "hr", "img"}


def motion(robot: Robot, seed: int, seconds: float = 20.0) -> Dataset:
    """Motion of five harmonics with the torques of the robot's own parameters, times 1.1, and noise of 0.05 N m."""
    rng = np.random.default_rng(seed)
    t = np.arange(0, seconds, 0.005)
    q, dq, ddq = np.zeros((3, len(t), 2))
    for k in range(1, 6):
        w = 2 * np.pi * k / 10
        a, b = rng.normal(size=(2, 2)) / k
        q += np.outer(np.sin(w * t), a) + np.outer(np.cos(w * t), b)
        dq += w * (np.outer(np.cos(w * t), a) - np.outer(np.sin(w * t), b))
        ddq -= w**2 * (np.outer(np.sin(w * t), a) + np.outer(np.cos(w * t), b))
    tau = robot.torque(q, dq, ddq, 1.1 * robot.prior)
    return Dataset.from_arrays(t, q, tau + 0.05 * rng.normal(size=tau.shape))


@pytest.fixture(scope="session")
def robot() -> Robot:
    prior = np.array([*LINK, *LINK, 0.1, 0.8, 0.6, 0.1, 0.1, 0.8, 0.6, 0.1])
    return replace(Robot.from_dh(ROWS), name="two <b>joints</b>", prior=prior)


@pytest.fixture(scope="session")
def record() -> Callable[..., Dataset]:
    return motion


@pytest.fixture(scope="session")
def result(robot: Robot) -> Result:
    return fit(robot, motion(robot, 1), cutoff_hz=5.0, validate=motion(robot, 2))


@pytest.fixture(scope="session")
def evidence(robot: Robot, result: Result) -> Evidence:
    return Evidence.of(result, [motion(robot, 1)], [motion(robot, 2)])


@dataclass
class Page(HTMLParser):
    """What stands in a page; tags that are not closed, or closed twice, fail."""

    text: str = ""
    ids: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.text)
        self.close()
        assert self.open == []
        assert len(set(self.ids)) == len(self.ids)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        self.tags.append((tag, found))
        if tag not in VOID:
            self.open.append(tag)
        if found.get("id"):
            self.ids.append(found["id"])
        if tag == "a":
            self.links.append(found["href"])

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def said(self) -> str:
        return " ".join(" ".join(self.words).split())

    def count(self, tag: str, kind: str) -> int:
        """Elements with a tag and a class."""
        return sum(kind in (found.get("class") or "").split() for name, found in self.tags if name == tag)


@pytest.fixture(scope="session")
def rendered() -> Callable[[Result, Evidence], Page]:
    return lambda result, evidence: Page(render(result, evidence))
