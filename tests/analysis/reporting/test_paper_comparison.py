"""A survey's cells beside the published ones."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.reporting.expected_values import Part, expected_count, expected_share
from analysis.reporting.paper_comparison import (
    AGREES,
    CONTRADICTED,
    DIFFERS,
    EXPLAINED,
    KEYS,
    MISSING,
    SmallWorld,
    compare_tables,
)
from analysis.reporting.published import contradictions, published
from analysis.reporting.sampling_error import Population, interval
from core.report_tables import SPECS, Table


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


def scaled(tables, scale):
    """Every count of a survey that found ``scale`` times what was published."""
    rows = [
        (*r[:2], round(r[2] * scale), round(r[3] * scale), *r[4:]) for r in tables["regions"].rows
    ]
    return {"regions": replace(tables["regions"], rows=tuple(rows))}


def small_world(held, populations=None):
    """Named domains that hold ``held`` names of northcentralus on Azure, and no others."""
    table = same()["regions"]
    rows = (("azure", "northcentralus", 2, held, 1.0, None, None),)
    return SmallWorld({"regions": replace(table, rows=rows)}, populations or {})


def test_named_domains_explain_what_they_hold_too_much_of():
    tables = scaled(same(), 0.01)
    grown = changed(tables, "regions", 8, "subdomains", 71 + 20)
    plain = verdict(
        compare_tables(grown, Fraction(1, 100)), "regions", "azure northcentralus", "subdomains"
    )
    assert (plain.verdict, plain.named, plain.expected) == (DIFFERS, None, None)
    cells = compare_tables(grown, Fraction(1, 100), small_world(71))
    cell = verdict(cells, "regions", "azure northcentralus", "subdomains")
    assert cell.verdict == EXPLAINED
    assert (cell.named, cell.expected) == (71, pytest.approx(71 + 20))
    assert "71 of these 91" in cell.why
    # They do not excuse what they do not hold, nor a cell that they have no part of.
    less = compare_tables(grown, Fraction(1, 100), small_world(50))
    assert verdict(less, "regions", "azure northcentralus", "subdomains").verdict == DIFFERS
    other = changed(grown, "regions", 0, "subdomains", 5_300)
    assert (
        verdict(
            compare_tables(other, Fraction(1, 100), small_world(71)),
            "regions",
            "aws us-east-1",
            "subdomains",
        ).verdict
        == DIFFERS
    )


def test_few_domains_explain_as_much_as_they_vary():
    tables = changed(scaled(same(), 0.01), "regions", 1, "subdomains", 1_300)
    found = {"": Population(400, 7_000, 60.0), "aws": Population(380, 7_000, 50.0)}
    cells = compare_tables(tables, Fraction(1, 100), small_world(0, found))
    cell = verdict(cells, "regions", "aws eu-west-1", "subdomains")
    assert cell.verdict == EXPLAINED
    assert "few domains: of 380, whose names vary as 50 independent ones" in cell.why
    many = {**found, "aws": Population(38_000, 7_000, 50_000.0)}
    cells = compare_tables(tables, Fraction(1, 100), small_world(0, many))
    assert verdict(cells, "regions", "aws eu-west-1", "subdomains").verdict == DIFFERS


@given(
    st.floats(0, 1),
    st.floats(1, 10**6),
)
def test_an_interval_holds_its_share_and_narrows_with_size(share, effective):
    low, high = interval(share, effective)
    assert -1e-9 <= low <= share + 1e-9
    assert share - 1e-9 <= high <= 1 + 1e-9
    narrow = interval(share, effective * 4)
    assert narrow[1] - narrow[0] <= high - low


@given(st.integers(0, 100), st.integers(101, 10**6), st.integers(1, 1000))
def test_named_domains_are_whole_and_all_others_at_the_scale(named, published_count, n):
    scale = Fraction(1, n)
    part = Part(named, named + (published_count - named) / n)
    assert expected_count(published_count, part, scale) == pytest.approx(part.of)
    whole = published_count * 3
    of_whole = named + (whole - named) / n
    both = Part(named, part.of, named, of_whole)
    assert expected_share(published_count / whole, both, scale) == pytest.approx(part.of / of_whole)
