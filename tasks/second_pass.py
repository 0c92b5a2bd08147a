"""The second pass of a survey: its cloud-using names, asked again from every vantage.

Batches of names go to the vantages' queues, a few at a time; what comes back becomes one part per
batch. A vantage that stays silent leaves rows that say so.
"""

import logging
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from django.conf import settings

from analysis import vantages
from core.clock import SystemClock
from core.errors import BadInput, NephoscopeError
from core.statuses import DnsStatus
from lake.parts import part_path, write_part
from tasks.app import app
from tasks.vantage import ANSWERS, QUESTIONS, pack, resolve_batch, unpack
from webapp.store import batches, selectors, services
from webapp.store.models import Campaign, Shard

log = logging.getLogger(__name__)
TABLE = "vantage_lookups"
TYPE = "A"
# One that is asked and one that waits, so that a vantage never idles and a lease stays short.
_AHEAD = 2
_MAX_ATTEMPTS = 3
# Time for a batch of dead names, before the questions' own time at the survey's rate.
_LEASE_S = 60.0
_SLOWEST_QPS = 200.0
_SENT_OPTIONS = ("rate", "window", "retries", "timeout_s")


def check_vantages(names: list[str]) -> list[str]:
    """Vantage names of a command, once each; raises ``BadInput`` for one that cannot be."""
    for name in names:
        if not batches.is_vantage(name):
            raise BadInput(
                f"{name!r} is no name of a vantage; use up to 24 of a-z, 0-9 and -", field="vantage"
            )
    return list(dict.fromkeys(names))


def begin(campaign: Campaign) -> bool:
    """Start what is left of the second pass; false when there is none, or it has ended."""
    named = campaign.options.get("vantages", [])
    if not named:
        return False
    if not batches.batches_of(campaign).exists():
        shards = selectors.finished_shards(campaign.slug)
        names = vantages.cloud_names(Path(settings.LAKE_DIR), campaign.slug, shards)
        if not names:
            return False
        batches.save_names(campaign.slug, names)
        batches.add_batches(campaign, named, len(names))
    # Each vantage is sent its batches, whatever became of those before it.
    going = [send_batches(campaign, vantage) for vantage in named]
    return any(going)


def keep_going(campaign: Campaign) -> None:
    """Send again what vantages fell silent on, and what a restarted broker lost."""
    if batches.batches_of(campaign).exists():
        for vantage in campaign.options.get("vantages", []):
            send_batches(campaign, vantage)


def send_batches(campaign: Campaign, vantage: str) -> bool:
    """Keep a vantage busy; false when none of its batches is open."""
    lease = _lease(campaign)
    room = _AHEAD - batches.busy(campaign, vantage)
    for batch in batches.free_batches(campaign, vantage, max(0, room)):
        shard = batches.claim(batch, lease)
        if shard is None:
            continue
        if shard.attempt > _MAX_ATTEMPTS:
            give_up(campaign, vantage)
            return False
        _send(shard, vantage, lease)
    return batches.open_batches(campaign, vantage).exists()


def _lease(campaign: Campaign) -> timedelta:
    rate = min(campaign.options.get("rate") or _SLOWEST_QPS, _SLOWEST_QPS)
    return timedelta(seconds=_LEASE_S + 2 * _AHEAD * batches.BATCH_NAMES / rate)


def _send(shard: Shard, vantage: str, lease: timedelta) -> None:
    names = list(batches.load_names(shard))
    parcel = pack(pa.table({"name": names, "type": [TYPE] * len(names)}, schema=QUESTIONS))
    options = {key: shard.campaign.options.get(key) for key in _SENT_OPTIONS}
    resolve_batch.apply_async(
        args=[shard.pk, parcel, options, vantage],
        queue=f"vantage.{vantage}",
        # What lay longer than its lease is sent anew, so the old message would be asked twice.
        expires=lease.total_seconds(),
    )


@app.task(name="tasks.second_pass.store_batch")
def store_batch(batch: int, parcel: str) -> None:
    """Store the answers of a batch as its one part; a batch that has one is left as it is."""
    shard = batches.take_over(batch)
    if shard is None:
        return
    campaign, vantage = shard.campaign, batches.vantage_of(shard)
    try:
        _store(shard, unpack(parcel, ANSWERS).to_pylist())
    except NephoscopeError as error:
        services.release(shard, str(error), permanent=error.permanent)
        log.warning("survey %s batch %s: %s", campaign.slug, shard.key, error)
    if not send_batches(campaign, vantage):
        app.send_task("tasks.crawl.conclude", args=[campaign.pk])


def _store(shard: Shard, answers: list[dict[str, Any]]) -> None:
    """Write the part of a batch; raises ``BadInput`` unless every name has one answer."""
    names, vantage = batches.load_names(shard), batches.vantage_of(shard)
    if sorted(row["name"] for row in answers) != sorted(names):
        raise BadInput(f"answers from {vantage} are not those to its questions", field="batch")
    rows = [{**row, "domain": names[row["name"]], "vantage": vantage} for row in answers]
    rows.sort(key=lambda row: row["name"])
    path = part_path(Path(settings.LAKE_DIR), shard.campaign.slug, TABLE, shard.key)
    n = write_part(path, TABLE, rows)
    services.end_shard(shard, {TABLE: n}, {"queries": sum(row["attempts"] for row in rows)})


def give_up(campaign: Campaign, vantage: str) -> None:
    """Record a vantage that does not answer: its open batches end with questions not asked."""
    log.warning("survey %s: vantage %s does not answer", campaign.slug, vantage)
    for batch in batches.open_batches(campaign, vantage).values_list("pk", flat=True):
        shard = batches.take_over(batch)
        if shard is not None:
            _store(shard, [_not_asked(name) for name in batches.load_names(shard)])
    app.send_task("tasks.crawl.conclude", args=[campaign.pk])


def _not_asked(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "type": TYPE,
        "status": str(DnsStatus.SKIPPED),
        "answers": [],
        "resolver": "",
        "protocol": "",
        "attempts": 0,
        "rtt_ms": None,
        "at": SystemClock().now(),
    }
