"""Folders of the project that code of any package reads."""

import os
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
FIXTURES = PROJECT / "fixtures"


def default_data_folder() -> Path:
    """Return the data folder where ``NEPHOSCOPE_DATA`` names none.

    A checkout keeps its data in ``var/``. An installed package must not write among installed
    files, which an upgrade replaces: it uses the user's data folder (XDG base directories).
    """
    if (PROJECT / "pyproject.toml").is_file():
        return PROJECT / "var"
    shared = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(shared) / "nephoscope"


def data_folder() -> Path:
    """Return the data folder that the environment names, or the default one."""
    return Path(os.environ.get("NEPHOSCOPE_DATA") or default_data_folder()).resolve()
