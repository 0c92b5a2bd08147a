"""A survey's cells beside the published ones."""

from dataclasses import replace
from fractions import Fraction

import pytest

from analysis.comparison import AGREES, CONTRADICTED, DIFFERS, KEYS, MISSING, compare_tables
from analysis.published import contradictions, published
from core.tables import SPECS, Table


def same() -> dict[str, Table]:
    """A survey that found exactly what was published."""
    found = {spec.id: published(spec.id) for spec in SPECS}
    return {table_id: table for table_id, table in found.items() if table is not None}


def changed(tables, table_id, row, column, value):
    table = tables[table_id]
    rows = [list(r) for r in table.rows]
    rows[row][table.columns.index(column)] = value
    return {**tables, table_id: replace(table, rows=tuple(map(tuple, rows)))}


def verdict(cells, table_id, row, column):
    found = [c for c in cells if (c.table_id, c.row, c.column) == (table_id, row, column)]
    assert len(found) == 1
    return found[0]


def test_it_works():
    cells = compare_tables(same())
    assert {c.verdict for c in cells} == {AGREES, CONTRADICTED}
    assert {c.table_id for c in cells} == set(same()) == set(KEYS)
    assert all(c.difference == 0 for c in cells)
    # Every published cell is compared once, but for those that name its row.
    known = [c for t in same().values() for row in t.rows for c in row if c is not None]
    keys = [None for t, k in KEYS.items() for _ in same()[t].rows for _ in k]
    assert len(cells) == len(known) - len(keys)


@pytest.mark.parametrize(
    ("ours", "expected"),
    [(522_000, AGREES), (524_200, AGREES), (524_400, DIFFERS), (0, DIFFERS), (None, MISSING)],
)
def test_a_cell_agrees_within_half_a_percent(ours, expected):
    cells = compare_tables(changed(same(), "regions", 0, "subdomains", ours))
    cell = verdict(cells, "regions", "aws us-east-1", "subdomains")
    assert cell.verdict == expected
    assert cell.published == 521_681


def test_rounding_in_print_is_allowed():
    share = 0.835
    cells = compare_tables(changed(same(), "domain-region-means", 1, "share", share))
    assert verdict(cells, "domain-region-means", "azure 1.0", "share").verdict == AGREES
    cells = compare_tables(changed(same(), "domain-region-means", 1, "share", share + 0.001))
    assert verdict(cells, "domain-region-means", "azure 1.0", "share").verdict == DIFFERS


def test_a_contradiction_is_set_apart_with_its_reason():
    cells = compare_tables(changed(same(), "patterns", 0, "domains_share", 0.5197))
    cell = verdict(cells, "patterns", "aws vm", "domains_share")
    assert (cell.verdict, cell.ours) == (CONTRADICTED, 0.5197)
    assert "38,291" in cell.why
    assert contradictions("providers") == {}


def test_a_row_that_is_not_there_is_missing():
    tables = same()
    tables["zone-usage"] = replace(tables["zone-usage"], rows=tables["zone-usage"].rows[1:])
    cells = [c for c in compare_tables(tables) if c.table_id == "zone-usage"]
    assert {c.row for c in cells if c.verdict == MISSING} == {"aws us-east-1 a"}


def test_a_curve_stays_between_its_steps():
    table = same()["region-counts"]
    kept = tuple(r for r in table.rows if r[:2] not in {("azure", 3), ("azure", 4)})
    cells = compare_tables({"region-counts": replace(table, rows=kept)})
    assert {c.verdict for c in cells} == {AGREES}


def test_counts_follow_the_scale_and_shares_do_not():
    tables = same()
    rows = [(*r[:2], round(r[2] / 10), round(r[3] / 10), *r[4:]) for r in tables["regions"].rows]
    tenth = {"regions": replace(tables["regions"], rows=tuple(rows))}
    assert {c.verdict for c in compare_tables(tenth, Fraction(1, 10))} == {AGREES}
    assert {c.verdict for c in compare_tables(tenth)} == {AGREES, DIFFERS}
