"""Answers that a new installation shows beside its first survey and campaign."""

import hashlib
import hmac

from django.conf import settings

from core.errors import NephoscopeError
from tasks.audits.submission import NewAudit, start_audit
from tasks.campaigns import best_sets
from tasks.clients.uploads import ClientWeights
from tasks.recommendations import celery_tasks, from_domains
from tasks.recommendations.client_latencies import AUTO
from webapp.store.models import Audit, Campaign, Recommendation, Survey
from webapp.store.recommendations import services
from webapp.store.surveys.services import ANONYMOUS

AUDIENCE = "DE 40\nUS 35\nJP 25\n"
CURRENT = ("aws/us-east-1",)
TITLE = "Sample: clients in DE, US and JP, served from us-east-1"
AUDIT_NAME = "Default policy"


def sample_key() -> str:
    """The key of the sample recommendation; nobody else can ask under it."""
    secret = settings.SECRET_KEY.encode()
    return hmac.new(secret, b"sample recommendation", hashlib.sha256).hexdigest()[:48]


def find_sample() -> Recommendation | None:
    """The sample recommendation, once it is answered."""
    found = Recommendation.objects.filter(owner=None, idempotency_key=sample_key()).first()
    return found if found is not None and found.result else None


def complete_demo(campaign: Campaign, survey: Survey | None) -> list[str]:
    """Solve the campaign's best sets, answer a sample question, and audit the survey.

    Returns what was made, a line each. What fails is left out: the site is complete without it.
    """
    best_sets.build(campaign, "latency")
    made = [f"best region sets of {campaign.name}"]
    for make in (_recommend, lambda: _audit(survey)):
        try:
            line = make()
        except NephoscopeError as error:
            line = f"not made: {error}"
        if line:
            made.append(line)
    return made


def _recommend() -> str:
    weights = from_domains.parse_audience(AUDIENCE)
    files, options, source = from_domains.without_domains(weights, AUTO, CURRENT, None)
    source = {**source, "clients": ClientWeights("list", weights).about()}
    origin = services.Origin(None, TITLE, None, source)
    celery_tasks.create(files, options, sample_key(), origin=origin)
    return "a sample recommendation"


def _audit(survey: Survey | None) -> str:
    if survey is None or Audit.objects.exists():
        return ""
    start_audit(NewAudit(survey=survey.slug, name=AUDIT_NAME), ANONYMOUS)
    return f"an audit of {survey.name}"
