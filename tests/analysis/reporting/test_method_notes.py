"""Every table has a note beside it and a page in docs/methods."""

from pathlib import Path

import pytest

from analysis.reporting.method_notes import method_note
from core.report_tables import SPECS

METHODS = Path(__file__).resolve().parents[3] / "docs" / "methods"


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.id)
def test_it_works(spec):
    note = method_note(spec.id)
    assert note.endswith(".")
    assert len(note) < 1_200


def test_an_unknown_table_is_an_error():
    with pytest.raises(KeyError):
        method_note("weather")


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.id)
def test_every_table_is_explained(spec):
    pages = [p for p in METHODS.glob("*.md") if f"`{spec.id}`" in p.read_text()]
    index = (METHODS / "README.md").read_text()
    assert any(page.name != "README.md" for page in pages)
    assert f"`{spec.id}`" in index
