"""State transitions of audits: create, lease, renew, finish, fail, delete."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from audits.findings import AuditReport
from core.errors import NephoscopeError
from core.statuses import FINAL_STATES, SurveyState
from webapp.store.audits import findings
from webapp.store.audits.policies import PolicyText
from webapp.store.leases import JobTable
from webapp.store.models import Audit, Campaign, SavedList, Survey
from webapp.store.models.audits import ENDED
from webapp.store.object_storage import files
from webapp.store.requests.idempotency import KeyReused, check_key
from webapp.store.requests.texts import slug_of
from webapp.store.surveys.services import Requester

State = Audit.State
MAX_ATTEMPTS = 5
# Audits of one maker, and of all, that have not ended.
MAX_OPEN, MAX_OPEN_OF_ALL = 16, 128


class AuditTable(JobTable[Audit]):
    """Audits wait in a queue, or for their survey."""

    def _waiting(self) -> Q:
        # An audit that waits for a disk or a server is tried again when its lease is over.
        rested = Q(leased_until__isnull=True) | Q(leased_until__lt=timezone.now())
        # No joined table: see ``webapp.store.surveys.services.claim``.
        ended = Survey.objects.filter(state__in=FINAL_STATES)
        surveyed = Q(state=State.SURVEYING) & (Q(survey__in=ended) | Q(survey__isnull=True))
        return (super()._waiting() & rested) | surveyed


JOBS = AuditTable(Audit, "survey", "maker", waits_as=State.QUEUED, lease=timedelta(seconds=10))


class TooManyAudits(NephoscopeError):
    """So many audits wait or run that one more is refused."""

    permanent = False


@dataclass(frozen=True, slots=True)
class AuditRow:
    """What a new audit is made of; ``survey`` is the one that is judged."""

    name: str
    source: str
    survey: Survey
    policy: PolicyText
    suppressions: list[dict[str, Any]] = field(default_factory=list)
    saved_list: SavedList | None = None
    campaign: Campaign | None = None
    previous: Audit | None = None
    # Findings by fingerprint to compare with instead.
    baseline: Mapping[str, Any] | None = None
    fail_on: str = ""
    strict: bool = False
    list_path: str = ""


def find_by_key(key: str | None, maker: Requester, request_sha256: str) -> Audit | None:
    """The audit that this key made; raises ``KeyReused`` where the request was another one."""
    check_key(key)
    if not key:
        return None
    known = Audit.objects.filter(idempotency_key=key, maker=maker.user).first()
    if known is not None and known.request_sha256 != request_sha256:
        raise KeyReused
    return known


def check_quota(maker: Requester) -> None:
    """Raise ``TooManyAudits`` at the limit of audits that have not ended."""
    if not maker.is_limited:
        return
    rows = Audit.objects.exclude(state__in=ENDED)
    own = rows.filter(maker=maker.user).count() if maker.user else 0
    if own >= MAX_OPEN or rows.count() >= MAX_OPEN_OF_ALL:
        raise TooManyAudits(f"{MAX_OPEN} of your audits wait or run; try again when one has ended")


def create(asked: AuditRow, maker: Requester, key: str | None, request_sha256: str) -> Audit:
    """Store an audit that waits for its survey, or for a worker."""
    policy = asked.policy.policy
    is_surveyed = asked.survey.state in FINAL_STATES
    row = Audit(
        slug=slug_of(asked.name, "audit"),
        name=asked.name[:200],
        owner=maker.owner,
        maker=maker.user,
        state=State.QUEUED if is_surveyed else State.SURVEYING,
        source=asked.source,
        saved_list=asked.saved_list,
        survey=asked.survey,
        list_sha256=asked.survey.list_sha256,
        saved_policy=asked.policy.saved,
        policy_name=policy.name,
        policy_sha256=policy.digest,
        policy_document=asked.policy.text,
        suppressions=asked.suppressions,
        campaign=asked.campaign,
        previous=asked.previous,
        baseline=asked.baseline,
        fail_on=asked.fail_on or str(policy.fail_on),
        strict=asked.strict,
        list_path=asked.list_path,
        idempotency_key=key or None,
        request_sha256=request_sha256,
    )
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError:
        known = find_by_key(key, maker, request_sha256)
        if known is None:
            raise
        return known
    return row


def waiting_for(survey_id: int) -> list[int]:
    """Ids of audits that wait for a survey which has ended."""
    return list(JOBS.claimable().filter(survey=survey_id).values_list("pk", flat=True))


def is_awaited(survey: Survey, *, except_for: Audit) -> bool:
    """Whether another audit waits for a survey."""
    others = Audit.objects.filter(survey=survey).exclude(pk=except_for.pk)
    return others.exclude(state__in=ENDED).exists()


def claim(pk: int) -> Audit | None:
    """Lease an audit; ``None`` where it has ended, has to wait or another worker has it."""
    return JOBS.claim(pk, started_at=timezone.now(), error="")


def renew(row: Audit, progress: Mapping[str, Any]) -> bool:
    """Extend the lease and show progress; false when the audit is no longer this worker's."""
    return JOBS.renew(row, progress=dict(progress))


def finish(row: Audit, report: AuditReport, exit_code: int) -> bool:
    """Store the findings and close the audit, unless another worker has it by now.

    The audit is partial where its survey is. Raises ``Unavailable``.
    """
    header, groups = findings.write(row, report)
    is_partial = row.survey is not None and row.survey.state == SurveyState.PARTIAL
    is_own = JOBS.finish(
        row,
        state=State.PARTIAL if is_partial else State.FINISHED,
        report=header,
        groups=groups,
        exit_code=exit_code,
        progress={},
        error="",
    )
    findings.drop_others(row, keep_own=is_own)
    return is_own


def fail(row: Audit, error: str) -> bool:
    """Store why there is no report."""
    return JOBS.fail(row, error, progress={})


def release(row: Audit, error: str, wait_s: float) -> bool:
    """Give an audit back that may run later, with what it waits for; the attempt does not count."""
    return JOBS.update(
        row,
        state=State.QUEUED,
        error=error[:2000],
        progress={},
        attempt=row.attempt - 1,
        leased_until=timezone.now() + timedelta(seconds=wait_s),
    )


def delete(row: Audit) -> None:
    """Delete an audit with its findings. A worker notices at its next renewal."""
    row.delete()
    shutil.rmtree(findings.folder_of(row.slug), ignore_errors=True)
    files.unregister(findings.folder_of(row.slug))
