"""The measurement of a new installation: synthetic samples and routes go through the lake.

What is stored is labelled synthetic, and is on every page and in every export as such.
"""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from django.db import transaction

from analysis.campaigns.routes.address_owners import Addresses
from lake.campaigns import table_of
from lake.parts import part_path, write_part
from tasks.campaigns import conclusion
from tasks.campaigns.unit_rows import Ended, finished_unit
from testbed.campaigns import probes, routes, samples
from testbed.campaigns.cities import CITIES
from webapp.store.campaigns import progress, selectors
from webapp.store.models import Campaign, CampaignUnit, VantagePoint

SLUG = "eighty-cities"
NAME = "Eighty cities, eight regions"


def build_demo(rounds: int = samples.ROUNDS) -> Campaign | None:
    """Make the demo measurement; ``None`` where there is one, or any other, already.

    One that was not made to its end is made again.
    """
    Campaign.objects.filter(slug=SLUG, synthetic=True, state=Campaign.State.RUNNING).delete()
    if Campaign.objects.exists():
        return None
    world = samples.build_model()
    begun = datetime.fromtimestamp(samples.START_S, UTC)
    ended = begun + timedelta(seconds=rounds * samples.ROUND_S)
    made = Campaign.objects.create(
        slug=SLUG,
        name=NAME,
        state=Campaign.State.RUNNING,
        preset="imc2013",
        schedule=_schedule(rounds),
        targets=[_target(region, zone) for region, zone in world.targets],
        vantages=[c.name for c in CITIES],
        seed=samples.SEED,
        synthetic=True,
        label=samples.DESCRIPTION,
        # The scheduler sends no unit of it while it is made.
        in_process=True,
        started_at=begun,
    )
    store_vantages()
    _store_parts(made, world, rounds)
    addresses = Addresses(routes.find_origins, routes.find_clouds)
    conclusion.report(made, conclusion.OwnerLookup(addresses, routes.isp_names()))
    made.state, made.finished_at = Campaign.State.FINISHED, ended
    made.summary = progress.summary(made)
    made.in_process = False
    made.save(update_fields=["state", "finished_at", "summary", "in_process"])
    return made


def _schedule(rounds: int) -> dict[str, Any]:
    ping = {"name": "ping", "probe": "tcp-ping", "options": {"count": samples.PINGS}}
    get = {"name": "get", "probe": "throughput", "options": {"timeout_s": 10.0}}
    trace = {"name": "trace", "probe": "traceroute", "options": {}, "times": routes.TRACES}
    applications: list[dict[str, Any]] = [
        {"name": name, "probe": name, "options": {}} for name in ("http", "jitter", "game-query")
    ]
    return {
        "round_s": float(samples.ROUND_S),
        "rounds": rounds,
        "activities": [ping, get, trace, *applications],
        "title": "The paper's, with one server per zone and a round each half hour",
    }


def _target(region: Any, zone: str) -> dict[str, Any]:
    name = f"{region.name}{zone}"
    host = f"{name}.{samples.LABEL.lower()}.invalid"
    return {"name": name, "host": host, "provider": "aws", "region": region.name, "zone": name}


def store_vantages() -> None:
    """Store the synthetic cities as vantage points, those that are new."""
    rows = [
        VantagePoint(
            name=c.name,
            source=VantagePoint.Source.SYNTHETIC,
            state=VantagePoint.State.JOINED,
            city=c.city,
            country=c.country,
            continent=c.continent,
            lat=c.lat,
            lon=c.lon,
            provider=samples.LABEL,
            asn=c.asn,
        )
        for c in CITIES
    ]
    VantagePoint.objects.bulk_create(rows, ignore_conflicts=True)


def _store_parts(made: Campaign, world: samples.CampaignModel, rounds: int) -> None:
    """Every part in the lake, with its unit in the manifest."""
    units = []
    for city, table in zip(CITIES, samples.build_samples(world, rounds), strict=True):
        units.append(_store(made, "samples", city.name, table))
    for city_name, rows in probes.build_probes(world, rounds):
        key = f"{city_name}-probes"
        units.append(_store(made, "samples", key, table_of("samples", rows), city_name))
    for (region, zone), table in zip(world.targets, routes.build_paths(world), strict=True):
        units.append(_store(made, "paths", f"{region.name}{zone}", table))
    with transaction.atomic():
        CampaignUnit.objects.bulk_create(units)


def _store(
    made: Campaign, kind: str, name: str, table: pa.Table, vantage: str = ""
) -> CampaignUnit:
    key = f"{kind}-{name}"
    path = part_path(selectors.lake_root(), made.slug, kind, key)
    write_part(path, kind, table)
    ended = Counter(table["status"].to_pylist())
    return finished_unit(made, key, Ended(kind, vantage or name, key, ended))
