"""Observations of an emulated world straight into the lake, as a crawl would have stored them."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, time
from pathlib import Path

from django.conf import settings

from analysis.deployment.countries import continents, region_countries
from cartography.placement.cloud_table import PrefixTable
from cartography.placement.placement import place_lookups
from core.records import DomainEntry
from crawlers.enumeration.enumeration import Crawl
from crawlers.sources.wordlist import default_wordlist
from lake.parts import part_path, write_part
from tasks.resolution.engine_factory import Resolving, load_wordlist
from tasks.surveys import shard_run, worlds
from tasks.surveys.study import BROUGHT
from testbed.generate.customers import CountryIndex, customer_rows
from testbed.truth.observations import Observer, zone_rows
from testbed.world.model import World, Zone, scale_text
from testbed.worlds.loading import load_world
from webapp.store.models import Survey
from webapp.store.ranges import tables
from webapp.store.surveys import external

# A shard is what one Parquet part holds: large enough to compress, small enough to stay in memory.
SHARD_DOMAINS = 2_000


def observe_world(
    world: World,
    options: worlds.WorldOptions,
    name: str = "",
    on_shard: Callable[[int, int], None] | None = None,
) -> Survey:
    """A finished survey of a whole world without a single question; its report is computed.

    ``on_shard`` is called with the number of domains stored, and the total.
    """
    worlds.publish(world, options)
    survey = _open(world, name or f"{world.id} observed")
    table = tables.prefix_table(list(survey.range_tables.all()))
    words = load_wordlist(options.wordlist) or default_wordlist()
    noon = datetime.combine(world.as_of, time(12), UTC).timestamp()
    observer = Observer(world, words, noon)
    # Before the shards: a sweep closes a survey with all its shards.
    _write_external(survey, world, options)
    for first in range(0, len(world.zones), SHARD_DOMAINS):
        batch = world.zones[first : first + SHARD_DOMAINS]
        _store(survey, observer, table, batch, first)
        if on_shard:
            on_shard(first + len(batch), len(world.zones))
    shard_run.conclude(survey)
    survey.refresh_from_db()
    return survey


def _open(world: World, name: str) -> Survey:
    entries = [DomainEntry(z.domain, z.rank, i) for i, z in enumerate(world.zones, 1)]
    label = f"{world.spec} testbed, scale {scale_text(world.scale)}"
    origin = external.Origin(label, tables.tables_in_force(world.id))
    return external.open_observed(name, entries, origin, Resolving().as_json())


def _store(
    survey: Survey, observer: Observer, table: PrefixTable, zones: Sequence[Zone], first: int
) -> None:
    seen = [observer.observe(zone) for zone in zones]
    crawl = Crawl(tuple(k for s in seen for k in s.lookups), tuple(s.outcome for s in seen))
    placed = place_lookups(crawl.lookups, table)
    key = f"s{first // SHARD_DOMAINS:05d}"
    rows = shard_run.store_parts(survey.slug, key, crawl, placed)
    counters = shard_run.final_counters(crawl, placed, len(zones))
    external.add_shard(survey, key, (first, first + len(zones)), rows, counters)


def _write_external(survey: Survey, world: World, options: worlds.WorldOptions) -> None:
    """What no crawl sees, from the world's truth: zones of addresses, countries of customers."""
    root = Path(settings.LAKE_DIR)
    brought = {"zones": zone_rows(world)}
    shares = load_world(options.name).raw.get("customers")
    if shares:
        atlas = CountryIndex(region_countries(), continents())
        brought["customers"] = customer_rows(world, shares, atlas)
    for table, rows in brought.items():
        write_part(part_path(root, survey.slug, table, BROUGHT), table, rows)
