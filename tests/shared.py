"""Files that many tests read: real data beside the project, and a short word list."""

from pathlib import Path

import pytest

_WORDS = Path(__file__).resolve().parents[1] / "fixtures" / "wordlists" / "subdomains.txt"
_N_LABELS = 300
SHARED = Path(__file__).resolve().parents[2] / "shared"


def write_few_labels(folder: Path) -> Path:
    """The most frequent labels in a file; a world of them is found by a tenth of the queries."""
    path = folder / "labels.txt"
    path.write_text("".join(_WORDS.read_text().splitlines(keepends=True)[:_N_LABELS]))
    return path


def shared_file(path: str) -> Path:
    """A file of the shared data; skips the test when it is absent."""
    found = SHARED / "data" / path
    if not found.is_file():
        pytest.skip(f"real data are not here: {path}")
    return found
