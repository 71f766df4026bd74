"""A configuration is found by its path: a user's own before the shipped one of the same name; an error says where."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from heft.daq.config import load_rig, load_robot, load_session
from heft.daq.config.objects import load_objects
from heft.daq.config.shipped import CONFIGS, locate
from heft.daq.errors import ConfigError

SESSION = "configs/sessions/panda_excitation.yaml"


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_in_an_empty_directory_the_shipped_ones_are_used(user: Path) -> None:
    session = load_session(SESSION)
    assert session.path == CONFIGS / "sessions" / "panda_excitation.yaml"
    assert session.rig.path.samefile(CONFIGS / "rigs" / "sim_panda.yaml")
    assert session.rig.robot.model_file.samefile(CONFIGS / "robots" / "panda.xml")
    assert load_rig("configs/rigs/sim_panda.yaml").name == session.rig.name
    assert load_robot("./configs/robots/panda.yaml").name == session.rig.robot.name
    assert load_objects("configs/objects") == load_objects(CONFIGS / "objects")


def test_a_users_own_come_first(user: Path) -> None:
    shutil.copytree(CONFIGS, user / "configs")
    assert load_session(SESSION).path == Path(SESSION)
    assert load_session(SESSION).rig.path.resolve().is_relative_to(user)
    assert load_robot("configs/robots/panda.yaml").path == Path("configs/robots/panda.yaml")
    for other in sorted((user / "configs" / "objects").glob("*.yaml"))[1:]:
        other.unlink()
    assert len(load_objects("configs/objects")) == 1


def test_a_users_own_session_on_a_shipped_rig(user: Path) -> None:
    text = (CONFIGS / "sessions" / "panda_excitation.yaml").read_text(encoding="utf-8")
    own = user / "mine.yaml"
    text = text.replace("design: ", "design: configs/sessions/")
    own.write_text(re.sub(r"(?m)^rig:.*$", "rig: configs/rigs/sim_panda.yaml", text), encoding="utf-8")
    assert load_session("mine.yaml").rig.path == CONFIGS / "rigs" / "sim_panda.yaml"


def test_a_path_inside_a_file_is_seen_from_that_file(user: Path) -> None:
    """A shipped session keeps its shipped rig, also where the user has a rig of that name."""
    (user / "configs" / "rigs").mkdir(parents=True)
    (user / "configs" / "rigs" / "sim_panda.yaml").write_text("name: mine\n", encoding="utf-8")
    assert load_session(SESSION).rig.path.samefile(CONFIGS / "rigs" / "sim_panda.yaml")


def test_an_error_says_where_it_looked(user: Path) -> None:
    with pytest.raises(ConfigError, match=r"configs/rigs/none\.yaml: no such file; ") as caught:
        load_rig("configs/rigs/none.yaml")
    assert f"looked for {user}/configs/rigs/none.yaml and {CONFIGS}/rigs/none.yaml;" in str(caught.value)
    with pytest.raises(ConfigError) as caught:
        load_rig("none.yaml")
    assert str(caught.value) == (
        f"none.yaml: no such file; looked for {user}/none.yaml; give the path of a YAML file"
    )
    with pytest.raises(
        ConfigError, match=r"objects: no such file; .*give the path of the directory of a lib"
    ):
        load_objects("objects")
    with pytest.raises(ConfigError, match="no such file"):
        locate("configs/../../etc/none.yaml")
