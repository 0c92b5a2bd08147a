"""Marks for all tests of a folder."""

from collections.abc import Iterable
from pathlib import Path

import pytest


def mark_folder(items: Iterable[pytest.Item], folder: Path, *marks: pytest.MarkDecorator) -> None:
    """Mark the tests below a folder; they share fixtures, so that one process runs them all."""
    for item in items:
        if folder in item.path.parents:
            for mark in (pytest.mark.xdist_group(folder.name), *marks):
                item.add_marker(mark)
