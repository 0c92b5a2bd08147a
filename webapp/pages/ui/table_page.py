"""Tables of reports on pages: labels, cells, links, bars and comparison marks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from core.denominators import wholes
from core.report_tables import SPEC_BY_ID, Table
from webapp.pages.ui import formatting
from webapp.pages.ui.headings import column_heading
from webapp.store.ranges.region_places import place_name
from webapp.store.surveys.index import full_zone
from webapp.store.surveys.selectors import ReportRow

# The share that published figures, or those of an earlier survey, are set beside, by table.
COMPARED = {
    "providers": "subdomains_share",
    "patterns": "subdomains_share",
    "regions": "subdomains_share",
    "name-servers": "share",
    "region-counts": "cumulative_share",
    "instance-counts": "cumulative_share",
    "name-server-counts": "cumulative_share",
    "zone-usage": "subdomains_share",
    "zone-counts": "cumulative_share",
    "customers": "other_country_share",
    "customer-countries": "other_country_share",
    "outages": "down_share",
    "outage-domains": "down_share",
    "name-server-operators": "subdomains_share",
    "domain-region-means": "cumulative_share",
    "domain-zone-means": "cumulative_share",
    "text-figures": "share",
}
# What names a row on phones where that is not what tables are joined on; others show one column.
_NAMED = {
    "outages": ("target",),
    "outage-domains": ("target",),
    "dangling": ("rule", "claimable"),
    "traffic-protocols": ("provider", "protocol"),
    "traffic-domains": ("domain",),
    "dangling-names": ("name", "missing", "claimable"),
}
# Columns of a table without a share that a phone shows.
_MOST_ON_PHONES = 4

# From so many columns on a table takes less space for each.
WIDE_COLUMNS = 9


@dataclass(frozen=True, slots=True)
class Column:
    """One column head; ``numeric`` ones are set to the right."""

    key: str
    label: str
    numeric: bool = False
    muted: bool = False
    # Left out on a phone until all columns are requested.
    is_spare: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: its text, the value to sort by, and what is drawn beside the text."""

    text: str
    value: Any = ""
    kind: str = "text"
    href: str = ""
    sub: str = ""
    tags: tuple[str, ...] = ()
    bar: float | None = None
    mark: float | None = None
    key: str = ""
    # Whether the link leads to evidence, which a script opens beside the page.
    is_label: bool = False
    is_spare: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One row; ``anchor`` is its address on the page."""

    cells: tuple[Cell, ...]
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Grid:
    """A whole table as the template draws it."""

    id: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    foot: tuple[Row, ...] = ()

    @property
    def has_hidden_columns(self) -> bool:
        """Whether a phone shows some of its columns only."""
        return any(column.is_spare for column in self.columns)

    @property
    def is_wide(self) -> bool:
        """Whether its columns have to stand closer together."""
        return len(self.columns) >= WIDE_COLUMNS

    @property
    def fits_half_page(self) -> bool:
        """Whether half a page is enough for it: two columns of bars would be cut off there."""
        bars = [sum(cell.bar is not None for cell in row.cells) for row in self.rows]
        return max(bars, default=0) <= 1

    @property
    def is_plain(self) -> bool:
        """Whether no bar is drawn, so that the table need not fill the page."""
        return all(cell.bar is None for row in self.rows for cell in row.cells)


Cells = Mapping[str, Any]
Places = Mapping[tuple[str, str], str]


def report_grid(report: ReportRow, slug: str, places: Places | None = None) -> Grid:
    """The table of a report; ``places`` names the town of a (provider, region)."""
    maker = _GridBuilder(report, slug, places or {})
    rows = [dict(zip(report.columns, row, strict=True)) for row in report.rows]
    made = [(r, maker.row(r, whole)) for r, whole in zip(rows, maker.wholes, strict=True)]
    return Grid(
        id=report.table_id,
        caption=report.title,
        columns=maker.columns,
        rows=tuple(row for cells, row in made if not _is_sum(cells)),
        foot=tuple(row for cells, row in made if _is_sum(cells)),
    )


def phone_columns(table_id: str, keys: Sequence[str]) -> frozenset[str]:
    """The columns that a phone shows first: what names the row, and the share with its bar."""
    named = _NAMED.get(table_id) or _compared_keys(table_id)
    main = COMPARED.get(table_id) or next((k for k in keys if k.endswith("share")), "")
    if not main and not named:
        return frozenset(keys[:_MOST_ON_PHONES])
    return frozenset((*(key for key in named or keys[:1] if key in keys), main))


def _is_sum(row: Cells) -> bool:
    named = row.get("class", row.get("location", row.get("provider", "")))
    return "total" in str(named).split(" ")


def published_by_key(table_id: str, table: Table | None) -> dict[tuple[Any, ...], Any]:
    """The published share of each row, by what names the row."""
    column = COMPARED.get(table_id)
    if table is None or column is None:
        return {}
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    return {row_key(table_id, r): r.get(column) for r in rows if r.get(column) is not None}


def row_key(table_id: str, row: Cells) -> tuple[Any, ...]:
    """What names a row of a table."""
    return tuple(row[k] for k in _compared_keys(table_id))


def _compared_keys(table_id: str) -> tuple[str, ...]:
    """The columns on which a table is joined with published figures; none without such."""
    return SPEC_BY_ID[table_id].keys if table_id in COMPARED else ()


class _GridBuilder:
    """Builds the rows of one report."""

    def __init__(self, report: ReportRow, slug: str, places: Places) -> None:
        self.table_id, self.slug, self.places = report.table_id, slug, places
        self.published = published_by_key(report.table_id, report.published)
        self.compared = COMPARED.get(report.table_id, "")
        self.reference = report.reference.label if report.reference else ""
        # The provider's letter is shown in the cell that it qualifies.
        merged = {"feature", "region", "target"} & set(
            report.columns
        ) and "provider" in report.columns
        keys = [c for c in report.columns if not (merged and c == "provider")]
        self.kept = phone_columns(self.table_id, keys)
        # What heads a row is shown on phones, too.
        lead = next((k for k in keys if k in self.kept), keys[0])
        self.keys = [lead, *(k for k in keys if k != lead)]
        self.columns = tuple(self._columns())
        rows = [dict(zip(report.columns, row, strict=True)) for row in report.rows]
        self.wholes = wholes(report.columns, rows)

    def _columns(self) -> list[Column]:
        made: list[Column] = []
        for key in self.keys:
            numeric = (
                key != "region" and key not in _WORDED and bool(made)
            )  # what names the row stays left
            is_spare = key not in self.kept
            head = column_heading(self.table_id, key)
            made.append(Column(key, head, numeric, is_spare=is_spare))
            if key == "region":
                made.append(Column("place", "Place"))
            if key == self.compared and self.published:
                head = self.reference
                made.append(Column("published", head, True, muted=True, is_spare=True))
        return made

    def row(self, cells: Cells, wholes: Mapping[str, int | None]) -> Row:
        made: list[Cell] = []
        before = self.published.get(row_key(self.table_id, cells))
        for key in self.keys:
            cell = self._cell(key, cells, before, wholes.get(key))
            made.append(cell if key in self.kept else replace(cell, is_spare=True))
            if key == "region":
                made.append(
                    Cell(self._place(cells) or formatting.NONE, self._place(cells), "place")
                )
            if key == self.compared and self.published:
                text, value = formatting.share(before), _sortable(before)
                made.append(Cell(text, value, kind="muted", is_spare=True))
        named = [str(cells[k]) for k in ("provider", "region", "zone") if k in cells]
        anchor = ".".join(named) if "region" in cells else ""
        return Row(tuple(made), anchor)

    def _place(self, cells: Cells) -> str:
        return self.places.get((cells["provider"], cells["region"]), "")

    def _cell(self, key: str, cells: Cells, before: Any, whole: int | None) -> Cell:
        value = cells[key]
        if key == "region":
            return _region_cell(value, cells, self.slug)
        if key in _WORDED:
            return _WORDED[key](value, cells, self.slug)
        if key.endswith("share"):
            mark = before if key == self.compared else None
            # Next to a cumulative share, the plain one needs no bar.
            if key == "share" and "cumulative_share" in self.keys:
                return Cell(formatting.share_of(value, whole), _sortable(value), "count")
            text = formatting.share_of(value, whole)
            return Cell(text, _sortable(value), "share", bar=value, mark=mark)
        if key.endswith(("_low", "_high")):
            return Cell(formatting.share(value), _sortable(value), "muted")
        if key == "bytes":
            return Cell(formatting.size(value), _sortable(value), "count")
        return Cell(formatting.count(value), _sortable(value), "count")


def _sortable(value: Any) -> Any:
    return -1 if value is None else value


def _label_cell(kind: str, slug: str, provider: str, value: str, cell: Cell) -> Cell:
    """A cell with a link to the names of its label; without a survey it is text."""
    if not slug:
        return cell
    query = urlencode({"kind": kind, "provider": provider, "value": value})
    return replace(cell, href=f"{reverse('label', args=[slug])}?{query}", is_label=True)


def _region_cell(value: Any, cells: Cells, slug: str) -> Cell:
    if value is None:
        return Cell("no region", "", tags=(cells["provider"],))
    place = place_name(str(value), cells["provider"])
    cell = Cell(str(value), value, "code", sub=place, tags=(cells["provider"],))
    return _label_cell("region", slug, cells["provider"], str(value), cell)


def _zone_cell(value: Any, cells: Cells, slug: str) -> Cell:
    cell, region = _plain_cell(value, cells, slug), str(cells.get("region", ""))
    if value in (None, "", "unknown") or "provider" not in cells:
        return cell
    zone = full_zone(region, str(value))
    return _label_cell("zone", slug, cells["provider"], zone, cell)


def _class_cell(value: Any, _cells: Cells, _slug: str) -> Cell:
    return Cell(formatting.class_name(value), value, tags=tuple(formatting.providers_in(value)))


def _provider_cell(value: Any, _cells: Cells, slug: str) -> Cell:
    if value == "total":
        return Cell(formatting.provider_name(value), value)
    cell = Cell(formatting.provider_name(value), value, tags=(value,))
    return _label_cell("provider", slug, value, "", cell)


def _feature_cell(value: Any, cells: Cells, slug: str) -> Cell:
    if "provider" not in cells:
        return Cell(formatting.feature(value), value)
    cell = Cell(formatting.feature(value), value, tags=(cells["provider"],))
    is_known = value != "unclassified"
    return _label_cell("pattern", slug, cells["provider"], value, cell) if is_known else cell


def _location_cell(value: Any, _cells: Cells, _slug: str) -> Cell:
    return Cell(formatting.location(value), value, tags=tuple(formatting.providers_in(value)))


def _domain_cell(value: Any, _cells: Cells, slug: str) -> Cell:
    if not slug:
        return Cell(value, value, kind="mono")
    return Cell(value, value, kind="mono", href=reverse("domain", args=[slug, value]))


def _name_cell(value: Any, _cells: Cells, slug: str) -> Cell:
    href = reverse("name", args=[slug, value]) if slug else ""
    return Cell(value, value, kind="mono", href=href)


def _code_cell(value: Any, _cells: Cells, _slug: str) -> Cell:
    return Cell(str(value), value, kind="mono")


def _term_cell(value: Any, _cells: Cells, _slug: str) -> Cell:
    return Cell(formatting.term(str(value)), value)


def _yes_cell(value: Any, _cells: Cells, _slug: str) -> Cell:
    return Cell("yes" if value else "no", int(bool(value)))


def _plain_cell(value: Any, _cells: Cells, _slug: str) -> Cell:
    return Cell(formatting.NONE if value is None else str(value), value or "")


def _target_cell(value: Any, cells: Cells, slug: str) -> Cell:
    who, kind = cells["provider"] or "", cells["kind"]
    text = formatting.provider_name(value) if kind == "provider" else value
    href = outage_href(slug, kind, who, value) if slug else ""
    place = place_name(str(value), who) if kind == "region" else ""
    return Cell(text, value, kind="code", href=href, tags=(who,) if who else (), sub=place)


def _operator_cell(value: Any, _cells: Cells, slug: str) -> Cell:
    return Cell(str(value), value, href=outage_href(slug, "operator", "", value) if slug else "")


def outage_href(slug: str, kind: str, provider: str, target: str) -> str:
    """Return the link to the outage page of a target."""
    query = {"kind": kind, "provider": provider, "target": target}
    return f"{reverse('outages', args=[slug])}?{urlencode({k: v for k, v in query.items() if v})}"


_WORDED: dict[str, Callable[[Any, Cells, str], Cell]] = {
    "class": _class_cell,
    "provider": _provider_cell,
    "feature": _feature_cell,
    "location": _location_cell,
    "domain": _domain_cell,
    "target": _target_cell,
    "operator": _operator_cell,
    "counted": _yes_cell,
    "basis": _term_cell,
    "kind": _term_cell,
    "reading": _term_cell,
    "zone": _zone_cell,
    "name": _name_cell,
    "rule": _code_cell,
    "missing": _code_cell,
    **dict.fromkeys(
        (
            "protocol",
            "direction",
            "evidence",
            "country",
            "continent",
            "figure",
            "claimable",
        ),
        _plain_cell,
    ),
}


def key_cell(key: str, cells: Cells, slug: str) -> Cell:
    """The cell of what names a row, its provider beside it."""
    value = cells[key]
    if key == "region":
        return _region_cell(value, cells, slug)
    if key in _WORDED:
        return _WORDED[key](value, cells, slug)
    return Cell(formatting.count(value), _sortable(value), "count")


def place_names(regions: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], str]:
    """Town names of the regions of a map."""
    return {(r["provider"], r["region"]): r["place"] for r in regions}
