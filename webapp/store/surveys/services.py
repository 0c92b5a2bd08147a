"""Everything that writes to the control plane."""

import hashlib
import json
import os
import random
import secrets
import socket
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import models, transaction
from django.utils import timezone
from django.utils.text import slugify

from core.errors import BadInput, NephoscopeError
from core.records import DomainEntry
from core.report_tables import Table
from core.statuses import FINAL_STATES, SurveyState
from crawlers.enumeration import enumeration
from crawlers.files.domain_list import DomainList, Limit, TooManyDomains, read_domain_list
from webapp.store.access import domain_claims, quotas
from webapp.store.models import RangeTable, Report, Shard, Survey
from webapp.store.requests import list_slot
from webapp.store.requests.idempotency import KeyReused, check_key
from webapp.store.surveys.uploads import save_entries

# A worker renews its lease each second, whatever its crawl waits for; one that is silent this long
# is taken for dead.
LEASE = timedelta(seconds=10)
# A shard that ends each of its workers is given up at last; workers and networks that fail for
# other reasons, one after the other, lose none.
MAX_ATTEMPTS = 20
KEPT_REJECTIONS = 1_000
# Folders beside those of surveys, which no survey may be named like.
RESERVED_SLUGS = {"measurements", "drafts"}
# A cautious rate for the estimate: public resolvers are queried far slower than a testbed.
ESTIMATE_QPS = 4_000


# The key of survey options that holds the domains with permitted transfers.
_TRANSFER_DOMAINS = "transfer_domains"


class TooManySurveys(NephoscopeError):
    """The limit on surveys that run at once is reached; try again when one has ended."""

    permanent = False


@dataclass(frozen=True, slots=True)
class Requester:
    """The requester of a survey, which is private unless ``is_public``."""

    user: Any = None
    is_public: bool = False
    # Commands of the operator are not held to the limit on surveys that run at once.
    is_limited: bool = True
    # Set once the client has left, so that a long list is not read to its end.
    gone: threading.Event | None = None

    @property
    def owner(self) -> Any:
        """The owner of a private survey; None for a public one."""
        return None if self.is_public else self.user


ANONYMOUS, OPERATOR_REQUEST = Requester(), Requester(is_limited=False)


# Questions of a zone with a wildcard beside the estimate.
WILDCARD_QUERIES = enumeration.WILDCARD_QUERIES


@dataclass(frozen=True, slots=True)
class Plan:
    """What a survey of a list would do, before anything is queried.

    ``estimated_queries`` has no wildcards: each zone with one costs ``wildcard_queries`` more, as
    measured on average, and ``max_wildcard_queries`` at most. Which zones have one shows only when
    they are queried.
    """

    accepted: int
    duplicates: int
    rejected: list[dict[str, Any]]
    n_rejected: int
    notes: list[str]
    n_words: int
    estimated_queries: int
    estimated_s: float
    wildcard_queries: int = WILDCARD_QUERIES
    max_wildcard_queries: int = enumeration.MAX_WILDCARD_QUERIES


def plan_survey(
    data: bytes, n_words: int, gone: threading.Event | None = None
) -> tuple[Plan, DomainList]:
    """Read a domain list and predict the cost; raises ``BadInput`` when nothing is usable.

    Large lists are read one at a time; once ``gone`` is set, reading ends (``ClientGone``).
    """
    with list_slot.hold_slot(data, gone) as pause:
        try:
            found = read_domain_list(data, Limit(settings.MAX_SURVEY_DOMAINS, pause))
        except TooManyDomains as error:
            raise BadInput(
                f"{error}, which is what one survey takes; split the list, or raise "
                "NEPHOSCOPE_MAX_SURVEY_DOMAINS"
            ) from error
    queries = enumeration.estimate_queries(len(found.entries), n_words)
    plan = Plan(
        accepted=len(found.entries),
        duplicates=found.duplicates,
        rejected=[asdict(r) for r in found.rejected[:KEPT_REJECTIONS]],
        n_rejected=max(len(found.rejected), getattr(found, "n_rejected", 0)),
        notes=list(found.notes),
        n_words=n_words,
        estimated_queries=queries,
        estimated_s=round(queries / ESTIMATE_QPS, 1),
    )
    return plan, found


def free_slug(name: str, is_private: bool = False) -> str:
    """Return an unused slug of ``name``; private slugs have a random suffix."""
    stem = slugify(name)[:80] or "survey"
    if is_private:
        return f"{stem}-{secrets.token_hex(5)}"
    slug, number = stem, 1
    while slug in RESERVED_SLUGS or Survey.objects.filter(slug=slug).exists():
        number += 1
        slug = f"{stem}-{number}"
    return slug


def find_unfinished(name: str, data: bytes) -> Survey | None:
    """The operator's newest survey of this name and list that has not ended, to be resumed."""
    digest = hashlib.sha256(data).hexdigest()
    same = Survey.objects.filter(name=name, list_sha256=digest, maker=None, owner=None)
    return same.exclude(state__in=FINAL_STATES).first()


def create_survey(
    data: bytes,
    *,
    name: str = "",
    options: Mapping[str, Any] | None = None,
    n_words: int,
    idempotency_key: str | None = None,
    maker: Requester = ANONYMOUS,
) -> Survey:
    """Store a new survey with its shards; the caller queues the work.

    Raises ``BadInput`` for an unusable list and ``TooManySurveys`` when the maker's limit, or that
    of all, is reached. The same ``idempotency_key`` of a maker returns the earlier survey;
    raises ``KeyReused`` where the rest of the request is not the same.
    """
    asked = {"name": name, "options": {**(options or {})}}
    before = _by_key(idempotency_key, maker)
    if before:
        return _same_or_refused(before, data, maker, asked)
    plan, found = plan_survey(data, n_words, maker.gone)
    survey = _build_survey(plan, data, maker, name)
    survey.options, survey.idempotency_key = {**(options or {})}, idempotency_key or None
    if maker.is_limited and domain_claims.needs_proof(maker.user):
        _limit_transfers(survey, found.entries)
    with transaction.atomic():
        # Again, now that no other request writes: neither key nor limit is passed twice.
        before = _by_key(idempotency_key, maker)
        if before:
            return _same_or_refused(before, data, maker, asked)
        _check_quota(maker)
        if maker.is_limited:
            quotas.count(maker.user, "domains", plan.accepted)
        survey.slug = free_slug(survey.name, is_private=maker.owner is not None)
        survey.save()
        save_entries(survey.slug, _shuffle(found.entries, survey.list_sha256))
        Shard.objects.bulk_create(_slice(survey, plan.accepted))
    return survey


def _build_survey(plan: Plan, data: bytes, maker: Requester, name: str) -> Survey:
    """A survey that is not stored yet."""
    return Survey(
        name=_title(name, plan.accepted),
        owner=maker.owner,
        maker=maker.user,
        list_sha256=hashlib.sha256(data).hexdigest(),
        n_domains=plan.accepted,
        n_rejected=plan.n_rejected,
        n_duplicates=plan.duplicates,
        rejected=plan.rejected,
        notes=plan.notes,
        estimated_queries=plan.estimated_queries,
    )


def _limit_transfers(survey: Survey, entries: Sequence[DomainEntry]) -> None:
    """Permit zone transfers only of domains that the maker has proved to control."""
    domains = [entry.domain for entry in entries]
    permitted = domain_claims.transferable(survey.maker, domains)
    survey.options[_TRANSFER_DOMAINS] = permitted
    if survey.options.get("axfr", True):
        survey.notes = [
            *survey.notes,
            "zone transfers need a proof that you control the domain; they are requested for "
            f"{', '.join(permitted[:5]) or 'none of these domains'}",
        ]


def _by_key(key: str | None, maker: Requester) -> Survey | None:
    check_key(key)
    if not key:
        return None
    return Survey.objects.filter(idempotency_key=key, maker=maker.user).first()


def _title(name: str, n_domains: int) -> str:
    return (name or f"Survey of {n_domains:,} domains").strip()[:200]


def _same_or_refused(
    before: Survey, data: bytes, maker: Requester, asked: Mapping[str, Any]
) -> Survey:
    name, options = _title(asked["name"], before.n_domains), asked["options"]
    new = (hashlib.sha256(data).hexdigest(), name, maker.owner, _canonical(options))
    old = (before.list_sha256, before.name, before.owner, _canonical(before.options))
    if new != old:
        raise KeyReused
    return before


def _canonical(options: Mapping[str, Any]) -> str:
    """Options as one text, whatever order a database gives their keys.

    Without the zones that may be transferred, which depend on the proofs of the moment.
    """
    return json.dumps({**options, _TRANSFER_DOMAINS: None}, sort_keys=True)


def _check_quota(maker: Requester) -> None:
    if not maker.is_limited:
        return
    if maker.user and quotas.active_surveys(maker.user) >= settings.MAX_ACTIVE_SURVEYS_PER_USER:
        raise TooManySurveys(
            f"{settings.MAX_ACTIVE_SURVEYS_PER_USER} of your surveys are waiting or running; try "
            "again when one ends"
        )
    if quotas.active_surveys() >= settings.MAX_ACTIVE_SURVEYS:
        raise TooManySurveys(
            f"{settings.MAX_ACTIVE_SURVEYS} surveys are waiting or running; try again when one ends"
        )


def _shuffle(entries: Sequence[DomainEntry], seed: str) -> list[DomainEntry]:
    """In an order without neighbours: lists stand by owner or top-level domain, so that a shard
    would ask the servers of one operator only."""
    return random.Random(seed).sample(entries, len(entries))


def _slice(survey: Survey, n_domains: int) -> list[Shard]:
    size = min(500, max(5, -(-n_domains // 24)))
    return [
        Shard(survey=survey, key=f"s{i:05d}", first=first, last=min(first + size, n_domains))
        for i, first in enumerate(range(0, n_domains, size))
    ]


def mark_running(survey: Survey, tables: Sequence[RangeTable], world: str) -> None:
    """Mark a survey as running on these range tables; a resumed one keeps its first start."""
    survey.refresh_from_db()
    if survey.is_final:
        return
    survey.state = SurveyState.RUNNING
    survey.started_at = survey.started_at or timezone.now()
    survey.world = survey.world or world
    survey.error = ""
    survey.save(update_fields=["state", "started_at", "world", "error"])
    if not survey.range_tables.exists():
        survey.range_tables.set(tables)


def claim(shard_id: int) -> Shard | None:
    """Claim a shard that waits or has a silent worker; ``None`` when another has it."""
    now = timezone.now()
    free = models.Q(state=Shard.State.WAITING) | models.Q(
        state=Shard.State.RUNNING, leased_until__lt=now
    )
    # No joined table: PostgreSQL compares a row that another worker has just taken again, but
    # not with conditions inside a subquery for the row itself.
    ended = Survey.objects.filter(state__in=FINAL_STATES)
    taken = (
        Shard.objects.filter(free, pk=shard_id)
        .exclude(survey__in=ended)
        .update(
            state=Shard.State.RUNNING,
            worker=f"{socket.gethostname()}:{os.getpid()}",
            attempt=models.F("attempt") + 1,
            leased_until=now + LEASE,
        )
    )
    return Shard.objects.select_related("survey").get(pk=shard_id) if taken else None


def renew(shard: Shard, counters: Mapping[str, Any]) -> bool:
    """Extend the lease and show progress; false when the shard is no longer this worker's."""
    return bool(
        Shard.objects.filter(pk=shard.pk, state=Shard.State.RUNNING, attempt=shard.attempt)
        .exclude(survey__state__in=FINAL_STATES)
        .update(leased_until=timezone.now() + LEASE, counters=dict(counters))
    )


def end_shard(shard: Shard, rows: Mapping[str, int], counters: Mapping[str, Any]) -> bool:
    """Record the shard's parts in the manifest; false when another attempt was faster."""
    return bool(
        Shard.objects.filter(pk=shard.pk, state=Shard.State.RUNNING, attempt=shard.attempt).update(
            state=Shard.State.DONE,
            rows=dict(rows),
            counters=dict(counters),
            error="",
            finished_at=timezone.now(),
            leased_until=None,
        )
    )


def fail_shard(shard: Shard, error: str) -> None:
    """Fail a shard after a permanent error."""
    Shard.objects.filter(pk=shard.pk, attempt=shard.attempt, state=Shard.State.RUNNING).update(
        state=Shard.State.FAILED, error=error[:2000], leased_until=None
    )


def release(shard: Shard) -> None:
    """Release a shard of a worker that shuts down."""
    Shard.objects.filter(pk=shard.pk, attempt=shard.attempt, state=Shard.State.RUNNING).update(
        state=Shard.State.WAITING, leased_until=None, attempt=max(0, shard.attempt - 1)
    )


@transaction.atomic
def save_reports(
    survey: Survey,
    tables: Mapping[str, Table],
    headlines: Mapping[str, str],
    checks: Sequence[str],
) -> None:
    """Replace the survey's report rows as a whole."""
    Report.objects.filter(survey=survey).delete()
    Report.objects.bulk_create(
        Report(
            survey=survey,
            table_id=table.id,
            columns=list(table.columns),
            rows=[list(row) for row in table.rows],
            n=table.n,
            headline=headlines[table.id],
            checks=[c for c in checks if c.startswith(f"{table.id}:")],
        )
        for table in tables.values()
    )


def finish(survey: Survey, summary: Mapping[str, Any], error: str = "") -> None:
    """Close a survey; shards that were given up make it partial."""
    lost = survey.shards.filter(state=Shard.State.FAILED).count()
    state = SurveyState.PARTIAL if lost or error else SurveyState.FINISHED
    Survey.objects.filter(pk=survey.pk).exclude(state=SurveyState.CANCELLED).update(
        state=state, summary=dict(summary), finished_at=timezone.now(), error=error
    )


def fail(survey: Survey, error: str) -> None:
    """End a survey that could not run at all; what was stored stays."""
    Survey.objects.filter(pk=survey.pk).exclude(state__in=FINAL_STATES).update(
        state=SurveyState.FAILED, error=error[:2000], finished_at=timezone.now()
    )


def cancel(survey: Survey) -> bool:
    """Stop a survey; workers notice at their next lease renewal. False when it had ended."""
    return bool(
        Survey.objects.filter(pk=survey.pk)
        .exclude(state__in=FINAL_STATES)
        .update(state=SurveyState.CANCELLED, finished_at=timezone.now())
    )
