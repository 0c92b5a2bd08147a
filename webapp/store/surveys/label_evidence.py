"""Behind a label: the observations, matches and rules that gave it, or who has it."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from django.conf import settings

from lake.parts import parts_of
from lake.sorted_parts import rows_of_keys
from webapp.store.access import survey_versions
from webapp.store.surveys import evidence
from webapp.store.surveys import index as survey_index

Row = dict[str, Any]
KINDS = ("provider", "region", "pattern", "zone")
SHOWN_DOMAINS = 20
# Set columns of the index by the kind of label.
_SETS = {
    "provider": "providers",
    "region": "regions",
    "pattern": "patterns",
    "zone": "zones",
}


def proof(slug: str, name: str, kind: str, provider: str, value: str) -> Row | None:
    """What gave a name a label; ``None`` where the name is not known or lacks the label.

    ``{name, domain, places, fronts, zones, lookups}``: places and fronts that carry the label, and
    the answers with their addresses or aliases.
    """
    found = evidence.name(slug, name)
    if found is None:
        return None
    places = [p for p in found["placements"] if _carries(p, kind, provider, value)]
    fronts = [f for f in found["fronts"] if kind == "pattern" and _is_front(f, provider, value)]
    zones: list[Row] = []
    if kind == "zone":
        zones = zones_of(slug, [p["address"] for p in places], value)
        kept = {z["address"] for z in zones}
        places = [p for p in places if p["address"] in kept]
    if kind == "pattern":
        places = [p for p in places if _backs(p, fronts)]
    if not places and not fronts:
        return None
    wanted = {p["address"] for p in places} | {_evidence_record(f) for f in fronts}
    lookups = [k for k in found["lookups"] if _mentions(k, wanted)]
    parts = {"places": places, "fronts": fronts, "zones": zones, "lookups": lookups}
    return {"name": found["name"], "domain": found["domain"], "wanted": wanted, **parts}


def _carries(place: Row, kind: str, provider: str, value: str) -> bool:
    if place["provider"] != provider:
        return False
    if kind == "region":
        return bool(place["region"] == value)
    return place["region"] is not None if kind == "zone" else True


def _is_front(front: Row, provider: str, value: str) -> bool:
    return bool(front["provider"] == provider and front["label"] == value)


def _backs(place: Row, fronts: Sequence[Row]) -> bool:
    """Whether a rule took this address for its evidence or its instance."""
    return any(place["address"] in (f["instance"], _evidence_record(f)) for f in fronts)


def _evidence_record(front: Row) -> str:
    """Extract the address or alias from the evidence of a rule."""
    first, *others = str(front["evidence"]).split(" ")
    return others[0] if others and first in ("CNAME", "A", "AAAA") else first


def _mentions(lookup: Row, wanted: set[str]) -> bool:
    records = lookup["answers"] or []
    return any(r["data"] in wanted or r["data"].rstrip(".") in wanted for r in records)


def zones_of(slug: str, addresses: Iterable[str], zone: str = "") -> list[Row]:
    """What was found on the zones of some addresses; on one ``zone`` alone if given."""
    wanted = sorted(set(addresses))
    paths = parts_of(Path(settings.LAKE_DIR), slug, "zones") if wanted else []
    found = rows_of_keys(paths, {"address": wanted})
    if found is not None:
        rows = found.to_pylist()
    else:
        tables = (pq.read_table(path, filters=[("address", "in", wanted)]) for path in paths)
        rows = [row for table in tables for row in table.to_pylist()]
    kept = [r for r in rows if not zone or zone in (r["zone"], f"{r['region']} {r['zone']}")]
    return [{**r, "found": _zone_evidence(r.get("evidence"))} for r in kept]


def _zone_evidence(text: str | None) -> Row:
    """Votes, round trips and margin of an inferred zone; empty for one that was brought."""
    if not text:
        return {}
    found = json.loads(text)
    near, far = found["proximity"], found["latency"]
    votes = sorted(near["votes"].items(), key=lambda vote: (-vote[1], vote[0]))
    rtts = sorted(far["rtt_ms"].items(), key=lambda rtt: (rtt[1] is None, rtt[1]))
    return {**found, "votes": votes, "prefix": near["prefix"], "rtts": rtts}


def domains_with(slug: str, kind: str, provider: str, value: str) -> Row | None:
    """``{total, rows}``: the best-ranked domains with a label; ``None`` without an index."""
    index = survey_index.open_index(slug, survey_versions.end_of(slug))
    if index is None:
        return None
    key = provider if kind == "provider" else f"{provider} {value}"
    places = index.having(_SETS[kind], key)
    columns = ("rank", "domain", "found", "cloud")
    rows = [index.domains.rows(int(p), 1, columns)[0] for p in places[:SHOWN_DOMAINS]]
    return {"total": len(places), "rows": rows}
