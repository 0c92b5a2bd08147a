"""Each place that a report table needs: one that is forgotten fails here, with what to do."""

from pathlib import Path

import pytest

from analysis.reporting.registry import TABLE_BY_ID
from core.report_tables import SPECS
from webapp.pages.ui.report_families import FAMILY_BY_SLUG, FAMILY_OF_TABLE

TESTS = Path(__file__).resolve().parents[1]
# Tests that name the tables whose rows they expect.
_ROW_TESTS = "\n".join(
    p.read_text() for p in (*TESTS.glob("deployment/*.py"), TESTS / "reporting/test_checks.py")
)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.id)
def test_rows_have_names_of_their_own(spec, cast_tables):
    assert spec.keys, f"{spec.id}: name its key columns in core/report_tables.py"
    assert set(spec.keys) <= set(spec.columns)
    table = cast_tables[spec.id]
    places = [table.columns.index(key) for key in spec.keys]
    named = [tuple(row[at] for at in places) for row in table.rows]
    assert len(set(named)) == len(named), f"{spec.id}: two rows have the same {spec.keys}"


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.id)
def test_every_table_is_on_a_page(spec):
    assert spec.pages, f"{spec.id}: name its page in core/report_tables.py"
    assert set(spec.pages) <= set(FAMILY_BY_SLUG), "pages are listed in report_families.py"
    assert all(spec.id in FAMILY_BY_SLUG[slug].tables for slug in spec.pages)
    assert spec.id in FAMILY_OF_TABLE


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.id)
def test_every_table_is_checked(spec):
    table = TABLE_BY_ID[spec.id]
    is_checked = table.checks or table.distribution or table.shares
    assert is_checked, f"{spec.id}: checks in its module of analysis/reporting/tables"


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.id)
def test_every_table_has_a_test_of_its_rows(spec):
    named = f'"{spec.id}"' in _ROW_TESTS
    assert named, f"{spec.id}: a test of its rows in tests/analysis/deployment"
