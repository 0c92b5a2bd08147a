"""The measurement of a new installation: synthetic samples and routes go through the lake.

What is stored is labelled synthetic, and stands on every page and in every export as such.
"""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from django.db import transaction

from analysis.wide_area.addresses import Addresses
from lake.parts import part_path, write_part
from tasks import concluding
from tasks.finished_units import Ended, finished_unit
from testbed.wide_area import routes, synthetic
from testbed.wide_area.cities import CITIES
from webapp.store import measurement_progress, wide_area
from webapp.store.models import Measurement, MeasurementUnit, VantagePoint

SLUG = "eighty-cities"
NAME = "Eighty cities, eight regions"


def build_demo(rounds: int = synthetic.ROUNDS) -> Measurement | None:
    """Make the demo measurement; ``None`` where there is one, or any other, already."""
    if Measurement.objects.exists():
        return None
    world = synthetic.build_world()
    begun = datetime.fromtimestamp(synthetic.START_S, UTC)
    ended = begun + timedelta(seconds=rounds * synthetic.ROUND_S)
    made = Measurement.objects.create(
        slug=SLUG,
        name=NAME,
        state=Measurement.State.RUNNING,
        preset="imc2013",
        schedule=_schedule(rounds),
        targets=[_target(region, zone) for region, zone in world.targets],
        vantages=[c.name for c in CITIES],
        seed=synthetic.SEED,
        synthetic=True,
        label=synthetic.ABOUT,
        started_at=begun,
    )
    _store_vantages()
    _store_parts(made, world, rounds)
    addresses = Addresses(routes.find_origins, routes.find_clouds)
    concluding.report(made, concluding.Whose(addresses, routes.isp_names()))
    made.state, made.finished_at = Measurement.State.FINISHED, ended
    made.summary = measurement_progress.summary(made)
    made.save(update_fields=["state", "finished_at", "summary"])
    return made


def _schedule(rounds: int) -> dict[str, Any]:
    ping = {"name": "ping", "probe": "tcp-ping", "options": {"count": synthetic.PINGS}}
    get = {"name": "get", "probe": "throughput", "options": {"timeout_s": 10.0}}
    trace = {"name": "trace", "probe": "traceroute", "options": {}, "times": routes.TRACES}
    return {
        "round_s": float(synthetic.ROUND_S),
        "rounds": rounds,
        "activities": [ping, get, trace],
        "title": "The paper's, with one server per zone and a round each half hour",
    }


def _target(region: Any, zone: str) -> dict[str, Any]:
    name = f"{region.name}{zone}"
    host = f"{name}.{synthetic.LABEL.lower()}.invalid"
    return {"name": name, "host": host, "provider": "aws", "region": region.name, "zone": name}


def _store_vantages() -> None:
    rows = [
        VantagePoint(
            name=c.name, source=VantagePoint.Source.SYNTHETIC, state=VantagePoint.State.JOINED,
            city=c.city, country=c.country, continent=c.continent, lat=c.lat, lon=c.lon,
            provider=synthetic.LABEL, asn=c.asn,
        )
        for c in CITIES
    ]  # fmt: skip
    VantagePoint.objects.bulk_create(rows, ignore_conflicts=True)


def _store_parts(made: Measurement, world: synthetic.World, rounds: int) -> None:
    """Every part in the lake, with its unit in the manifest."""
    units = []
    for city, table in zip(CITIES, synthetic.samples(world, rounds), strict=True):
        units.append(_store(made, "samples", city.name, table))
    for (region, zone), table in zip(world.targets, routes.routes(world), strict=True):
        units.append(_store(made, "paths", f"{region.name}{zone}", table))
    with transaction.atomic():
        MeasurementUnit.objects.bulk_create(units)


def _store(made: Measurement, kind: str, name: str, table: pa.Table) -> MeasurementUnit:
    key = f"{kind}-{name}"
    path = part_path(wide_area.lake_root(), made.slug, kind, key)
    write_part(path, kind, table)
    ended = Counter(table["status"].to_pylist())
    return finished_unit(made, key, Ended(kind, name, key, ended))
