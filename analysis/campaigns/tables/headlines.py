"""The headline of each wide-area table: its main finding in a sentence."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from core.wording import SMALL, number, percent, share_of

Row = Mapping[str, Any]
Rows = Sequence[Row]


def headline_of(table_id: str, rows: Rows) -> str:
    """Return the headline of a table; empty for a table without rows or without a headline."""
    write = _HEADLINES.get(table_id)
    return write(rows) if write and rows else ""


def _value(value: float, unit: str) -> str:
    if unit == "ms":
        digits = 0 if value >= 10 else 1 if value >= 1 else 2
        return f"{value:.{digits}f} ms"
    return f"{value / 1000:,.0f} kB/s"


def _regions(
    unit: str, better: Callable[..., Any], worse: Callable[..., Any]
) -> Callable[[Rows], str]:
    def write(rows: Rows) -> str:
        known = [r for r in rows if r["vantage_mean"] is not None]
        if not known:
            return f"None of {len(rows)} regions gave a value"
        best = better(known, key=lambda r: r["vantage_mean"])
        if len(known) == 1:
            return f"{best['region']} has a mean of {_value(best['vantage_mean'], unit)}"
        worst = worse(known, key=lambda r: r["vantage_mean"])
        return (
            f"{best['region']} is the best single region: {_value(best['vantage_mean'], unit)} "
            f"on average over all vantage points, against {_value(worst['vantage_mean'], unit)} "
            f"for {worst['region']}"
        )

    return write


def _choice(rows: Rows) -> str:
    row = rows[0]
    if row.get("differs_mean") is None:
        return "No vantage point has enough values to choose a region"
    always, known = row["never_differs"], row["vantages"] - row["without_choice"]
    if always == known:
        who = "the vantage point" if known == 1 else f"all {known} vantage points"
        return f"For {who}, the usual region was the best in every round"
    return (
        f"In {percent(row['differs_mean'])} of rounds the usual region was not the best; "
        f"for {always} of {known} vantage points it always was"
    )


def _zones(rows: Rows) -> str:
    clear = [r for r in rows if r["low"] is not None and (r["low"] > 0 or r["high"] < 0)]
    middle = sorted(r["relative"] for r in rows)[len(rows) // 2]
    return (
        f"Zones of one region differ by {percent(middle)} in the median; "
        f"{len(clear)} of {len(rows)} pairs differ significantly"
    )


def _failures(rows: Rows) -> str:
    runs, failed = (sum(r[k] for r in rows) for k in ("runs", "failed"))
    if not failed:
        return f"None of {runs:,} runs failed"
    if runs < SMALL:
        return f"{failed} of {number(runs, 'run')} gave no value"
    return f"{percent(failed / runs)} of {runs:,} runs gave no value"


def _isp_regions(rows: Rows) -> str:
    known = [r for r in rows if r["isps"]]
    if not known:
        return "No route tells which ISP it took"
    most, least = max(known, key=_isps), min(known, key=_isps)
    if len(known) == 1:
        return f"{most['region']} connects through at least {most['isps']} ISPs"
    return (
        f"{most['region']} connects through at least {most['isps']} ISPs, {least['region']} "
        f"through {least['isps']}"
    )


def _isps(row: Row) -> int:
    return int(row["isps"])


def _isp_shares(rows: Rows) -> str:
    top = max(rows, key=lambda r: r["share"])
    who = top.get("name") or f"AS{top['isp']}"
    routes = round(top["routes"] / top["share"])
    many = share_of(top["share"], routes, _whole_percent) + (" of" if routes >= SMALL else "")
    return f"{many} routes of {top['region']} use one ISP, {who}"


def _isp_failures(rows: Rows) -> str:
    worst = max(rows, key=lambda r: r["cut_off_share"])
    if not worst["cut_off"]:
        return "No single ISP cuts any end off from a region"
    who = worst.get("name") or f"AS{worst['isp']}"
    ends = worst["ends"]
    many = share_of(worst["cut_off_share"], ends, _whole_percent) + (" of" if ends >= SMALL else "")
    return f"If {who} fails, up to {many} ends lose {worst['region']}"


def _whole_percent(fraction: float) -> str:
    return f"{fraction * 100:.0f} %"


_HEADLINES: dict[str, Callable[[Rows], str]] = {
    "latency-regions": _regions("ms", min, max),
    "throughput-regions": _regions("B/s", max, min),
    "latency-choice": _choice,
    "throughput-choice": _choice,
    "latency-zones": _zones,
    "throughput-zones": _zones,
    "failures": _failures,
    "isp-regions": _isp_regions,
    "isp-shares": _isp_shares,
    "isp-failures": _isp_failures,
}
