"""What a table and its chart hold, figure by figure."""

from datetime import UTC, datetime
from typing import Any

from analysis.published import published
from core.tables import SPEC_BY_ID
from tests.pages import cast
from webapp.pages.charts import chart_of
from webapp.pages.grids import grid_of
from webapp.store.selectors import ReportRow


def report(table_id: str) -> ReportRow:
    table = cast.tables()[table_id]
    return ReportRow(
        table_id=table_id,
        title=SPEC_BY_ID[table_id].title,
        columns=list(table.columns),
        rows=[list(row) for row in table.rows],
        n=table.n,
        headline="",
        method="",
        source="",
        computed_at=datetime(2013, 3, 29, tzinfo=UTC),
        published=published(table_id),
    )


def texts(row: Any) -> list[str]:
    return [cell.text for cell in row.cells]


def test_it_works() -> None:
    grid = grid_of(report("regions"), "s", {("aws", "us-east-1"): "N. Virginia"})
    assert [c.key for c in grid.columns][:3] == ["region", "place", "domains"]
    first = grid.rows[0]
    assert first.anchor == "aws.us-east-1"
    assert texts(first)[:4] == ["us-east-1", "N. Virginia", "25,722", "521,681"]
    assert first.cells[4].bar == first.cells[4].mark == 0.737507


def test_sums_stand_below_the_line() -> None:
    grid = grid_of(report("providers"), "s")
    assert [texts(row)[0] for row in grid.foot] == [
        "Amazon in all",
        "Microsoft in all",
        "All cloud-using",
    ]
    assert all("total" not in cell.text for row in grid.rows for cell in row.cells)


def test_every_column_of_the_table_is_shown() -> None:
    for table_id, table in cast.tables().items():
        shown = {c.key for c in grid_of(report(table_id), "s").columns}
        missing = set(table.columns) - shown
        assert missing <= {"provider"}, table_id


def test_a_missing_figure_is_a_dash_and_never_zero() -> None:
    grid = grid_of(report("patterns"), "s")
    unknown = next(row for row in grid.rows if row.cells[0].value == "unclassified")
    assert unknown.cells[-1].text == "–"


def test_a_domain_leads_to_its_passport() -> None:
    grid = grid_of(report("top-domains"), "the-survey")
    assert grid.rows[0].cells[1].href == "/s/the-survey/domains/amazon.com/"


def test_every_chart_fits_a_class_of_the_style_sheet() -> None:
    for table_id in cast.tables():
        chart = chart_of(report(table_id))
        if chart is not None:
            assert chart["height"] % 40 == 0
            assert 120 <= chart["height"] <= 760


def test_unknown_is_hatched_and_published_figures_are_marked() -> None:
    chart = chart_of(report("patterns"))
    assert chart is not None
    hatched = [label["text"] for label in chart["labels"] if label["unknown"]]
    assert hatched == ["No known pattern", "No known pattern"]
    assert chart["compared"]
    assert round(chart["panels"][0]["published"][0], 3) == 0.715


def test_curves_have_a_published_twin() -> None:
    chart = chart_of(report("region-counts"))
    assert chart is not None
    amazon = chart["series"][0]
    assert amazon["points"][0][0] == amazon["published"][0][0] == 1


def test_an_empty_table_has_no_chart() -> None:
    empty = report("regions")
    assert chart_of(ReportRow(**{**empty.__dict__, "rows": []})) is None
