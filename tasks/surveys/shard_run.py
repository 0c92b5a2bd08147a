"""The order of a survey: crawl a shard, place it, store its parts; at the end, the report."""

import logging
import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from analysis.deployment import second_pass
from analysis.reporting import checks, summary, survey_tables
from analysis.reporting import headlines as reporting_headlines
from cartography.placement.placement import Placed, is_name, place_lookups
from core.errors import NephoscopeError, Unavailable, reason_of
from core.report_tables import Table
from core.statuses import AddressKind
from crawlers.engine.engine import OutageLimit
from crawlers.engine.rate_limit import Pace
from crawlers.enumeration.enumeration import Crawl, Progress, crawl_domains
from lake import schemas
from lake.parts import part_path, write_part
from tasks.platform.lease import Lease
from tasks.platform.stop import Stopped
from tasks.resolution.engine_factory import (
    Resolving,
    await_servers,
    crawl_config,
    detect_world,
    open_engine,
)
from tasks.resolution.shared_rate_limit import pace_for
from tasks.surveys import derived
from webapp.store.access import domain_claims
from webapp.store.models import Shard, Survey
from webapp.store.ranges import tables as range_tables
from webapp.store.surveys import selectors, services, waiting
from webapp.store.surveys.timings import Stages
from webapp.store.surveys.uploads import load_entries

# Before a shard begins, its servers have to answer within this.
_FIRST_WAIT_S = 5.0
# How often a process that runs a survey alone looks whether a waiting shard is due.
_LOOK_AGAIN_S = 0.5
# Names that a shard may have, so that no two shards give one number away.
_ID_BITS_PER_SHARD = 32
log = logging.getLogger(__name__)


def prepare(survey: Survey, pace: Pace | None = None) -> None:
    """Choose range tables, learn which world answers, and mark the survey as running.

    Raises ``MissingData`` without a range table and ``Unavailable`` when no server answers.
    """
    options = Resolving.from_json(survey.options)
    await_servers(options, pace, _FIRST_WAIT_S)
    with open_engine(options, pace) as engine:
        world = detect_world(engine)
    label = f"{world['world']} testbed, scale {world.get('scale', '1')}" if world else ""
    tables = range_tables.tables_in_force(world_origin(world))
    services.mark_running(survey, tables, label)


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
        renew = partial(services.renew, shard)
        with Lease(f"shard {shard.key}", renew, shard.counters) as lease:
            rows, counters = _work(shard, lease, pace)
    except Stopped:
        services.release(shard)
        return False
    except (KeyboardInterrupt, SystemExit):
        services.release(shard)
        raise
    except NephoscopeError as error:
        _fail_or_postpone(shard, error)
        return False
    return services.end_shard(shard, rows, counters)


def _fail_or_postpone(shard: Shard, error: NephoscopeError) -> None:
    """Give a shard up, or let it wait where its error may pass."""
    if error.permanent:
        services.fail_shard(shard, str(error))
        return
    log.warning("survey %s shard %s waits: %s", shard.survey.slug, shard.key, error)
    waiting.defer(shard, str(error))


def _work(shard: Shard, lease: Lease, pace: Pace | None) -> tuple[dict[str, int], dict[str, Any]]:
    """Rows per lake table and the counters of a shard with stored parts."""
    survey = shard.survey
    options = Resolving.from_json(survey.options)
    entries = load_entries(survey.slug, shard.first, shard.last)
    require_disk_space()
    await_servers(options, pace, _FIRST_WAIT_S)

    def report(progress: Progress) -> None:
        if lease.wants_counters():
            lease.count(progress_counters(progress))

    def report_silence(silent_s: float) -> None:
        if lease.wants_counters():
            lease.wait_for(f"no name server has resolved anything for {silent_s:.0f} s")

    outage_limit = OutageLimit(settings.RESOLVER_PATIENCE_S, report_silence)
    stages = Stages()
    with stages.measure("crawl"), open_engine(options, pace, outage_limit) as engine:
        quiet = domain_claims.opt_outs()
        listed = [entry.domain for entry in entries]
        config = crawl_config(options, listed, quiet.domains, quiet.networks)
        crawl = crawl_domains(entries, engine, config, report)
    with stages.measure("place"):
        table = range_tables.prefix_table(list(survey.range_tables.all()))
        placed = place_lookups(crawl.lookups, table)
    # One suspended for longer than its lease must not write over its successor's parts.
    lease.confirm()
    first_id = shard.first << _ID_BITS_PER_SHARD
    with stages.measure("store"):
        rows = store_parts(survey.slug, shard.key, crawl, placed, first_id)
    counters = final_counters(crawl, placed, len(entries))
    return rows, {**counters, "stages": stages.taken}


def require_disk_space() -> None:
    """Raise ``Unavailable`` where a part might end half-written."""
    root = Path(settings.LAKE_DIR)
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Unavailable(f"cannot make the folder {root}: {reason_of(error)}") from error
    free_mb = shutil.disk_usage(root).free // 2**20
    if free_mb < settings.MIN_FREE_MB:
        raise Unavailable(
            f"only {free_mb} MiB are free in the data folder, and {settings.MIN_FREE_MB} are needed"
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


def conclude(survey: Survey) -> None:
    """Compute every table from the manifest's parts, check them, store them, close the survey.

    Raises ``Unavailable`` where there is no space for it.
    """
    require_disk_space()
    root, slug = Path(settings.LAKE_DIR), survey.slug
    shards = selectors.finished_shards(slug)
    lost, stages = waiting.lost_domains(survey), Stages()
    with stages.measure("report"):
        report = compute_report(root, slug, shards, survey.n_domains - lost)
        counts = summarise(root, slug, shards, survey.options)
    counts["stages"] = stages.taken
    with transaction.atomic():
        services.save_reports(survey, *report)
        services.finish(survey, counts, error=_why_partial(survey, lost))
    derived.try_index_survey(survey)


def compute_report(
    root: Path, slug: str, shards: Sequence[str], n_domains: int
) -> tuple[dict[str, Table], dict[str, str], list[str]]:
    """Every table of the parts of these shards, with headlines and what does not add up.

    ``n_domains`` counts the domains that were queried, without those of shards that were given up.
    """
    tables = survey_tables.compute_tables(root, slug, shards)
    headlines = {
        table_id: reporting_headlines.headline(table_id, tables, n_domains) for table_id in tables
    }
    return tables, headlines, checks.check_tables(tables)


def summarise(
    root: Path, slug: str, shards: Sequence[str], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Counts of the whole survey, and of the second pass where it had one."""
    counts = summary.summarise(root, slug, shards)
    if options.get("vantages"):
        counts["vantages"] = second_pass.count_vantages(root, slug, shards)
    return counts


def _why_partial(survey: Survey, lost: int) -> str:
    """How many domains were given up, and for which reasons; empty where none was."""
    failed = survey.shards.filter(state=Shard.State.FAILED)
    reasons = "; ".join(sorted(set(failed.values_list("error", flat=True))))
    if lost:
        reasons = f"{lost:,} of {survey.n_domains:,} domains were given up: {reasons}"
    return reasons[:2000]


def is_complete(survey: Survey) -> bool:
    """Whether the shards cover the whole list, and none is waiting or running.

    An observed survey gets its shards one by one; until the last is there it has no report.
    """
    open_states = [Shard.State.WAITING, Shard.State.RUNNING]
    if survey.shards.filter(state__in=open_states).exists():
        return False
    return survey.shards.filter(last__gte=survey.n_domains).exists()


def run_here(survey: Survey, on_shard: Callable[[Survey], None] | None = None) -> None:
    """Run a whole survey in this process; what an earlier run finished is not asked again."""
    pace = pace_for(Resolving.from_json(survey.options), in_worker=False)
    prepare(survey, pace)
    # This process is the only worker of the survey, so a lease that a killed run left is void.
    survey.shards.filter(state=Shard.State.RUNNING).update(state=Shard.State.WAITING)
    while not is_complete(survey):
        found = waiting.claimable_shards(survey)
        if not found:
            time.sleep(_LOOK_AGAIN_S)
        for shard_id in found:
            shard = services.claim(shard_id)
            if shard is not None:
                run_shard(shard, pace)
            if on_shard:
                on_shard(survey)
        survey.refresh_from_db()
        if survey.is_final:
            return
    while not _concluded(survey):
        time.sleep(_LOOK_AGAIN_S)
    survey.refresh_from_db()


def _concluded(survey: Survey) -> bool:
    try:
        conclude(survey)
    except Unavailable as error:
        log.warning("survey %s waits: %s", survey.slug, error)
        return False
    return True
