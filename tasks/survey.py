"""The order of a survey: crawl a shard, place it, store its parts; at the end, the report."""

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from analysis import checks, findings, summary, usage, vantages
from cartography.placement import Placed, is_name, place_lookups
from core.errors import NephoscopeError, Unavailable
from core.statuses import AddressKind
from crawlers.enumeration import Crawl, Progress, crawl_domains
from crawlers.pace import Pace
from lake import schemas
from lake.parts import part_path, write_part
from tasks import deriving
from tasks.leases import Lease
from tasks.pace import pace_for
from tasks.resolvers import Resolving, crawl_config, detect_world, open_engine
from tasks.stopping import Stopped
from webapp.store import ranges, selectors, services
from webapp.store.models import Campaign, Shard
from webapp.store.stages import Stages
from webapp.store.uploads import load_entries

# Below this a part may end half-written, so a shard waits for room instead.
MIN_FREE_BYTES = 64 * 1024 * 1024
# Names that a shard may have, so that no two shards give one number away.
_ID_BITS_PER_SHARD = 32


def prepare(campaign: Campaign, pace: Pace | None = None) -> None:
    """Choose range tables, learn which world answers, and mark the survey as running.

    Raises ``MissingData`` without a range table and ``Unavailable`` when no server answers.
    """
    options = Resolving.from_json(campaign.options)
    with open_engine(options, pace) as engine:
        world = detect_world(engine)
    label = f"{world['world']} testbed, scale {world.get('scale', '1')}" if world else ""
    tables = ranges.tables_in_force(world_origin(world))
    services.begin(campaign, tables, label)


def world_origin(world: dict[str, str]) -> str:
    """The origin under which a world's own range files are imported."""
    if not world:
        return ""
    return f"{world['world']}@{world.get('scale', '1')}#{world.get('seed', '1')}"


def progress_counters(progress: Progress) -> dict[str, Any]:
    """Counters of a running shard."""
    return {
        "domains_done": progress.domains_done,
        "queries": progress.queries,
        "answered": progress.answered,
        "found": progress.found,
        "failed": dict(progress.failed),
    }


def run_shard(shard: Shard, pace: Pace | None = None) -> bool:
    """Crawl, place and store one claimed shard; false when it was given back."""
    try:
        with Lease(shard) as lease:
            rows, counters = _work(shard, lease, pace)
    except Stopped:
        services.put_back(shard)
        return False
    except (KeyboardInterrupt, SystemExit):
        services.put_back(shard)
        raise
    except NephoscopeError as error:
        services.release(shard, str(error), permanent=error.permanent)
        return False
    return services.end_shard(shard, rows, counters)


def _work(shard: Shard, lease: Lease, pace: Pace | None) -> tuple[dict[str, int], dict[str, Any]]:
    """Rows per lake table and the counters of a shard whose parts are stored."""
    campaign = shard.campaign
    options = Resolving.from_json(campaign.options)
    entries = load_entries(campaign.slug, shard.first, shard.last)
    _require_room()

    def report(progress: Progress) -> None:
        if lease.wants_counters():
            lease.count(progress_counters(progress))

    stages = Stages()
    with stages.measure("crawl"), open_engine(options, pace) as engine:
        config = crawl_config(options, [entry.domain for entry in entries])
        crawl = crawl_domains(entries, engine, config, report)
    with stages.measure("place"):
        table = ranges.prefix_table(list(campaign.range_tables.all()))
        placed = place_lookups(crawl.lookups, table)
    # One that stood still for longer than its lease must not write over its successor's parts.
    lease.confirm()
    first_id = shard.first << _ID_BITS_PER_SHARD
    with stages.measure("store"):
        rows = store_parts(campaign.slug, shard.key, crawl, placed, first_id)
    counters = final_counters(crawl, placed, len(entries))
    return rows, {**counters, "stages": stages.taken}


def _require_room() -> None:
    Path(settings.LAKE_DIR).mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(settings.LAKE_DIR).free
    if free < MIN_FREE_BYTES:
        raise Unavailable(
            f"only {free // 2**20} MiB are free in the data folder; make room, the survey goes on"
        )


def store_parts(
    slug: str, key: str, crawl: Crawl, placed: Placed, first_id: int = 0
) -> dict[str, int]:
    """Write one part per lake table, names numbered from ``first_id``; returns rows per table."""
    rows = {
        "lookups": schemas.table_of_lookups(crawl.lookups, first_id),
        "domains": schemas.rows_of_domains(crawl.outcomes),
        "placements": schemas.rows_of_placements(placed.placements),
        "fronts": schemas.rows_of_fronts(placed.fronts),
        "servers": schemas.rows_of_servers(placed.servers),
    }
    root = Path(settings.LAKE_DIR)
    return {
        table: write_part(part_path(root, slug, table, key), table, data)
        for table, data in rows.items()
    }


def final_counters(crawl: Crawl, placed: Placed, n_domains: int) -> dict[str, Any]:
    """Counters of a finished shard, from what was stored."""
    failed: Counter[str] = Counter()
    for outcome in crawl.outcomes:
        failed.update(dict(outcome.failed))
    resolved = {x.answer.name for x in crawl.lookups if is_name(x) and x.answer.answers}
    in_cloud = (AddressKind.CLOUD, AddressKind.CDN)
    return {
        "domains_done": n_domains,
        "queries": sum(o.queries for o in crawl.outcomes),
        "answered": sum(o.asked for o in crawl.outcomes),
        "found": sum(o.found for o in crawl.outcomes),
        "resolved": len(resolved),
        "cloud": len({name for _, name, p in placed.placements if p.kind in in_cloud}),
        "failed": dict(failed),
    }


def conclude(campaign: Campaign) -> None:
    """Compute every table from the manifest's parts, check them, store them, close the survey."""
    root, slug = Path(settings.LAKE_DIR), campaign.slug
    shards = selectors.finished_shards(slug)
    stages = Stages()
    with stages.measure("report"):
        tables = usage.compute_tables(root, slug, shards)
        complaints = checks.check_tables(tables)
        n = campaign.n_domains
        headlines = {table_id: findings.headline(table_id, tables, n) for table_id in tables}
        counts = summary.summarise(root, slug, shards)
    counts["stages"] = stages.taken
    if campaign.options.get("vantages"):
        counts["vantages"] = vantages.count_vantages(root, slug, shards)
    lost = list(campaign.shards.filter(state=Shard.State.FAILED).values_list("error", flat=True))
    with transaction.atomic():
        services.save_reports(campaign, tables, headlines, complaints)
        services.finish(campaign, counts, error="; ".join(sorted(set(lost)))[:2000])
    deriving.index_quietly(campaign)


def is_complete(campaign: Campaign) -> bool:
    """Whether no shard is waiting or running."""
    open_states = [Shard.State.WAITING, Shard.State.RUNNING]
    return not campaign.shards.filter(state__in=open_states).exists()


def run_here(campaign: Campaign, on_shard: Callable[[Campaign], None] | None = None) -> None:
    """Run a whole survey in this process; what an earlier run finished is not asked again."""
    pace = pace_for(Resolving.from_json(campaign.options), in_worker=False)
    prepare(campaign, pace)
    # This process is the only worker of the survey, so a lease that a killed run left is void.
    campaign.shards.filter(state=Shard.State.RUNNING).update(state=Shard.State.WAITING)
    while not is_complete(campaign):
        waiting = campaign.shards.filter(state=Shard.State.WAITING)
        for shard_id in list(waiting.values_list("pk", flat=True)):
            shard = services.claim(shard_id)
            if shard is not None:
                run_shard(shard, pace)
            if on_shard:
                on_shard(campaign)
        campaign.refresh_from_db()
        if campaign.is_final:
            return
    conclude(campaign)
    campaign.refresh_from_db()
