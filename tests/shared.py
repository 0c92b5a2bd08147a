"""Real data beside the project, for tests that are skipped where there is none."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


def shared_file(path: str) -> Path:
    """A file of the shared data; skips the test when it is absent."""
    found = SHARED / "data" / path
    if not found.is_file():
        pytest.skip(f"real data are not here: {path}")
    return found
