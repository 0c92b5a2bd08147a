"""Notes beside the main chart of a report page: what it means, who is different, what is doubtful.

Writers compute them from the tables; a writer returns None where the tables lack its figures.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from core.report_tables import Table
from core.statistics.intervals import wilson_interval
from core.wording import SMALL, Portion, percent

MEANING, EXCEPTION, DOUBT = "What it means", "Who is different", "Doubt"
# Two-sided 95 % of a normal distribution.
_DEVIATIONS_95 = 1.96


@dataclass(frozen=True, slots=True)
class MarginalNote:
    """A note; ``page`` is the slug of a report with more, ``domains`` are those that it names."""

    heading: str
    text: str
    page: str = ""
    domains: tuple[str, ...] = ()


Writer = Callable[[Mapping[str, Table]], MarginalNote | None]


def known_rows(tables: Mapping[str, Table], table_id: str) -> list[dict[str, Any]]:
    """Return the rows of a table by column; none of a table that a survey lacks."""
    table = tables.get(table_id)
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows] if table else []


def subdomains(part: int, whole: int) -> Portion:
    """Return a share of cloud-using subdomains."""
    return Portion(part, whole, "cloud-using subdomain", "cloud-using subdomains")


def sampled_interval(part: int, whole: int, plural: str) -> str:
    """The interval of a share of domains, should the list be a sample; empty for few or none."""
    if whole < SMALL:
        return ""
    low, high = wilson_interval(part / whole, whole, _DEVIATIONS_95)
    return (
        f"Between {percent(low)} and {percent(high)} of such domains {plural} (95 % interval), if "
        f"these {whole:,} are a random sample."
    )


def doubt(*sentences: str) -> MarginalNote | None:
    """Return a note of the sentences that are not empty; None where all are."""
    text = " ".join(s for s in sentences if s)
    return MarginalNote(DOUBT, text) if text else None


def most_spread(
    rows: Iterable[dict[str, Any]], several: tuple[str, str], whole: str, kind: str
) -> MarginalNote | None:
    """The two domains with most names in several regions or zones."""
    counted = [(sum(r[key] or 0 for key in several), r) for r in rows]
    wide = sorted((c for c in counted if c[0]), key=lambda c: (-c[0], c[1]["rank"]))[:2]
    if not wide:
        return None
    listed = "; ".join(
        f"{row['domain']} has {count:,} of {row[whole]:,} subdomains in two or more {kind}"
        for count, row in wide
    )
    return MarginalNote(EXCEPTION, f"{listed}.", domains=tuple(row["domain"] for _, row in wide))
