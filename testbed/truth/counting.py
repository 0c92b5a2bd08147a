"""The truth of a world, counted directly from it in plain Python.

Written apart from ``analysis`` on purpose: a survey is right when two independent counts agree.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from core.report_tables import Cell
from testbed.truth.tables import TABLES, Rows
from testbed.truth.zones import SHARING_TABLES, ZONE_TABLES
from testbed.world.facts import Fact, facts_of
from testbed.world.model import ALLOW, MISSING, SERVFAIL, SILENT, Name, World, Zone, scale_text

NOT_IN_WORDLIST = "not in the word list"
_FAULTS = {
    SERVFAIL: "every query to the zone fails",
    SILENT: "no server answers for the zone",
    MISSING: "the domain does not exist",
}
# The tables that are also given for all names, found or not.
_ALSO_FOR_ALL = ("providers", "patterns", "regions")


def truth(world: World, wordlist: Iterable[str], *, axfr: bool = True) -> dict[str, Any]:
    """The truth about a world as a JSON document.

    ``names`` counts names that the technique can find, those of them in a cloud, and the cloud
    names that it cannot find, by reason. ``dangling`` holds (domain, name, missing target) of
    findable aliases that lead nowhere. ``tables`` holds tables of ``core.report_tables`` for
    findable names, ``tables_zoned`` those that need the zones of addresses, which no crawl sees,
    and ``tables_all`` three of the first for all names.
    """
    words = frozenset(wordlist)
    facts = list(facts_of(world))
    findable = [f for f in facts if not hidden_reason(f.zone, f.name, words, axfr=axfr)]
    missed = Counter(hidden_reason(f.zone, f.name, words, axfr=axfr) for f in facts if f.providers)
    missed.pop("", None)
    return {
        "world": world.id,
        "scale": scale_text(world.scale),
        "seed": world.seed,
        "names": {
            "findable": len(findable),
            "cloud": sum(1 for f in findable if f.providers),
            "hidden": dict(sorted(missed.items())),
            "all_cloud": sum(1 for f in facts if f.providers),
        },
        "dangling": sorted(
            [f.zone.domain, f.name.fqdn, f.name.cnames[-1]] for f in findable if f.name.is_dangling
        ),
        "tables": _tables(world, findable, (*TABLES, *SHARING_TABLES)),
        "tables_zoned": _tables(world, findable, tuple(ZONE_TABLES)),
        "tables_all": _tables(world, facts, _ALSO_FOR_ALL),
        "notes": list(world.notes),
        # What an audit has to find; only worlds of kind ``audit`` have it.
        "violations": [list(row) for row in world.violations],
        "customers": [list(row) for row in world.customers],
        "rtt_ms": world.rtt_ms,
        "routes": world.routes,
    }


def hidden_reason(zone: Zone, name: Name, words: frozenset[str], *, axfr: bool) -> str:
    """Return why the technique cannot find a name; empty when it can."""
    if zone.fault:
        return _FAULTS[zone.fault]
    if name.fqdn == zone.domain or (axfr and zone.transfer == ALLOW):
        return ""
    if name.fqdn[: -len(zone.domain) - 1] not in words:
        return NOT_IN_WORDLIST
    return ""


def _tables(world: World, facts: Sequence[Fact], ids: Iterable[str]) -> dict[str, Any]:
    return {
        table: {"columns": list(columns), "rows": [list(row) for row in rows]}
        for table in ids
        for columns, rows in (_filled(world, facts, table),)
    }


def _filled(world: World, facts: Sequence[Fact], table: str) -> tuple[tuple[str, ...], Rows]:
    spec, fill = (TABLES | SHARING_TABLES | ZONE_TABLES)[table]
    return spec.columns, fill(world, facts)


def table_rows(document: dict[str, Any], table: str) -> list[dict[str, Cell]]:
    """Rows of one table of a truth document as dictionaries, for readers and tests."""
    found = document["tables"][table]
    return [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]]
