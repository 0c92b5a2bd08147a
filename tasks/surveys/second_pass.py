"""The second pass of a survey: its cloud-using names, asked again from every vantage.

Batches of names go to the vantages' queues, a few at a time; what comes back becomes one part per
batch. A vantage that stays silent leaves rows with that status.
"""

import logging
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings

from analysis.deployment import second_pass
from core.clock import SystemClock
from core.errors import BadInput, NephoscopeError, Unavailable
from core.statuses import DnsStatus
from lake.parts import part_path, write_part
from tasks.platform.app import app
from tasks.protocol import vantage_queues
from tasks.protocol.results_message import ResultsMessage
from tasks.vantage.celery_tasks import ANSWER_COLUMNS
from webapp.store.models import Shard, Survey
from webapp.store.surveys import batches, selectors, services, waiting
from webapp.store.vantages import services as points

log = logging.getLogger(__name__)
TABLE = "vantage_lookups"
ASK = "tasks.vantage.resolve_batch"
TYPE = "A"
# One that runs and one that waits, so that a vantage never idles and a lease stays short.
_AHEAD = 2
_MAX_ATTEMPTS = 3
# Time for a batch of dead names, before the questions' own time at the survey's rate.
_LEASE_S = 60.0
_SLOWEST_QPS = 200.0
_SENT_OPTIONS = ("rate", "window", "retries", "timeout_s")


def check_vantages(names: list[str]) -> list[str]:
    """Vantage names of a command, once each; raises ``BadInput`` for one that is not there."""
    for name in names:
        if not batches.is_vantage(name):
            raise BadInput(
                f"{name!r} is not a name of a vantage; use up to 24 of a-z, 0-9 and -",
                field="vantage",
            )
        points.check_usable(name)
    return list(dict.fromkeys(names))


def start(survey: Survey) -> bool:
    """Start what is left of the second pass; false when there is none, or it has ended."""
    named = survey.options.get("vantages", [])
    if not named:
        return False
    if not batches.batches_of(survey).exists():
        shards = selectors.finished_shards(survey.slug)
        names = second_pass.cloud_names(Path(settings.LAKE_DIR), survey.slug, shards)
        if not names:
            return False
        batches.save_names(survey.slug, names)
        batches.add_batches(survey, named, len(names))
    # Each vantage is sent its batches, whatever became of those before it.
    going = [send_batches(survey, vantage) for vantage in named]
    return any(going)


def resend_batches(survey: Survey) -> None:
    """Send again what vantages fell silent on, and what a restarted broker lost."""
    if batches.batches_of(survey).exists():
        for vantage in survey.options.get("vantages", []):
            send_batches(survey, vantage)


def send_batches(survey: Survey, vantage: str) -> bool:
    """Keep a vantage busy; false when none of its batches is open."""
    if points.is_leaving(vantage):
        return _drain(survey, vantage)
    lease = _lease(survey)
    free = _AHEAD - batches.count_leased(survey, vantage)
    for batch in batches.free_batches(survey, vantage, max(0, free)):
        shard = batches.claim(batch, lease)
        if shard is None:
            continue
        if shard.attempt > _MAX_ATTEMPTS:
            abandon_vantage(survey, vantage)
            return False
        _send(shard, vantage, lease)
    return batches.open_batches(survey, vantage).exists()


def _drain(survey: Survey, vantage: str) -> bool:
    """Let a vantage that was drained finish; what it does not have any more is not asked."""
    if points.is_revoked(vantage) or not batches.count_leased(survey, vantage):
        abandon_vantage(survey, vantage)
        return False
    return True


def _lease(survey: Survey) -> timedelta:
    rate = min(survey.options.get("rate") or _SLOWEST_QPS, _SLOWEST_QPS)
    return timedelta(seconds=_LEASE_S + 2 * _AHEAD * batches.BATCH_NAMES / rate)


def _send(shard: Shard, vantage: str, lease: timedelta) -> None:
    """Queue a batch; with an unavailable broker, it is queued again when the lease is over."""
    options = {key: shard.survey.options.get(key) for key in _SENT_OPTIONS}
    args = [shard.pk, shard.attempt, list(batches.load_names(shard)), options]
    try:
        # An order that waited longer than its lease is sent again, so the old message would be run
        # twice.
        vantage_queues.send(vantage, ASK, args, expires_s=lease.total_seconds())
    except Unavailable as error:
        log.warning("survey %s batch %s: %s", shard.survey.slug, shard.key, error)


def store_answers(vantage: str, message: ResultsMessage) -> None:
    """Store the answers of a batch as its one part; a batch that has one is left as it is."""
    batch = message.head.get("batch")
    if not isinstance(batch, int) or batches.vantage_of_batch(batch) != vantage:
        raise BadInput(f"{vantage} answers a batch that is not its own", field="batch")
    shard = batches.reclaim(batch)
    if shard is None:
        return
    survey = shard.survey
    try:
        _store(shard, _answers_of(message))
    except NephoscopeError as error:
        if error.permanent:
            services.fail_shard(shard, str(error))
        else:
            waiting.defer(shard, str(error))
        log.warning("survey %s batch %s: %s", survey.slug, shard.key, error)
    if not send_batches(survey, vantage):
        app.send_task("tasks.crawl.conclude", args=[survey.pk])


def _answers_of(message: ResultsMessage) -> list[dict[str, Any]]:
    """Rows of the lake from a results message; raises ``BadInput`` for anything that is none."""
    if set(message.columns) != set(ANSWER_COLUMNS):
        raise BadInput("answers have other columns; do all run one version?", field="batch")
    return [_answer(row) for row in message.rows()]


def _answer(row: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return {
            **row,
            "name": str(row["name"]),
            "status": str(DnsStatus(row["status"])),
            "answers": [
                {
                    "name": str(r["name"]),
                    "type": str(r["type"]),
                    "ttl": int(r["ttl"]),
                    "data": str(r["data"]),
                }
                for r in row["answers"]
            ],
            "attempts": int(row["attempts"]),
            "rtt_ms": None if row["rtt_ms"] is None else float(row["rtt_ms"]),
            "at": datetime.fromtimestamp(row["at"], UTC),
        }
    except (TypeError, ValueError, KeyError, OverflowError, OSError) as error:
        raise BadInput(f"an answer is damaged: {error}", field="batch") from error


def _store(shard: Shard, answers: list[dict[str, Any]]) -> None:
    """Write the part of a batch; raises ``BadInput`` unless every name has one answer."""
    names, vantage = batches.load_names(shard), batches.vantage_of(shard)
    if sorted(row["name"] for row in answers) != sorted(names):
        raise BadInput(f"answers from {vantage} are not those to its questions", field="batch")
    rows = [{**row, "domain": names[row["name"]], "vantage": vantage} for row in answers]
    rows.sort(key=lambda row: row["name"])
    path = part_path(Path(settings.LAKE_DIR), shard.survey.slug, TABLE, shard.key)
    n = write_part(path, TABLE, rows)
    services.end_shard(shard, {TABLE: n}, {"queries": sum(row["attempts"] for row in rows)})


def abandon_vantage(survey: Survey, vantage: str) -> None:
    """Record a vantage that does not answer: its open batches end with questions not asked."""
    log.warning("survey %s: vantage %s does not answer", survey.slug, vantage)
    for batch in batches.open_batches(survey, vantage).values_list("pk", flat=True):
        shard = batches.reclaim(batch)
        if shard is not None:
            _store(shard, [_not_asked(name) for name in batches.load_names(shard)])
    app.send_task("tasks.crawl.conclude", args=[survey.pk])


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
