"""The cost of an audit before it starts."""

from dataclasses import dataclass
from typing import Any

from tasks.audits.command import needs_records
from tasks.audits.submission import NewAudit, list_bytes_of, resolve, survey_options
from tasks.resolution.engine_factory import count_words
from tasks.surveys import domain_records
from webapp.store.surveys.services import ESTIMATE_QPS, Plan, Requester, plan_survey


@dataclass(frozen=True, slots=True)
class AuditPlan:
    """What an audit would do.

    ``survey`` is the cost of the survey that has to run first, if any; ``record_queries`` are the
    questions about CAA, DS and MX that the policy needs beside it.
    """

    policy: dict[str, Any]
    rules: list[str]
    domains: int
    survey: Plan | None
    record_queries: int
    estimated_queries: int
    estimated_s: float


def plan_audit(asked: NewAudit, maker: Requester) -> AuditPlan:
    """Predict the cost; nothing is stored or asked. Raises as ``start_audit`` does."""
    found = resolve(asked, maker)
    policy = found.policy.policy
    plan, entries = None, []
    if found.survey is None:
        n_words = count_words(survey_options(asked))
        plan, accepted = plan_survey(list_bytes_of(asked, found), n_words, maker.gone)
        entries = [entry.domain for entry in accepted.entries]
    elif needs_records(policy) and domain_records.may_be_asked(found.survey, maker.user):
        entries = domain_records.domains_of(found.survey)
    n_records = domain_records.count_questions(entries) if needs_records(policy) else 0
    n_queries = (plan.estimated_queries if plan else 0) + n_records
    return AuditPlan(
        policy=policy.summary(),
        rules=list(policy.rules),
        domains=plan.accepted if plan else found.survey.n_domains if found.survey else 0,
        survey=plan,
        record_queries=n_records,
        estimated_queries=n_queries,
        estimated_s=round(n_queries / ESTIMATE_QPS, 1),
    )
