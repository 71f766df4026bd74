"""Who can reach a page: `heft serve` refuses what would let strangers in."""

from __future__ import annotations

from pathlib import Path

import pytest

from heft.daq.errors import ConfigError
from heft.main import main
from heft.service.reach import Reach, is_loopback
from heft.service.web.library import file_name


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::", "rig.example"])
def test_others_need_a_token_and_tls(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "configs/rigs/sim_wam7.yaml", "--host", host]) == 2
    assert "needs --token FILE and --certificate PEM" in capsys.readouterr().err


def test_a_token_alone_is_not_enough(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("0123456789abcdef\n")
    token.chmod(0o600)
    with pytest.raises(ConfigError, match="needs --certificate PEM"):
        Reach.of("0.0.0.0", token, None, None)
    assert Reach.of("127.0.0.1", token, None, None).token == "0123456789abcdef"
    token.chmod(0o644)
    with pytest.raises(ConfigError, match="others may read it"):
        Reach.of("127.0.0.1", token, None, None)
    token.write_text("short")
    with pytest.raises(ConfigError, match="5 characters"):
        Reach.of("127.0.0.1", token, None, None)


@pytest.mark.parametrize(
    ("host", "own"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("::", False)]
)
def test_loopback(host: str, own: bool) -> None:
    assert is_loopback(host) is own


@pytest.mark.parametrize(
    "name", ["../x.csv", "a/b.csv", "..", "", ".hidden", "x\n.csv", "a..b", "C:\\x", "x" * 200]
)
def test_a_name_leads_nowhere_else(name: str) -> None:
    with pytest.raises(ConfigError, match="not a file name"):
        file_name(name)


def test_a_plain_name() -> None:
    assert file_name("my log (2).csv") == "my log (2).csv"
