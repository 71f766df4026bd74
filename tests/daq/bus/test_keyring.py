"""Keys of a user: private, by name, and refused where others could have them."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from heft.daq.bus import Endpoint
from heft.daq.bus.keyring import Keyring, Role
from heft.daq.errors import ConfigError


@pytest.fixture
def keyring(tmp_path: Path) -> Keyring:
    keyring = Keyring(tmp_path / "heft" / "keys")
    keyring.new()
    return keyring


def public(tmp_path: Path, name: str) -> str:
    return Keyring(tmp_path / name).new().public


def test_keys_are_readable_by_their_user_alone(keyring: Keyring, tmp_path: Path) -> None:
    keyring.allow("bench", public(tmp_path, "bench"), [Role.OBSERVE])
    keyring.trust("192.0.2.7", public(tmp_path, "other"))
    assert stat.S_IMODE(keyring.folder.stat().st_mode) == 0o700
    files = list(keyring.folder.iterdir())
    assert sorted(file.name for file in files) == ["allowed.json", "hosts.json", "own.json"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert keyring.own().secret not in repr(keyring.own())


@pytest.mark.parametrize(("name", "mode", "remedy"), [("own.json", 0o640, "600"), (".", 0o750, "700")])
def test_keys_that_others_can_reach_are_refused(keyring: Keyring, name: str, mode: int, remedy: str) -> None:
    (keyring.folder / name).chmod(mode)
    with pytest.raises(ConfigError, match=rf"mode {mode:04o}: others can reach the keys; chmod {remedy} "):
        keyring.own()


def test_a_key_is_not_replaced_by_accident(keyring: Keyring) -> None:
    before = keyring.own()
    with pytest.raises(ConfigError, match="there is a key already; --replace"):
        keyring.new()
    assert keyring.own() == before
    assert keyring.new(replace=True) != before


def test_peers_are_allowed_by_name_and_revoked(keyring: Keyring, tmp_path: Path) -> None:
    key, version = public(tmp_path, "bench"), keyring.version
    keyring.allow("bench", key, [Role.OBSERVE])
    assert keyring.version != version
    keyring.allow("bench", key, [Role.OBSERVE, Role.STOP])
    (peer,) = keyring.allowed()
    assert (peer.name, peer.public, peer.roles) == ("bench", key, {Role.OBSERVE, Role.STOP})
    with pytest.raises(ConfigError, match="this key is known as bench; revoke that first"):
        keyring.allow("again", key, [Role.CONTROL])
    keyring.revoke("bench")
    assert keyring.allowed() == ()
    with pytest.raises(ConfigError, match="bench: nobody of this name is allowed; there is nobody"):
        keyring.revoke("bench")


def test_which_key_a_session_must_have(keyring: Keyring, tmp_path: Path) -> None:
    one, other = public(tmp_path, "one"), public(tmp_path, "other")
    far = Endpoint.parse("tcp://192.0.2.7:5570")
    with pytest.raises(
        ConfigError, match=r"key of 192.0.2.7 is not known; .* `heft keys trust 192.0.2.7 KEY`"
    ):
        keyring.key_of(far)
    keyring.trust("192.0.2.7", one)
    assert keyring.key_of(far) == one
    keyring.trust("192.0.2.7:5570", other)
    assert keyring.key_of(far) == other
    near = Endpoint.parse("curve+tcp://127.0.0.1:5570")
    assert keyring.key_of(near) == keyring.own().public
    keyring.trust("127.0.0.1:5570", one)  # a tunnel
    assert keyring.key_of(near) == one


@pytest.mark.parametrize("text", ["", "x" * 39, "x" * 41, "~" * 40, "x" * 39 + "\n"])
def test_what_is_no_key_is_refused_and_not_repeated(keyring: Keyring, text: str) -> None:
    for attempt in (lambda: keyring.allow("bench", text, []), lambda: keyring.trust("host", text)):
        with pytest.raises(ConfigError, match="a key has 40 characters") as refused:
            attempt()
        assert not text or text not in str(refused.value)


@pytest.mark.parametrize("text", [b"{", b"[]", b'{"public": 1, "secret": 2}', b"{}" * 600_000, b"[" * 5000])
def test_files_that_are_none_are_refused_in_words(keyring: Keyring, text: bytes) -> None:
    (keyring.folder / "own.json").write_bytes(text)
    with pytest.raises(ConfigError):
        keyring.own()
    (keyring.folder / "allowed.json").write_bytes(text if text[:2] != b'{"' else b'{"x": {"key": 1}}')
    (keyring.folder / "allowed.json").chmod(0o600)
    with pytest.raises(ConfigError):
        keyring.allowed()


def test_the_folder_is_that_of_the_users_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert Keyring.of_user().folder == tmp_path / "heft" / "keys"
    monkeypatch.setenv("XDG_CONFIG_HOME", "here")
    with pytest.raises(ConfigError, match="not an absolute path"):
        Keyring.of_user()
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Keyring.of_user().folder == tmp_path / ".config" / "heft" / "keys"
