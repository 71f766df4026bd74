"""A list of all that a release consists of, as CycloneDX 1.5 JSON, from `requirements.lock` and the installed metadata.

    python release/sbom.py > dist/heft.cdx.json

The same input gives the same text: no time, no host, no random number.
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)")
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def sbom(lock: str, version: str) -> dict[str, Any]:
    """The document for a lock file's text."""
    components: list[dict[str, Any]] = []
    for block in re.split(r"\n(?=\S)", lock.strip()):
        match = PIN.match(block)
        if match is None:
            continue
        name, number = match.groups()
        component: dict[str, Any] = {
            "type": "library",
            "bom-ref": f"pkg:pypi/{name}@{number}",
            "name": name,
            "version": number,
            "purl": f"pkg:pypi/{name}@{number}",
            "hashes": [{"alg": "SHA-256", "content": digest} for digest in HASH.findall(block)],
        }
        components.append(component | _licence(name))
    heft = f"pkg:pypi/heft@{version}"
    serial = uuid.uuid5(uuid.NAMESPACE_URL, f"{heft} {lock}")
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": heft,
                "name": "heft",
                "version": version,
                "purl": heft,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": components,
        "dependencies": [{"ref": heft, "dependsOn": [one["bom-ref"] for one in components]}],
    }


def _licence(name: str) -> dict[str, Any]:
    """What an installed package says of its licence, in a line."""
    try:
        about = distribution(name).metadata
    except PackageNotFoundError:  # for another platform or Python
        return {}
    said = about.get("License-Expression") or about.get("License") or ""
    line = said.strip().splitlines()[0][:80] if said.strip() else ""
    return {"licenses": [{"license": {"name": line}}]} if line else {}


if __name__ == "__main__":
    text = (ROOT / "heft" / "__init__.py").read_text(encoding="utf-8")
    release = re.search(r'__version__ = "([^"]+)"', text)
    assert release is not None
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    json.dump(sbom(lock, release[1]), sys.stdout, indent=1)
    sys.stdout.write("\n")
