"""Share of good machines by region, zone, instance type or CPU model, over a user's pools."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from screening.statistics.good_shares import GoodShare, Machine, find_good_shares
from webapp.store.ranges.region_places import place_name
from webapp.store.screening.placements import PlacedMachine, list_placed_machines
from webapp.store.screening.selectors import GOOD, UNKNOWN

# What machines are grouped by, as addresses and the API have it, with the words of pages.
DIMENSIONS = {
    "region": "region",
    "zone": "zone",
    "type": "instance type",
    "cpu": "CPU model",
}
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class GoodShareTable:
    """Groups as rows, best first, and the machines that no group counts.

    ``unjudged`` have not measured enough, ``unplaced`` did not report the field. ``correlation`` is
    that of verdicts within pools, None where no group has machines of two pools.
    """

    by: str
    rows: list[Row]
    correlation: float | None
    machines: int
    pools: int
    unjudged: int
    unplaced: int


def find_table(user: Any, by: str) -> GoodShareTable:
    """Return the groups of all machines in pools that the user may see; ``by`` is a dimension."""
    known = list_placed_machines(user)
    judged = [one for one in known if one.verdict != UNKNOWN]
    placed = [(one, group) for one in judged if (group := _group(one, by))]
    found = find_good_shares(
        Machine(one.pool, group, one.verdict == GOOD, one.p999_ms) for one, group in placed
    )
    return GoodShareTable(
        by,
        [_row(one, by) for one in found.groups],
        found.correlation,
        len(placed),
        len({one.pool for one, _ in placed}),
        len(known) - len(judged),
        len(judged) - len(placed),
    )


def find_region_rows(user: Any, regions: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Row]:
    """Return the rows of regions, given as (provider, code), in which the user's machines ran.

    A provider that is not known on either side fits any.
    """
    rows = find_table(user, "region").rows
    return {pair: row for pair in regions if (row := _match(rows, *pair)) is not None}


def _match(rows: list[Row], provider: str, code: str) -> Row | None:
    for row in rows:
        is_alike = not provider or not row["provider"] or row["provider"] == provider
        if row["code"] == code and is_alike:
            return row
    return None


def _group(one: PlacedMachine, by: str) -> str:
    """Return the machine's group; regions and zones begin with the provider where it is known."""
    if by == "type":
        return one.instance_type
    if by == "cpu":
        return one.cpu_model
    name = one.region if by == "region" else _full_zone(one.region, one.zone)
    return f"{one.provider}/{name}" if one.provider and name else name


def _full_zone(region: str, zone: str) -> str:
    """Return a zone's name with its region; some providers number the zones of each region."""
    return f"{region}-{zone}" if zone and not zone.startswith(region) else zone


def _row(one: GoodShare, by: str) -> Row:
    """Return a group as a row; ``code`` is its name without the provider."""
    if by not in ("region", "zone"):
        return {**asdict(one), "provider": "", "code": one.group, "place": ""}
    provider, _, code = one.group.rpartition("/")
    place = place_name(code, provider) if by == "region" else ""
    return {**asdict(one), "provider": provider, "code": code, "place": place}
