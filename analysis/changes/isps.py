"""Changes of the ISPs by which the routes to each region of two campaigns go."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]
# An ISP of fewer routes may be missing from a sample of them by chance.
MIN_SHARE = 0.1
MIN_ROUTES = 20


@dataclass(frozen=True, slots=True)
class IspChange:
    """ISPs of a region before and after, those that count, by their AS numbers."""

    provider: str
    region: str
    before: tuple[str, ...]
    after: tuple[str, ...]


def changed_isps(before: Iterable[Row], after: Iterable[Row]) -> list[IspChange]:
    """Regions at which an ISP with a share of routes appeared or is gone.

    Rows are those of the table ``isp-shares``. An ISP counts as new or gone only where it has at
    least ``MIN_SHARE`` of at least ``MIN_ROUTES`` routes on one side and none on the other.
    """
    was, now = _by_region(before), _by_region(after)
    found = []
    for region in sorted(was.keys() & now.keys()):
        old, new = was[region], now[region]
        if _counts(old) < MIN_ROUTES or _counts(new) < MIN_ROUTES:
            continue
        if _large(old) - new.keys() or _large(new) - old.keys():
            found.append(IspChange(*region, _names(old), _names(new)))
    return found


def _by_region(rows: Iterable[Row]) -> dict[tuple[str, str], dict[str, int]]:
    found: dict[tuple[str, str], dict[str, int]] = {}
    for row in rows:
        isps = found.setdefault((str(row["provider"]), str(row["region"])), {})
        isps[f"AS{row['isp']}"] = isps.get(f"AS{row['isp']}", 0) + int(row["routes"])
    return found


def _counts(isps: Mapping[str, int]) -> int:
    return sum(isps.values())


def _large(isps: Mapping[str, int]) -> set[str]:
    whole = _counts(isps)
    return {isp for isp, n in isps.items() if n >= MIN_SHARE * whole}


def _names(isps: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(sorted(_large(isps), key=lambda isp: (-isps[isp], isp)))
