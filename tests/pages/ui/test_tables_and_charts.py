"""What a table and its chart hold, figure by figure."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from analysis.reporting.headlines import headline
from analysis.reporting.published import published
from analysis.reporting.survey_tables import compute_tables
from core.report_tables import SPEC_BY_ID, Table
from tests.pages import cast
from webapp.pages.ui.charts.chart_options import chart_of
from webapp.pages.ui.table_page import report_grid
from webapp.store.surveys.selectors import ReportRow


def report(table_id: str, table: Table | None = None) -> ReportRow:
    table = table or cast.tables()[table_id]
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
    grid = report_grid(report("regions"), "s", {("aws", "us-east-1"): "N. Virginia"})
    assert [c.key for c in grid.columns][:3] == ["region", "place", "domains"]
    first = grid.rows[0]
    assert first.anchor == "aws.us-east-1"
    assert texts(first)[:4] == ["us-east-1", "N. Virginia", "25,722", "521,681"]
    assert first.cells[4].bar == first.cells[4].mark == 0.737507


def test_nothing_is_never_a_share_of_nothing(tmp_path: Path) -> None:
    """A survey that found nothing has no data, where a share of it would be 0 %."""
    tables = compute_tables(tmp_path, "empty")
    for table_id, table in tables.items():
        row = report(table_id, table)
        grid = report_grid(row, "s")
        shown = [cell.text for line in (*grid.rows, *grid.foot) for cell in line.cells]
        shown += [
            text for panel in (chart_of(row) or {}).get("panels", ()) for text in panel["texts"]
        ]
        shown.append(headline(table_id, tables))
        assert not [text for text in shown if re.match(r"0(\.0+)?\s?%", text)], table_id
        assert all(value is None for value in _shares(table)), table_id


def _shares(table: Table) -> list[Any]:
    at = [i for i, column in enumerate(table.columns) if column.endswith("share")]
    return [row[i] for row in table.rows for i in at]


def test_shares_of_few_are_counts_in_tables_and_charts() -> None:
    few = Table(
        "customers",
        SPEC_BY_ID["customers"].columns,
        (("all", "nowhere in it", 12, 10, 0.833333, 4, 0.4, 0, 0.0),),
        12,
    )
    shown = texts(report_grid(report("customers", few), "s").rows[0])
    assert {"10 of 12", "4 of 10", "0 of 10"} <= set(shown)
    chart = chart_of(report("customers", few))
    assert chart is not None
    assert chart["panels"][0]["texts"] == ["4 of 10"]
    assert chart["panels"][0]["few"] == [True]


def test_curves_of_few_say_counts() -> None:
    columns = SPEC_BY_ID["region-counts"].columns
    rows = (
        ("aws", 1, 3, 0.75, 0.75),
        ("aws", 2, 1, 0.25, 1.0),
        ("azure", 1, 60, 0.6, 0.6),
        ("azure", 2, 40, 0.4, 1.0),
    )
    chart = chart_of(report("region-counts", Table("region-counts", columns, rows, 104)))
    assert chart is not None
    aws, azure = chart["series"]
    assert (aws["texts"], aws["few"]) == (["3 of 4", "4 of 4"], True)
    assert (azure["texts"], azure["few"]) == (["60.0\u202f%", "100.0\u202f%"], False)


def test_rows_that_are_all_unknown_have_no_chart() -> None:
    """Without a bar there is no frame, and no picture to save."""
    nobody = Table(
        "customers",
        SPEC_BY_ID["customers"].columns,
        (("all", "nowhere in it", 12, 0, 0.0, 0, None, 0, None),),
        12,
    )
    assert chart_of(report("customers", nobody)) is None
    unknown = report_grid(report("customers", nobody), "s").rows[0]
    assert [c.bar for c in unknown.cells if c.text == "no data"] == [None, None]


def test_sums_stand_below_the_line() -> None:
    grid = report_grid(report("providers"), "s")
    assert [texts(row)[0] for row in grid.foot] == [
        "Amazon in all",
        "Microsoft in all",
        "All cloud-using",
    ]
    assert all("total" not in cell.text for row in grid.rows for cell in row.cells)


def test_every_column_of_the_table_is_shown() -> None:
    for table_id, table in cast.tables().items():
        shown = {c.key for c in report_grid(report(table_id), "s").columns}
        missing = set(table.columns) - shown
        assert missing <= {"provider"}, table_id


def test_a_missing_figure_is_a_dash_and_never_zero() -> None:
    grid = report_grid(report("patterns"), "s")
    unknown = next(row for row in grid.rows if row.cells[0].value == "unclassified")
    assert unknown.cells[-1].text == "–"


def test_a_domain_leads_to_its_passport() -> None:
    grid = report_grid(report("top-domains"), "the-survey")
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
