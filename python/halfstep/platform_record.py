"""Platforms: records of what chips can do."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, cast

from halfstep import _core


def _fields(record: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in record.items():
        if isinstance(value, dict):
            yield from _fields(cast("dict[str, Any]", value), f"{path}{key}.")
        else:
            yield path + key, value


class Platform:
    """What a chip can do, by the keys of docs/reference/platform_keys.md. `Platform.load` makes one."""

    def __init__(self, core: _core.Platform) -> None:
        self._core = core

    @staticmethod
    def load(platform: str | os.PathLike[str], overrides: Mapping[str, Any] | None = None) -> Platform:
        """Read a platform.

        Args:
            platform: A built-in platform (see `hs.platforms`), or the path of a record.
            overrides: Keys of the record with other values, as the verbs take them.

        Returns:
            The platform, with every default that applies.

        Raises:
            Error: There is no such platform, or a key or value is wrong.

        Example:
            chip = hs.Platform.load("generic_int8", {"weights.bits": 4})
            assert chip.keys["weights.bits"] == 4
        """
        from halfstep.options import InspectOptions  # Imported here because dataclasses load twenty modules.

        return Platform(_core.load_platform(InspectOptions(platform=platform, overrides=overrides)))

    @property
    def name(self) -> str:
        """Name of the platform."""
        return self._core.name

    @property
    def doc(self) -> str:
        """The description in the record."""
        return self._core.doc

    @property
    def record(self) -> dict[str, Any]:
        """The resolved record, as `halfstep platform show --json` prints it."""
        return json.loads(self._core.record())["platform"]

    @property
    def keys(self) -> dict[str, Any]:
        """The values by key, such as "weights.bits". `overrides` takes these keys."""
        return dict(_fields(self.record))

    def compare(self, other: Platform) -> dict[str, tuple[str | None, str | None]]:
        """Return the keys in which two platforms differ, except for their names and descriptions.

        Args:
            other: Another platform.

        Returns:
            Both values by key, in YAML. None if a platform does not have the key.

        Example:
            hs.Platform.load("pow2_int8").compare(hs.Platform.load("generic_int8"))
        """
        return self._core.differences(other._core)

    def __repr__(self) -> str:
        return f"<halfstep.Platform {self.name!r}>"
