"""Print the table of folders in `docs/architecture.md`: what each is, how large, and what it may import.

Sizes are counted, purposes are the first lines of the folders' docstrings, and what may be imported is what the
import-linter contracts in `pyproject.toml` allow. `python docs/house.py` prints the table; a test compares it.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["rows"]

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("drivers", "daq", "identify")
COMMAND_LINE = ("commands", "service", "fleet", "testing", "terminal")


def rows() -> Iterator[tuple[str, int, int, str, str]]:
    """Folder, files, lines, purpose, and which folders of its package it may import."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    for package in PACKAGES:
        folders = {folder.name: folder for folder in _folders(ROOT / package)}
        layers = _layers(contracts, f"heft.{package}")
        for name in sorted(folders, key=lambda name: -_height(name, layers)):
            forbidden = _forbidden(contracts, f"heft.{package}.{name}")
            below = [other for layer in layers[_height(name, layers) + 1 :] for other in layer]
            allowed = [x for x in below if x in folders and f"heft.{package}.{x}" not in forbidden]
            yield (f"{package}/{name}", *_size(folders[name]), _purpose(folders[name]), ", ".join(allowed))
        yield (f"{package}/*.py", *_size(ROOT / package, deep=False), _purpose(ROOT / package), "")
    for name in COMMAND_LINE:
        folder = ROOT / "heft" / name
        yield (f"heft/{name}", *_size(folder), _purpose(folder), "all of the above")
    yield ("heft/*.py", *_size(ROOT / "heft", deep=False), _purpose(ROOT / "heft"), "all of the above")


def _folders(package: Path) -> list[Path]:
    return sorted(path.parent for path in package.glob("*/__init__.py"))


def _size(folder: Path, deep: bool = True) -> tuple[int, int]:
    """Python files, and their lines."""
    files = list(folder.rglob("*.py") if deep else folder.glob("*.py"))
    return len(files), sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)


def _purpose(folder: Path) -> str:
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    return text.splitlines()[0].rstrip(".") if text else ""


def _layers(contracts: list[dict[str, Any]], container: str) -> list[list[str]]:
    """Of a package, highest first; those in one list know nothing of each other."""
    for contract in contracts:
        if contract["type"] == "layers" and contract.get("containers") == [container]:
            return [
                [name.strip("() ") for name in layer.replace(":", "|").split("|")]
                for layer in contract["layers"]
            ]
    return []


def _height(name: str, layers: list[list[str]]) -> int:
    return next((i for i, layer in enumerate(layers) if name in layer), len(layers))


def _forbidden(contracts: list[dict[str, Any]], source: str) -> set[str]:
    return {
        name
        for contract in contracts
        if contract["type"] == "forbidden" and source in contract["source_modules"]
        for name in contract["forbidden_modules"]
    }


if __name__ == "__main__":
    print("| folder | files | lines | what | may import |\n|---|---|---|---|---|")
    for folder, files, lines, purpose, allowed in rows():
        print(f"| `{folder}` | {files} | {lines} | {purpose} | {allowed} |")
