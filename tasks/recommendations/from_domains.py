"""Create a recommendation from a domain list and its clients, once its survey has ended.

The regions that the survey found are the deployment as it is. Nothing is solved here.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings

from analysis.deployment.cloud_names import open_names
from analysis.deployment.regions import domain_regions
from analysis.impact.client_weights import (
    Audience,
    read_audience,
    read_weights,
    split_list,
    write_audience,
)
from analysis.impact.clients.client_keys import merge_smallest
from analysis.impact.internet_users import country_users, open_regions
from core.errors import BadInput, NephoscopeError
from core.statuses import SurveyState
from crawlers.files.domain_list import read_text
from tasks.clients.uploads import ClientWeights, read_upload
from tasks.recommendations.client_latencies import (
    AUTO,
    MAX_CLIENTS,
    Latencies,
    latencies_for,
    name_in,
    write_csv,
)
from tasks.resolution.engine_factory import count_words
from tasks.resolution.options import resolving_from
from webapp.store.models import Recommendation, Survey
from webapp.store.recommendations import services as recommendation_services
from webapp.store.surveys import selectors, services

# One size may take so long before it is left with its gap.
TIME_LIMIT_S = 20.0
_ENDED_WELL = (SurveyState.FINISHED, SurveyState.PARTIAL)


@dataclass(frozen=True, slots=True)
class Asked:
    """The latency data that are wanted, a name, and options of the question."""

    source: str = AUTO
    name: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Intention:
    """What a tenant wants to know, before anything is queried."""

    plan: services.Plan
    domains: bytes
    audience: Audience
    n_words: int


def intend(data: bytes, weights: Audience) -> Intention:
    """Read a list and its clients, and predict the cost; raises BadInput naming field or line."""
    # Packed lists and those in UTF-16 carry weights like any other.
    plain = read_text(data).encode("utf-8", "surrogateescape")
    domains, columns = split_list(plain)
    if weights and columns:
        raise BadInput("the list has weights by country too; give them once", field="audience")
    n_words = count_words(resolving_from({}))
    plan, _ = services.plan_survey(domains, n_words)
    found = merge_smallest(weights or columns, MAX_CLIENTS)
    return Intention(plan, domains, found, n_words)


def create(
    domains: bytes, audience: Audience, asked: Asked, maker: services.Requester, key: str
) -> Recommendation:
    """Store the survey and the recommendation that waits for it; raises as their makers do.

    The caller queues the survey.
    """
    resolving = resolving_from({})
    survey = services.create_survey(
        domains,
        name=asked.name,
        options=resolving.as_json(),
        n_words=count_words(resolving),
        idempotency_key=key or None,
        maker=maker,
    )
    origin = recommendation_services.Origin(
        owner=maker.owner,
        title=asked.name or survey.name,
        survey=survey,
        source={"wanted": asked.source or AUTO, "audience": audience},
    )
    return recommendation_services.create(
        {}, asked.options, origin, idempotency_key=key or None, state=Recommendation.State.AWAITING
    )


def prepare(row: Recommendation) -> bool:
    """Make the question of what waited for its survey; false where it cannot be, or was already."""
    survey = row.survey
    reason = _why_not(survey)
    if survey is None or reason:
        recommendation_services.fail_awaiting(row, reason)
        return False
    used = regions_of(survey)
    try:
        wanted, audience = row.source.get("wanted", AUTO), row.source.get("audience", {})
        current = [(place["provider"], place["region"]) for place in used]
        found = latencies_for(wanted, audience, current, row.owner)
    except NephoscopeError as error:
        recommendation_services.fail_awaiting(row, str(error))
        return False
    options, source = options_for(found, used)
    files = {**found.files, **_domain_file(survey, found.regions)}
    if "joint_budget" in row.options and "domains" not in files:
        reason = "no domain of the survey is in a known region, so that no budget can be shared"
        recommendation_services.fail_awaiting(row, reason)
        return False
    options |= row.options
    return recommendation_services.enqueue(row, files, options, {**row.source, **source})


def _domain_file(survey: Survey, regions: Collection[str]) -> dict[str, bytes]:
    """Return the regions of each domain of a survey that have samples, weighted by names."""
    shards = selectors.finished_shards(survey.slug)
    with closing(open_names(Path(settings.LAKE_DIR), survey.slug, shards)) as connection:
        rows = [
            (domain, name, names)
            for domain, provider, region, names in domain_regions(connection)
            if (name := name_in(regions, provider, region))
        ]
    return {"domains": write_csv(("domain", "region", "weight"), rows)} if rows else {}


def _why_not(survey: Survey | None) -> str:
    if survey is None:
        return "its survey is gone"
    if survey.state not in _ENDED_WELL:
        return f"its survey was {survey.state}: {survey.error}".rstrip(": ")
    return ""


def regions_of(survey: Survey) -> list[dict[str, Any]]:
    """The regions that a survey found in use, with how much is there."""
    stored = selectors.report(survey.slug, "regions")
    rows = (dict(zip(stored.columns, row, strict=True)) for row in stored.rows) if stored else ()
    kept = ("provider", "region", "domains", "subdomains")
    return [{name: row[name] for name in kept} for row in rows if row["region"]]


def options_for(
    found: Latencies, used: list[dict[str, Any]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options for the samples of a deployment, and the description of its regions."""
    named = [
        {**place, "name": name_in(found.regions, place["provider"], place["region"])}
        for place in used
    ]
    current = [place["name"] for place in named if place["name"]]
    options: dict[str, Any] = {"time_limit_s": TIME_LIMIT_S}
    if current:
        options["current"] = current
        # For a deployment at some providers, those providers' regions are considered first; one
        # click widens it.
        options["provider"] = sorted({p["provider"] for p in named if p["name"]})
    return options, {**found.source, "deployment": named}


def without_domains(
    audience: Audience, wanted: str, current: Sequence[str], user: Any
) -> tuple[Mapping[str, bytes], dict[str, Any], dict[str, Any]]:
    """Files, options and source for clients without any domain; raises BadInput."""
    pairs = [_pair(text) for text in current]
    found = latencies_for(wanted, audience, pairs, user)
    options: dict[str, Any] = {"time_limit_s": TIME_LIMIT_S}
    if current:
        names = [name_in(found.regions, *pair) for pair in pairs]
        if None in names:
            lost = current[names.index(None)]
            raise BadInput(f"no samples of the region {lost!r}", field="current")
        options["current"] = names
    kept = merge_smallest(audience, MAX_CLIENTS)
    return found.files, options, {**found.source, "audience": kept}


def _pair(text: str) -> tuple[str, str]:
    provider, _, region = text.replace(":", "/").rpartition("/")
    return provider.lower(), region


def parse_audience(text: str) -> Audience:
    """Read weights as a form or a plan holds them; raises BadInput naming the line."""
    return read_audience(text.encode())


def read_clients(given: str | Mapping[str, float]) -> ClientWeights:
    """Read an audience as an object of weights, or as a text of any known form."""
    if isinstance(given, str):
        return read_upload(given.encode("utf-8", "surrogatepass"), "audience")
    return ClientWeights("list", read_weights(given))


def format_audience(weights: Audience) -> str:
    """Write weights as ``parse_audience`` reads them."""
    return write_audience(weights)


def country_codes() -> list[str]:
    """Countries that clients can be in."""
    return sorted(country_users())


def region_names() -> list[str]:
    """Return the regions that anyone may use, as ``aws/us-east-1``."""
    return sorted(open_regions())


def region_countries() -> list[str]:
    """Return the countries of regions that anyone may use."""
    return sorted({region.country for region in open_regions().values()} - {""})


def region_continents() -> list[str]:
    """Return the continents of regions that anyone may use."""
    return sorted({region.continent for region in open_regions().values()} - {""})
