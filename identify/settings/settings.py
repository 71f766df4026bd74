"""Settings that were made for an identification: read, merged, applied, written down."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from heft.daq.errors import ConfigError
from heft.identify.errors import HeftError
from heft.identify.settings.choices import Choices
from heft.identify.settings.registry import SETTINGS, Setting

__all__ = ["Settings"]

METHOD = "method"


@dataclass(frozen=True)
class Settings:
    """Values by key, plain JSON. Keys and values have been checked, but for what depends on the robot."""

    values: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", MappingProxyType(dict(self.values)))

    def __bool__(self) -> bool:
        return bool(self.values)

    @classmethod
    def parse(cls, texts: Iterable[str], where: str = "--set") -> Settings:
        """From `key=value` of a command line; of a key that is given twice, the last holds."""
        values = {}
        for text in texts:
            key, equals, value = text.partition("=")
            if not equals:
                raise ConfigError(f"{where} {text}: no value; give KEY=VALUE, as cutoff_hz=8")
            values[key.strip()] = value.strip()
        return cls.of(values, where)

    @classmethod
    def of(cls, section: Mapping[str, Any], where: str = "settings") -> Settings:
        """From values by key; sections may stand inside each other (`bounds: {signs: false}`)."""
        return cls({key: _read(key, value, where) for key, value in _flat(section)})

    def without(self, *keys: str) -> Settings:
        """Those that are none of `keys`, nor below them."""
        gone = tuple(f"{key}." for key in keys)
        return Settings({key: value for key, value in self.values.items() if not f"{key}.".startswith(gone)})

    def over(self, other: Settings) -> Settings:
        """These on top of others, whose options of the estimator fall with their estimator."""
        below = dict(other.values)
        if METHOD in self.values and self.values[METHOD] != below.get(METHOD, "sdp"):
            below = dict(other.without(METHOD).values)
        return Settings({**below, **self.values})

    def applied(self, choices: Choices) -> Choices:
        """The choices with all settings, in the order of the registry; `ConfigError` names the one that does not go."""
        for setting in SETTINGS:
            for key, value in self.values.items():
                if _setting(key) is not setting:
                    continue
                try:
                    choices = setting.apply(choices, value, key.removeprefix(setting.stem))
                except HeftError as exc:
                    raise ConfigError(f"setting {key}: {exc}") from exc
        try:
            return choices.checked()
        except HeftError as exc:
            raise ConfigError(f"settings: {exc}") from exc

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return dict(self.values)


def _flat(section: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted keys; `method: {name: sdp, margin: 1e-4}` names the estimator, too."""
    for key, value in section.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield (METHOD if f"{prefix}{key}" == "method.name" else f"{prefix}{key}"), value


def _setting(key: str) -> Setting | None:
    exact = next((one for one in SETTINGS if one.key == key and not one.stem), None)
    return exact or next((one for one in SETTINGS if one.names(key)), None)


def _read(key: str, value: Any, where: str) -> Any:
    setting = _setting(key)
    if setting is None:
        raise ConfigError(f"{where}: no setting {key!r}; there are {', '.join(one.key for one in SETTINGS)}")
    try:
        return setting.read(value)
    except ValueError as exc:
        raise ConfigError(f"{where}: {key}: {value!r} given, must be {exc}") from exc
