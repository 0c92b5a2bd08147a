"""Run an audit of the store: ask what its rules need, judge the facts, store the findings."""

import logging
from datetime import timedelta
from functools import partial
from typing import cast

from django.utils import timezone

from audits.evaluation import Baseline
from audits.findings import AuditReport
from audits.policy.loading import parse_policy
from core.errors import MissingData, NephoscopeError
from core.statuses import SurveyState
from tasks.audits.audit import AuditOptions, run_audit
from tasks.audits.command import exit_code, needs_records
from tasks.platform.lease import Lease
from tasks.platform.leased_rows import DATABASE_AWAY, release_after
from tasks.platform.stop import Stopped
from tasks.surveys import domain_records
from webapp.store.access.visibility import visible
from webapp.store.audits import findings, services
from webapp.store.models import Audit, Campaign, Survey

log = logging.getLogger(__name__)
# How soon an audit is tried again that waits for a server or for space on the disk.
RETRY_S = 10.0
# After this it is given up.
PATIENCE = timedelta(days=1)
_WITH_DATA = (SurveyState.FINISHED, SurveyState.PARTIAL)


def run(row: Audit, *, in_worker: bool) -> bool:
    """Run a claimed audit; return whether its findings were stored.

    An error is stored with its reason. One that may pass gives the audit back for a while.
    """
    try:
        with Lease(f"audit {row.slug}", partial(services.renew, row)) as lease:
            report = _apply_policy(row, lease, in_worker=in_worker)
            lease.confirm()
            return services.finish(row, report, exit_code(report, row.fail_on, strict=row.strict))
    except Stopped:
        return False
    except NephoscopeError as error:
        _release_or_fail(row, str(error), permanent=error.permanent)
        log.warning("audit %s: %s", row.slug, error)
    except DATABASE_AWAY as error:
        release_after(
            error, partial(_release_or_fail, row, f"the database did not answer: {error}")
        )
    except Exception as error:
        log.exception("audit %s", row.slug)
        services.fail(row, f"a fault of this site, {type(error).__name__}; its log has the details")
    return False


def _release_or_fail(row: Audit, error: str, *, permanent: bool = False) -> None:
    if permanent or timezone.now() - row.created_at > PATIENCE:
        services.fail(row, error)
    else:
        services.release(row, error, RETRY_S)


def _apply_policy(row: Audit, lease: Lease, *, in_worker: bool) -> AuditReport:
    survey = _survey_of(row)
    policy = parse_policy(row.policy_document.encode())
    if needs_records(policy) and domain_records.may_be_asked(survey, row.maker):
        _show(lease, "ask")
        domain_records.ask_records(survey, in_worker=in_worker)
    _show(lease, "judge")
    options = AuditOptions(
        baseline=_baseline_of(row),
        previous=_previous_survey(row, survey),
        campaign=_campaign_of(row),
        suppressions=row.suppressions,
    )
    return run_audit(survey, policy, options)


def _baseline_of(row: Audit) -> Baseline | None:
    """The findings to compare with: those that were sent, or those of the audit before."""
    if row.baseline is not None:
        return cast(Baseline, row.baseline)
    return findings.read_baseline(row.previous) if row.previous else None


def _show(lease: Lease, step: str) -> None:
    """Show a step; raises ``Stopped`` where the audit was deleted or taken over."""
    lease.count({"step": step})
    lease.confirm()


def _survey_of(row: Audit) -> Survey:
    """The survey to judge; raises ``MissingData`` where there is none that may be judged."""
    survey = row.survey
    # A survey may have become private since the audit was requested.
    if survey is None or not visible(Survey.objects.filter(pk=survey.pk), row.maker).exists():
        raise MissingData("its survey is gone")
    if survey.state not in _WITH_DATA:
        reason = f": {survey.error}" if survey.error else ""
        raise MissingData(f"its survey ended as {survey.state}{reason}")
    return survey


def _campaign_of(row: Audit) -> Campaign | None:
    """The campaign that was named; raises ``MissingData`` where it was and may not be read now."""
    if row.campaign_id is None:
        return None
    found = visible(Campaign.objects.filter(pk=row.campaign_id), row.maker).first()
    if found is None:
        raise MissingData("its campaign is not to be read any more")
    return found


def _previous_survey(row: Audit, survey: Survey) -> Survey | None:
    """The survey of the audit before, where it is another one and still there."""
    before = row.previous.survey if row.previous else None
    if before is None or before.pk == survey.pk or before.state not in _WITH_DATA:
        return None
    return visible(Survey.objects.filter(pk=before.pk), row.maker).first()
