"""Each traffic table's own consistency check; runs on every report."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from analysis.traffic.tables import TOTAL
from core.report_tables import Table

Rows = Mapping[str, list[dict[str, Any]]]
# Shares are rounded to six decimals, and a check adds a dozen of them.
_TOLERANCE = 2e-5


def check_traffic(tables: Mapping[str, Table]) -> list[str]:
    """What does not add up, as ``table: reason``; empty when all is consistent."""
    rows = {
        table_id: [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        for table_id, table in tables.items()
    }
    return [complaint for check in _CHECKS for complaint in check(rows)]


def _check_clouds(rows: Rows) -> Iterator[str]:
    *clouds, total = rows["traffic-clouds"]
    for column in ("bytes", "flows", "unsized_flows"):
        got = sum(row[column] for row in clouds)
        if got != total[column]:
            yield f"traffic-clouds: the {column} of all clouds sum to {got}, not {total[column]}"
    for column in ("bytes_share", "flows_share"):
        whole = sum(row[column] or 0 for row in clouds)
        if total[column.removesuffix("_share")] and abs(whole - 1) > _TOLERANCE:
            yield f"traffic-clouds: the column {column} sums to {whole}, not 1"


def _check_protocols(rows: Rows) -> Iterator[str]:
    """The published columns of flows sum to 87.92 and 90.32: ours must sum to all."""
    for cloud in rows["traffic-clouds"]:
        own = [r for r in rows["traffic-protocols"] if r["provider"] == cloud["provider"]]
        for column in ("bytes", "flows"):
            got = sum(row[column] for row in own)
            if got != cloud[column]:
                yield (
                    f"traffic-protocols: the {column} of {cloud['provider']} sum to {got}, "
                    f"not {cloud[column]}"
                )


def _check_domains(rows: Rows) -> Iterator[str]:
    web: Counter[str] = Counter()
    for row in rows["traffic-protocols"]:
        if row["protocol"] in ("http", "https") and row["provider"] != TOTAL:
            web[row["provider"]] += row["bytes"]
    held: Counter[str] = Counter()
    for row in rows["traffic-domains"]:
        held[row["provider"]] += row["bytes"]
    for provider, n_bytes in held.items():
        # Bytes of a connection for several hosts are shared out and rounded.
        if n_bytes > web[provider] + len(rows["traffic-domains"]):
            yield f"traffic-domains: the domains of {provider} have more bytes than its HTTP(S)"


def _check_evidence(rows: Rows) -> Iterator[str]:
    flows: Counter[str] = Counter()
    for row in rows["traffic-protocols"]:
        if row["protocol"] in ("http", "https"):
            flows[row["provider"]] += row["flows"]
    for provider in {row["provider"] for row in rows["traffic-evidence"]}:
        own = [row for row in rows["traffic-evidence"] if row["provider"] == provider]
        got = sum(row["flows"] for row in own)
        if abs(got - flows[provider]) > len(own):
            yield f"traffic-evidence: {got} flows of {provider}, not {flows[provider]}"


def _check_places(rows: Rows) -> Iterator[str]:
    total = rows["traffic-clouds"][-1]["flows"]
    opened = sum(row["flows"] for row in rows["traffic-directions"] if row["counted"])
    placed = sum(row["flows"] for row in rows["traffic-regions"])
    if opened != total:
        yield f"traffic-directions: {opened} flows are counted, not {total}"
    if placed != total:
        yield f"traffic-regions: the flows of all regions sum to {placed}, not {total}"


_CHECKS: tuple[Callable[[Rows], Iterator[str]], ...] = (
    _check_clouds,
    _check_protocols,
    _check_domains,
    _check_evidence,
    _check_places,
)
