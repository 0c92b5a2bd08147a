"""Sampling error of a survey of few domains against the whole population.

Names are sampled in clusters (domains) of unequal size m. A share of names has the variance of
``(sum m)^2 / sum m^2`` independent names (Kish's effective sample size); a share of domains has
that of their number.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from analysis.deployment.cloud_names import Connection, fetch
from core.statistics.intervals import wilson_interval
from core.wording import percent

# 99 of 100 draws lie within this many standard deviations.
_DEVIATIONS = 2.576
# Three zones of a region, and addresses with a unknown zone.
_FEWEST_ADDRESSES = 4
_SIZES = """
SELECT provider, domain, count(DISTINCT name) FROM uses GROUP BY ALL
UNION ALL SELECT '', domain, count(DISTINCT name) FROM uses GROUP BY domain
UNION ALL SELECT label, domain, count(DISTINCT name) FROM labelled
  WHERE provider = 'aws' AND label IN ('vm', 'elb') GROUP BY label, domain
"""


@dataclass(frozen=True, slots=True)
class Population:
    """A population: domains, names, and the effective sample size of names."""

    domains: int
    names: int
    effective: float


def populations(connection: Connection) -> dict[str, Population]:
    """Populations by provider, by front end (``vm`` and ``elb``), and of all (the empty text)."""
    sizes: dict[str, list[int]] = {}
    for group, _, names in fetch(connection, _SIZES):
        sizes.setdefault(str(group), []).append(names)
    return {
        group: Population(len(found), sum(found), sum(found) ** 2 / sum(m * m for m in found))
        for group, found in sizes.items()
    }


def interval(share: float, effective: float) -> tuple[float, float]:
    """Return the 99 % Wilson score interval of a share for an effective sample size."""
    return wilson_interval(share, effective, _DEVIATIONS)


def population_of(table_id: str, row: str, known: Mapping[str, Population]) -> Population:
    """What a cell counts parts of: the names and domains of a provider, of a front end, or all."""
    if table_id == "elb-sharing" or row.startswith("load balancers"):
        group = "elb"
    elif table_id == "text-figures":
        group = "aws" if "EC2" in row or row.startswith("of these") else ""
    else:
        group = "" if table_id == "providers" else row.split(" ")[0]
    return known.get(group, known[""])


def explanation(
    table_id: str,
    row: str,
    column: str,
    values: tuple[float, float],
    known: Mapping[str, Population],
) -> str:
    """Why ``values`` (expected, found) differ no more than few domains make them; else nothing."""
    if table_id == "name-servers" or "" not in known:
        return ""
    expected, found = values
    of = population_of(table_id, row, known)
    if column == "instances":
        return _few_addresses(expected, found)
    by_domain = _counts_domains(table_id, row, column)
    whole = 1 if column.endswith("share") else of.domains if by_domain else of.names
    effective = of.domains if by_domain else of.effective
    low, high = (end * whole for end in interval(expected / whole, effective))
    if not low <= found <= high:
        return ""
    form = percent if whole == 1 else _count
    alike = "" if by_domain else f", whose names vary as {effective:,.0f} independent ones,"
    return (
        f"few domains: of {of.domains:,}{alike} the 99 % interval is {form(low)} to {form(high)} "
        f"where {form(expected)} is expected"
    )


def _few_addresses(expected: float, found: float) -> str:
    """Addresses are counted in each zone, with at least one where a name uses the zone."""
    width = _DEVIATIONS * math.sqrt(expected)
    low, high = max(0.0, expected - width), max(expected + width, _FEWEST_ADDRESSES)
    if not low <= found <= high:
        return ""
    return (
        f"few addresses: each zone in use has one at least, and the 99 % interval is {_count(low)} "
        f"to {_count(high)} where {_count(expected)} is expected"
    )


def _counts_domains(table_id: str, row: str, column: str) -> bool:
    if table_id == "text-figures":
        return row.startswith(("domains", "EC2 domains", "of these"))
    return column.startswith("domains") or table_id.startswith("domain-")


def _count(value: float) -> str:
    return f"{value:,.1f}"
