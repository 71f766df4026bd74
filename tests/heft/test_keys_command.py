"""`heft keys`: what it does and prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from heft.main import main


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def test_from_nothing_to_a_peer_that_may_stop(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keys", "show"]) == 2
    assert "make one with `heft keys new`" in capsys.readouterr().err
    assert main(["keys", "new"]) == 0
    key = capsys.readouterr().out.strip()
    assert main(["keys", "new"]) == 2
    assert "--replace" in capsys.readouterr().err
    assert main(["keys", "show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["public"] == key
    other = "x" * 40
    assert main(["keys", "allow", "bench", other, "--may", "observe,stop"]) == 0
    assert capsys.readouterr().out == "bench may observe, stop\n"
    assert main(["keys", "trust", "192.0.2.7", other]) == 0
    capsys.readouterr()
    assert main(["keys", "list", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts == {
        "allowed": {"bench": {"key": other, "may": ["observe", "stop"]}},
        "hosts": {"192.0.2.7": other},
    }
    assert main(["keys", "revoke", "bench"]) == 0
    assert main(["keys", "revoke", "bench"]) == 2
    assert "nobody of this name" in capsys.readouterr().err


def test_mistakes_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["keys", "allow", "bench", "x" * 40, "--may", "everything"])
    assert "observe, stop, control" in capsys.readouterr().err
    assert main(["keys", "allow", "a/b", "x" * 40]) == 2
    assert main(["keys", "allow", "bench", "short"]) == 2
    assert "a key has 40 characters" in capsys.readouterr().err
