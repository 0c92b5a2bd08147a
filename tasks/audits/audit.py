"""One audit of a finished survey: read its facts, apply a policy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings

from analysis.deployment.countries import region_countries
from audits.evaluation import Baseline, evaluate
from audits.facts.domains import SurveyFacts, read_facts
from audits.facts.exposures import add_exposures
from audits.findings import AuditReport
from audits.policy.model import Policy
from audits.rules.base import Context
from core.clock import Clock, SystemClock
from tasks.audits.campaign_facts import read_campaign_facts
from tasks.resolution.engine_factory import Resolving
from webapp.store.audits.policies import with_suppressions
from webapp.store.models import Campaign, Survey
from webapp.store.surveys import selectors

# Rules that read what ``tasks.surveys.domain_records`` asks.
RECORD_RULES = frozenset({"no-caa", "no-dnssec", "mail-concentration"})
_EXPOSURE_RULES = frozenset({"outage-exposure"})


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """What an audit compares with, beside the survey itself."""

    baseline: Baseline | None = None
    previous: Survey | None = None
    campaign: Campaign | None = None
    # Saved suppressions; those about domains of the survey apply beside the policy's own.
    suppressions: Sequence[Mapping[str, Any]] = ()
    clock: Clock = field(default_factory=SystemClock)


def run_audit(survey: Survey, policy: Policy, options: AuditOptions | None = None) -> AuditReport:
    """Judge every domain of a finished survey; raises ``Damaged`` where a part of it is."""
    options = options or AuditOptions()
    facts = load_facts(survey, policy)
    if options.suppressions:
        policy = with_suppressions(policy, options.suppressions, facts.by_domain)
    previous = load_facts(options.previous, policy) if options.previous else None
    context = Context(
        now=options.clock.now(),
        countries=region_countries(),
        asked_ipv6=Resolving.from_json(survey.options).aaaa,
        campaign=read_campaign_facts(options.campaign, facts, policy) if options.campaign else None,
        previous=previous.by_domain if previous else None,
    )
    return evaluate(facts.domains, policy, context, source_of(survey, options), options.baseline)


def load_facts(survey: Survey, policy: Policy) -> SurveyFacts:
    """The facts that the rules of a policy read."""
    root, shards = Path(settings.LAKE_DIR), selectors.finished_shards(survey.slug)
    facts = read_facts(root, survey.slug, shards)
    if _EXPOSURE_RULES & policy.rules.keys():
        add_exposures(facts, root, shards)
    return facts


def source_of(survey: Survey, options: AuditOptions) -> Mapping[str, Any]:
    """What a report was made from."""
    return {
        "survey": survey.slug,
        "survey_finished_at": survey.finished_at.isoformat() if survey.finished_at else None,
        "previous_survey": options.previous.slug if options.previous else None,
        "campaign": options.campaign.slug if options.campaign else None,
        "world": survey.world,
        "range_tables": [
            {"provider": t.provider, "as_of": str(t.as_of), "sha256": t.sha256}
            for t in survey.range_tables.all()
        ],
    }
