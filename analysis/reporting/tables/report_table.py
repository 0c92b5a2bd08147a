"""Declaration of a report table, and the rows and shares that several tables use."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from analysis.deployment.cloud_names import Connection
from analysis.reporting.tables.marginal_note import Writer
from core.report_tables import Table
from core.wording import Portion, provider_name

Tables = Mapping[str, Table]
Row = dict[str, Any]
Rows = Mapping[str, list[Row]]
Check = Callable[[Rows], Iterator[str]]
# Shares are rounded to six decimals.
ROUNDING = 2e-6
# For checks that add several of them.
TOLERANCE = 2e-5
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ReportTable:
    """How one table of ``core.report_tables.SPECS`` is computed, summarised and checked.

    ``note`` states how its rows are made. ``checks`` yield complaints about all tables; they run on
    every report. ``distribution`` names the columns of group and count of a cumulative curve over
    names or domains that the table ``providers`` counts; ``shares`` are columns of a part, its
    share and the whole. ``notes`` write what is next to the chart of the page that the table
    leads.
    """

    id: str
    build: Callable[[Connection], Table]
    headline: Callable[[Tables], str]
    note: str
    checks: tuple[Check, ...] = ()
    distribution: tuple[str, str] | None = None
    shares: tuple[tuple[str, str, str], ...] = ()
    notes: tuple[Writer, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """A figure, its statement, and the table that shows it."""

    value: str
    text: str
    table_id: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A portion with what it does, in the singular and the plural, and what follows from it."""

    portion: Portion
    singular: str
    plural: str
    so: str = ""

    def sentence(self) -> str:
        return self.portion.sentence(self.singular, self.plural)

    def finding(self, table_id: str) -> Finding:
        text = self.portion.tail(self.singular, self.plural)
        return Finding(self.portion.value, f"{text} {self.so}".strip(), table_id)


def rows_of(tables: Tables, table_id: str) -> list[Row]:
    """Return the rows of a table by column."""
    table = tables[table_id]
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def largest(rows: Iterable[Row]) -> Row | None:
    """Return the row with the most subdomains, the first of equals."""
    return max(rows, key=lambda r: r["subdomains"], default=None)


def provider_totals(tables: Tables) -> dict[str, int]:
    """Return the subdomains of each provider, and of all under the empty name."""
    return {
        r["class"].removesuffix("total").strip(): r["subdomains"]
        for r in rows_of(tables, "providers")
        if r["class"].endswith("total")
    }


def total_of(tables: Tables, column: str = "subdomains") -> int:
    """Return the number of cloud-using subdomains, or domains."""
    rows = rows_of(tables, "providers")
    return int(next((r[column] for r in rows if r["class"] == "total"), 0))


def clouded(part: int, tables: Tables) -> Portion:
    """Return a share of all cloud-using subdomains."""
    return Portion(part, total_of(tables), "cloud-using subdomain", "cloud-using subdomains")


def hosted(part: int, tables: Tables, provider: str, whole: int | None = None) -> Portion:
    """Return a share of a provider's subdomains, of all of them without ``whole``."""
    name = provider_name(provider)
    if whole is None:
        whole = provider_totals(tables).get(provider, 0)
    return Portion(part, whole, f"{name}-hosted subdomain", f"{name}-hosted subdomains")


def totals_of(rows: Rows) -> Mapping[str, Row]:
    """Return the total row of each provider, and of all under the empty name; unknown ones are
    zero."""
    totals: defaultdict[str, Row] = defaultdict(Counter)
    for row in rows["providers"]:
        if row["class"].endswith("total"):
            totals[row["class"].removesuffix("total").strip()] = row
    return totals


def same_share(one: float | None, other: float | None, tolerance: float) -> bool:
    """Return whether two shares are equal but for rounding; an unknown one equals only an unknown
    one."""
    if one is None or other is None:
        return one is other
    return abs(one - other) <= tolerance


def check_end(rows: Rows, table_id: str) -> Iterator[str]:
    """Check that a cumulative share ends at 1."""
    if rows[table_id] and abs(rows[table_id][-1]["cumulative_share"] - 1) > ROUNDING:
        yield f"{table_id}: the cumulative share does not end at 1"
