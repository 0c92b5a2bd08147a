"""Start audits: what the API, the pages, the command and schedules call."""

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from django.db import transaction

from audits.evaluation import Baseline
from audits.findings import Severity
from audits.output.document import read_sent_baseline
from core.errors import BadInput
from tasks.audits.celery_tasks import submit
from tasks.resolution.engine_factory import Resolving, count_words
from tasks.resolution.options import resolving_from
from tasks.surveys import submission as survey_submission
from webapp.store.audits import documents, lists, policies, selectors, services
from webapp.store.audits.policies import PolicyText
from webapp.store.models import Audit, Campaign, SavedList, Survey
from webapp.store.requests.texts import is_printable
from webapp.store.surveys.services import Requester, create_survey

log = logging.getLogger(__name__)
# ``previous`` of an audit that is compared with no other.
NO_PREVIOUS = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAudit:
    """An audit as it is requested; names are those in addresses.

    Exactly one of ``domains``, ``domain_list`` and ``survey`` is given. ``policy`` is a preset or a
    saved policy, unless ``policy_document`` is the text of one. ``previous`` is the audit to
    compare with: empty for the newest of the same list and policy, ``none`` for no comparison.
    ``baseline`` is the text of an earlier JSON report to compare with instead.
    """

    domains: bytes = b""
    domain_list: str = ""
    survey: str = ""
    policy: str = "default"
    policy_document: bytes = b""
    campaign: str = ""
    previous: str = ""
    baseline: bytes = b""
    name: str = ""
    fail_on: str = ""
    strict: bool = False
    # The path of the list in the client's repository, in which formats anchor findings.
    list_path: str = ""
    # Options of the survey that has to run first: ``axfr`` and ``aaaa``.
    options: Mapping[str, bool] = field(default_factory=dict)

    @property
    def sha256(self) -> str:
        """The hash by which repetitions of a request are recognised."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        for name in ("domains", "policy_document", "baseline"):
            values[name] = hashlib.sha256(values[name]).hexdigest()
        values["options"] = dict(self.options)
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Resolved:
    """The rows that a request names."""

    policy: PolicyText
    survey: Survey | None = None
    saved_list: SavedList | None = None
    campaign: Campaign | None = None
    # The audit that was named to compare with.
    previous: Audit | None = None
    # The findings that were sent to compare with.
    baseline: Baseline | None = None


def start_audit(asked: NewAudit, maker: Requester, key: str | None = None) -> Audit:
    """Store an audit and queue it, after its survey where one has to run first.

    The same ``key`` of a maker returns the earlier audit. Raises ``BadInput`` naming the field,
    ``KeyReused``, ``TooManyAudits`` and ``TooManySurveys``.
    """
    known = services.find_by_key(key, maker, asked.sha256)
    if known is not None:
        return known
    found = resolve(asked, maker)
    with transaction.atomic():
        services.check_quota(maker)
        survey = found.survey or _create_survey(asked, found, maker, key)
        row = services.create(_row(asked, found, survey, maker), maker, key, asked.sha256)
    if found.survey is None:
        survey_submission.submit(survey)
    else:
        submit(row)
    return row


def resolve(asked: NewAudit, maker: Requester) -> Resolved:
    """The rows that a request names, if the maker may see them; raises ``BadInput``."""
    _check(asked)
    if asked.policy_document:
        policy = policies.read_policy(asked.policy_document)
    else:
        policy = policies.find_policy(asked.policy, maker.user)
    survey = selectors.find_survey(asked.survey, maker.user) if asked.survey else None
    campaign = selectors.find_campaign(asked.campaign, maker.user) if asked.campaign else None
    named = asked.previous not in ("", NO_PREVIOUS)
    previous = selectors.find_previous(asked.previous, maker.user) if named else None
    if maker.owner is None and any(row and row.owner_id for row in (survey, campaign, previous)):
        raise BadInput("a public audit cannot name what is private", field="public")
    return Resolved(policy, survey, _saved_list(asked, maker), campaign, previous, _baseline(asked))


def _baseline(asked: NewAudit) -> Baseline | None:
    if not asked.baseline:
        return None
    try:
        return read_sent_baseline(asked.baseline)
    except BadInput as error:
        raise BadInput(str(error), field="baseline") from error


def _check(asked: NewAudit) -> None:
    given = [bool(asked.domains), bool(asked.domain_list), bool(asked.survey)]
    if sum(given) != 1:
        raise BadInput("give one of domains, domain_list and survey", field="domains")
    if asked.baseline and asked.previous not in ("", NO_PREVIOUS):
        raise BadInput("give one of baseline and previous", field="baseline")
    for text in ("name", "list_path"):
        if not is_printable(getattr(asked, text)):
            raise BadInput("printable characters only", field=text)
    if asked.fail_on and asked.fail_on not in list(Severity):
        raise BadInput(f"must be one of {', '.join(Severity)}", field="fail_on")


def _saved_list(asked: NewAudit, maker: Requester) -> SavedList | None:
    if not asked.domain_list:
        return None
    row = documents.find(SavedList, asked.domain_list, maker.user)
    if row is None:
        raise BadInput(f"there is no domain list {asked.domain_list!r}", field="domain_list")
    return row


def survey_options(asked: NewAudit) -> Resolving:
    """How the survey that runs first asks."""
    return resolving_from(
        {f"no_{name}": not asked.options.get(name, True) for name in ("axfr", "aaaa")}
    )


def list_bytes_of(asked: NewAudit, found: Resolved) -> bytes:
    """The text of the list that is surveyed first."""
    return lists.read_list(found.saved_list) if found.saved_list else asked.domains


def _create_survey(asked: NewAudit, found: Resolved, maker: Requester, key: str | None) -> Survey:
    """Store the survey that runs first; of two requests with one key, both get the same."""
    options = survey_options(asked)
    name = asked.name or (f"Audit of {found.saved_list.name}" if found.saved_list else "")
    return create_survey(
        list_bytes_of(asked, found),
        name=name,
        options=options.as_json(),
        n_words=count_words(options),
        idempotency_key=hashlib.sha256(f"audit {key}".encode()).hexdigest() if key else None,
        maker=maker,
    )


def _row(asked: NewAudit, found: Resolved, survey: Survey, maker: Requester) -> services.AuditRow:
    policy = found.policy.policy
    return services.AuditRow(
        name=(asked.name or _name(found, survey)).strip(),
        source=_source(asked),
        survey=survey,
        policy=found.policy,
        suppressions=policies.suppressions_for(maker.user, found.policy.saved),
        saved_list=found.saved_list,
        campaign=found.campaign,
        previous=_previous(asked, found, survey, maker),
        baseline=found.baseline,
        fail_on=asked.fail_on or str(policy.fail_on),
        strict=asked.strict,
        list_path=asked.list_path,
    )


def _name(found: Resolved, survey: Survey) -> str:
    subject = found.saved_list.name if found.saved_list else survey.name
    return f"{subject}: {found.policy.policy.title or found.policy.policy.name}"


def _source(asked: NewAudit) -> str:
    if asked.survey:
        return Audit.Source.SURVEY
    return Audit.Source.DOMAIN_LIST if asked.domain_list else Audit.Source.DOMAINS


def _previous(asked: NewAudit, found: Resolved, survey: Survey, maker: Requester) -> Audit | None:
    """The audit to compare with; a public one is compared with public ones only."""
    if asked.previous or found.baseline is not None:
        return found.previous
    return selectors.newest_like(
        maker.owner, maker.user, survey.list_sha256, found.saved_list, found.policy.policy.name
    )
