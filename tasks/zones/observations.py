"""Gather what the zones of a survey are inferred from, and infer them.

Targets are the survey's addresses in regions; round trips come from campaigns of vantage points
that are in a zone of a cloud, and from uploaded files.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
from django.conf import settings

from cartography.zones.inference import infer_zones
from cartography.zones.input_files import (
    observe,
    read_round_trips,
    read_samples,
    read_targets,
    read_zone_ids,
)
from cartography.zones.observations import Observations, RoundTrip, Target
from cartography.zones.report import document
from core.errors import BadInput
from lake.parts import open_few, sql_list
from webapp.store.campaigns import selectors as campaign_selectors
from webapp.store.models import Campaign, Survey, VantagePoint, ZoneSource
from webapp.store.surveys.selectors import finished_shards
from webapp.store.zones import services

Row = dict[str, Any]
Kind = ZoneSource.Kind
# Rows of one uploaded file.
MAX_ROWS = 500_000
# Probes the values of which are round trips.
_PINGS = ("tcp-ping", "icmp-echo")
_ADDRESSES = """
SELECT DISTINCT address, provider, region FROM placements
WHERE kind = 'cloud' AND region IS NOT NULL ORDER BY region, address
"""
_TRIPS = """
SELECT vantage, target, min(list_min(values)) AS rtt_ms, epoch_us(max("at")) AS at_us
FROM read_parquet({parts}) WHERE probe IN ({probes}) GROUP BY ALL
"""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Observations with the moment of the newest one of each target, and of all."""

    observations: Observations
    at: Mapping[str, datetime]
    newest: datetime | None


@dataclass(frozen=True, slots=True)
class Inferred:
    """Rows of the lake table ``zones``, and a summary for pages."""

    rows: list[Row]
    summary: Row
    newest: datetime | None


def count_rows(kind: str, data: bytes) -> int:
    """Check an uploaded file and count its rows; raises ``BadInput`` naming the line."""
    readers: Mapping[str, Any] = {
        Kind.SAMPLES: lambda d: read_samples(d)[0],
        Kind.TARGETS: read_targets,
        Kind.RTTS: read_round_trips,
        Kind.ZONE_IDS: read_zone_ids,
    }
    if kind not in readers:
        raise BadInput(f"must be one of {', '.join(sorted(readers))}", field="kind")
    n = len(readers[kind](data))
    if not n:
        raise BadInput("the file has no rows", field="file")
    if n > MAX_ROWS:
        raise BadInput(f"{n:,} rows are more than {MAX_ROWS:,}; split the file", field="file")
    return n


def addresses_of(survey: Survey) -> list[tuple[str, str, str]]:
    """(address, provider, region) of all addresses of a survey that are in a region."""
    shards = finished_shards(survey.slug)
    cursor = open_few(Path(settings.LAKE_DIR), survey.slug, ["placements"], shards)
    return [tuple(row) for row in cursor.execute(_ADDRESSES).fetchall()]


def infer(survey: Survey) -> Inferred:
    """Zones of a survey's addresses; raises ``BadInput`` where a source cannot be read."""
    wanted = addresses_of(survey)
    found = gather(survey, wanted)
    if not found.observations.samples and not found.observations.round_trips:
        raise BadInput("no source has own instances or round-trip times of this survey's addresses")
    result = document(infer_zones(found.observations))
    own = {(address, region) for address, _, region in wanted}
    rows = [
        _lake_row(row, found.at.get(row["target"], found.newest))
        for row in result["targets"]
        if (row["target"], row["region"]) in own
    ]
    summary = {k: result[k] for k in ("total", "accounts", "regions")}
    return Inferred(rows, summary, found.newest)


def _lake_row(row: Mapping[str, Any], at: datetime | None) -> Row:
    return {
        "address": row["target"],
        "region": row["region"],
        "zone": row["zone"] or "",
        "method": row["method"],
        "confidence": row["confidence"],
        "reason": row["reason"] or "",
        "evidence": json.dumps({k: row[k] for k in ("proximity", "latency")}),
        "observed_at": at,
    }


def gather(survey: Survey, wanted: Sequence[tuple[str, str, str]]) -> Evidence:
    """All observations of a survey's sources on its addresses."""
    sources = services.sources(survey)
    uploaded = _uploaded(sources)
    region_of = {address: region for address, _, region in wanted}
    trips: list[RoundTrip] = []
    at: dict[str, datetime] = {}
    for source in sources:
        if source.campaign is not None:
            found, moments = round_trips_of(source.campaign, region_of)
            trips += found
            at |= {a: max(at.get(a, m), m) for a, m in moments.items()}
    internal = {(t.region, t.target): t.internal for t in uploaded.targets}
    targets = [Target(r, a, internal.get((r, a), "")) for a, _, r in wanted]
    observations = replace(
        uploaded,
        targets=tuple(targets),
        round_trips=(*uploaded.round_trips, *trips),
    )
    uploads = [s.created_at for s in sources if s.kind != Kind.CAMPAIGN]
    return Evidence(observations, at, max([*at.values(), *uploads], default=None))


def _uploaded(sources: Iterable[ZoneSource]) -> Observations:
    """The uploaded files of all kinds together; raises ``BadInput``."""
    files: dict[str, list[bytes]] = {k: [] for k in Kind.values}
    for source in sources:
        if source.kind != Kind.CAMPAIGN:
            files[source.kind].append(services.read_file(source))
    return observe(files["samples"], files["targets"], files["rtts"], files["zone_ids"])


def round_trips_of(
    campaign: Campaign, region_of: Mapping[str, str]
) -> tuple[list[RoundTrip], dict[str, datetime]]:
    """Smallest round trips from vantage points in zones to addresses of their own region."""
    parts = campaign_selectors.parts(campaign, "samples")
    probes = zone_probes(campaign.vantages)
    if not parts or not probes:
        return [], {}
    hosts = {t["name"]: t["host"] for t in campaign.targets}
    query = _TRIPS.format(parts=sql_list(parts), probes=", ".join(f"'{p}'" for p in _PINGS))
    with duckdb.connect(config={"threads": 1, "memory_limit": "1GB"}) as connection:
        rows = connection.sql(query).fetchall()
    trips: list[RoundTrip] = []
    moments: dict[str, datetime] = {}
    for vantage, target, rtt_ms, at_us in rows:
        cloud, address = probes.get(vantage), hosts.get(target, "")
        if cloud is None or region_of.get(address) != cloud["region"]:
            continue
        own = (cloud["region"], address, cloud.get("account", ""), cloud["zone"])
        trips.append(RoundTrip(*own, None if rtt_ms is None else float(rtt_ms)))
        at = datetime.fromtimestamp(at_us / 1e6, UTC)
        moments[address] = max(moments.get(address, at), at)
    return trips, moments


def zone_probes(names: Iterable[str] | None = None) -> dict[str, dict[str, str]]:
    """Cloud, by name, of the vantage points that are in a zone: of ``names``, or all that work."""
    rows = VantagePoint.objects.exclude(detail={})
    if names is None:
        rows = rows.filter(state=VantagePoint.State.JOINED)
    kept = None if names is None else set(names)
    found = {p.name: (p.detail or {}).get("cloud") or {} for p in rows}
    return {n: c for n, c in found.items() if c.get("zone") and (kept is None or n in kept)}
