"""Recommendations and an audit that a new installation shows."""

import hashlib
import hmac

from django.conf import settings

from core.errors import BadInput
from tasks.audits.submission import NewAudit, start_audit
from tasks.clients.uploads import ClientWeights
from tasks.recommendations import celery_tasks, from_domains
from tasks.recommendations.client_latencies import AUTO
from webapp.store.models import Audit, Recommendation, Survey
from webapp.store.recommendations import services
from webapp.store.surveys.services import ANONYMOUS

AUDIENCE = "DE 40\nUS 35\nJP 25\n"
CURRENT = ("aws/us-east-1", "aws/us-west-2")
TITLE = "Sample: clients in DE, US and JP, served from us-east-1 and us-west-2"
TENANT_AUDIENCE = "US 30\nDE 20\nGB 15\nIN 15\nBR 10\nAU 10\n"
TENANT_TITLE = "Sample: a tenant with {n} emulated domains"
AUDIT_NAME = "Default policy"
_CLIENTS, _DOMAINS = "sample recommendation", "sample recommendation from domains"


def sample_key(of: str = _CLIENTS) -> str:
    """The key of a sample recommendation; no one else can use it."""
    secret = settings.SECRET_KEY.encode()
    return hmac.new(secret, of.encode(), hashlib.sha256).hexdigest()[:48]


def find_samples() -> list[Recommendation]:
    """The sample recommendations that are answered: from domains, from clients."""
    keys = [sample_key(of) for of in (_DOMAINS, _CLIENTS)]
    found = Recommendation.objects.filter(owner=None, idempotency_key__in=keys)
    answered = [row for row in found if row.result]
    return sorted(answered, key=lambda row: keys.index(str(row.idempotency_key)))


def recommend_for_clients() -> str:
    """Answer a question about clients in three countries."""
    weights = from_domains.parse_audience(AUDIENCE)
    files, options, source = from_domains.without_domains(weights, AUTO, CURRENT, None)
    source = {**source, "clients": ClientWeights("list", weights).about()}
    origin = services.Origin(None, TITLE, None, source)
    celery_tasks.create(files, options, sample_key(), origin=origin)
    return "a sample recommendation from countries"


def recommend_for_domains(survey: Survey) -> str:
    """Answer which regions would serve the domains of a finished survey best."""
    audience = from_domains.parse_audience(TENANT_AUDIENCE)
    origin = services.Origin(
        None,
        TENANT_TITLE.format(n=survey.n_domains),
        survey,
        {"wanted": AUTO, "audience": audience},
    )
    key = sample_key(_DOMAINS)
    row = services.create({}, {}, origin, idempotency_key=key, state=Recommendation.State.AWAITING)
    if from_domains.prepare(row):
        celery_tasks.solve(row.pk)
    row.refresh_from_db()
    if not row.result:
        raise BadInput(f"a sample recommendation from domains: {row.error}")
    return "a sample recommendation from domains"


def audit(survey: Survey) -> str:
    """Audit a survey by the default policy."""
    if Audit.objects.exists():
        return ""
    start_audit(NewAudit(survey=survey.slug, name=AUDIT_NAME), ANONYMOUS)
    return f"an audit of {survey.name}"
