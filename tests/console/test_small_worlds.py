"""A small world beside the published cells: every difference has a reason with figures."""

import pytest

from tests.console.test_study import Desk

pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    desk = Desk(tmp_path_factory.mktemp("desk"))
    desk.json("testbed", "observe", "imc2013", "--scale", "1/200", "--name", "small")
    return {
        (c["table_id"], c["row"], c["column"]): c for c in desk.json("study", "compare", "small")
    }


def test_it_works(cells):
    assert {c["verdict"] for c in cells.values()} == {"agrees", "explained", "contradicted"}
    assert all(c["why"] for c in cells.values() if c["verdict"] != "agrees")


def test_the_part_of_the_named_domains_is_stated(cells):
    """119 names on Microsoft are of named domains, and 32 are a two-hundredth of all others."""
    found = cells["providers", "azure only", "subdomains"]
    assert (found["named"], found["ours"]) == (119, 119 + 31)
    assert found["expected"] == pytest.approx(119 + (6328 - 119) / 200)
    assert found["verdict"] == "explained"
    assert "119 of these 150" in found["why"]
    share = cells["providers", "azure only", "subdomains_share"]
    assert share["verdict"] == "explained"
    assert share["expected"] == pytest.approx(share["ours"], rel=0.01)


def test_what_keeps_its_size_is_not_explained_but_agrees(cells):
    top = [c for (table, *_), c in cells.items() if table.startswith("top-")]
    assert len(top) > 200
    assert {c["verdict"] for c in top} <= {"agrees", "contradicted"}
    assert {c["named"] for c in top} == {None}
