"""What `heft payload` says where it cannot weigh."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from heft.configs import CONFIGS
from heft.main import main


def rig_without(folder: Path, device: str) -> str:
    rig = yaml.safe_load((CONFIGS / "rigs" / "sim_wam7.yaml").read_text(encoding="utf-8"))
    rig["robot"] = str(CONFIGS / "robots" / "wam7.yaml")
    del rig["devices"][device]
    path = folder / "rig.yaml"
    path.write_text(yaml.safe_dump(rig), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("device", "said"), [("gripper", "nothing would ever be weighed"), ("wrist", "a wrist's wrench")]
)
def test_a_rig_that_cannot_weigh(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], device: str, said: str
) -> None:
    assert main(["payload", "--live", rig_without(tmp_path, device), "--speed", "max"]) != 0
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "give either a recording or --live"),
        (["none.mcap"], "none.mcap"),
        (["--live", "none.yaml"], "none.yaml"),
    ],
)
def test_what_is_missing(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    assert main(["payload", *arguments]) != 0
    assert said in capsys.readouterr().err
