"""Schedules that come with the product, each a file of data."""

import tomllib
from pathlib import Path
from typing import Any

from core.errors import BadInput
from probes.schedule.schedule import Schedule, read_schedule

_FOLDER = Path(__file__).parent


def preset_names() -> list[str]:
    """Names of all presets."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def preset_data(name: str) -> dict[str, Any]:
    """A preset in its plain form; raises ``BadInput`` naming all of them."""
    if name not in preset_names():
        raise BadInput(f"{name!r} is not a preset; there are {', '.join(preset_names())}")
    return tomllib.loads((_FOLDER / f"{name}.toml").read_text())


def preset(name: str) -> Schedule:
    """A preset as a schedule; raises ``BadInput``."""
    return read_schedule(preset_data(name))
