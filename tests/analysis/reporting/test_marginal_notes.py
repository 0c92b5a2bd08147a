"""Notes beside the main chart: their figures are those of the tables, and none is made up."""

from dataclasses import replace

from analysis.reporting.registry import TABLE_BY_ID
from analysis.reporting.tables.marginal_note import DOUBT, EXCEPTION, MEANING, sampled_interval
from core.report_tables import SPECS
from core.statistics.intervals import wilson_interval
from tests.analysis.deployment.world_cast import Domain, ireland, virginia, vm
from webapp.pages.ui.report_families import FAMILIES

HEADINGS = (MEANING, EXCEPTION, DOUBT)


def notes_of(page, tables):
    lead = next(f for f in FAMILIES if f.slug == page).tables[0]
    return {note.heading: note for write in TABLE_BY_ID[lead].notes if (note := write(tables))}


def crowd(n, wide):
    """``n`` virtual machines, the first ``wide`` of them in two regions."""
    names = [
        vm(f"n{i}.crowd.example", *([virginia(1), ireland(1)] if i < wide else [virginia(1)]))
        for i in range(n)
    ]
    return Domain("crowd.example", 7, tuple(names))


def test_every_page_has_notes_on_the_table_that_leads_it():
    leads = {family.tables[0] for family in FAMILIES}
    assert {spec.id for spec in SPECS if TABLE_BY_ID[spec.id].notes} == leads


def test_notes_state_the_figures_of_the_tables(tables_of):
    tables = tables_of(crowd(200, 6))
    found = notes_of("regions", tables)
    assert found[MEANING].text == (
        "97.0 % of Amazon-hosted subdomains have no other region than us-east-1: nothing else "
        "answers when it fails."
    )
    assert found[MEANING].page == "outages"
    assert found[EXCEPTION].text == (
        "crowd.example has 6 of 200 subdomains in two or more regions."
    )
    assert found[EXCEPTION].domains == ("crowd.example",)
    # One domain is too few for an interval, and every name has a region.
    assert DOUBT not in found
    assert notes_of("patterns", tables)[MEANING].text.startswith(
        "97.0 % of subdomains on virtual machines have one address"
    )


def test_few_are_counted(tables_of):
    few = notes_of("regions", tables_of(crowd(4, 1)))
    assert few[MEANING].text.startswith("3 of the 4 Amazon-hosted subdomains have no other region")


def test_nothing_is_said_of_nothing(tables_of):
    empty = tables_of()
    for family in FAMILIES:
        assert notes_of(family.slug, empty) == {}, family.slug


def test_a_survey_that_lacks_tables_has_fewer_notes(tables_of):
    tables = tables_of(crowd(40, 6))
    for family in FAMILIES:
        whole = notes_of(family.slug, tables)
        for table_id in tables:
            left = notes_of(family.slug, {k: t for k, t in tables.items() if k != table_id})
            bare = notes_of(family.slug, {**tables, table_id: replace(tables[table_id], rows=())})
            assert {*left, *bare} <= {*HEADINGS}
            assert set(left) <= set(whole)


def test_the_interval_of_a_sample_is_wilsons():
    # Wilson 1927, as tabulated for 81 of 263 (Newcombe 1998, table I).
    low, high = wilson_interval(81 / 263, 263, 1.96)
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)
    assert wilson_interval(0, 20, 1.96)[0] == 0
    assert sampled_interval(3, 29, "do") == ""
    assert sampled_interval(81, 263, "do").startswith(
        "Between 25.5 % and 36.6 % of such domains do (95 % interval), if these 263 are a random"
    )
