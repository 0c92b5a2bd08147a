"""The card of one domain: where it runs, what takes it down, and its grade, by one survey."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings

from analysis.deployment.countries import region_countries
from audits.evaluation import evaluate_domain
from audits.facts.domains import read_facts
from audits.facts.exposures import add_exposures
from audits.facts.records import ANSWERED, DomainFacts, Exposure
from audits.grades import Grade, card_policy, grade
from audits.rules.base import Context
from audits.rules.concentration import operator_of
from core.clock import SystemClock
from core.errors import BadInput
from core.statuses import SurveyState
from crawlers.files.domain_list import normalise_domain
from tasks.resolution.engine_factory import Resolving
from webapp.store.access.visibility import visible
from webapp.store.models import Survey
from webapp.store.surveys import index as survey_index
from webapp.store.surveys import selectors
from webapp.store.surveys.uploads import only_domain

# Surveys that are looked through for a domain, the newest first.
MAX_SURVEYS = 60
MAX_EXPOSURES = 8
_ISSUE_TAGS = ("issue", "issuewild")
_ENDED_WELL = (str(SurveyState.FINISHED), str(SurveyState.PARTIAL))


@dataclass(frozen=True, slots=True)
class DomainCard:
    """One domain as the newest survey that holds it found it.

    ``hosts`` are (provider, region, kind, names) of addresses in a cloud or CDN; ``cdns`` the
    providers of those that are CDNs. ``mail`` operators and ``authorities``, the certificate
    authorities that CAA records permit, are ``None`` where a query for MX or CAA has no answer;
    ``exposures`` are outages, those that take down most names first.
    """

    domain: str
    survey: str
    world: str
    observed_at: datetime | None
    names: int
    hosts: tuple[tuple[str, str, str, int], ...]
    servers: int
    operators: tuple[str, ...]
    mail: tuple[str, ...] | None
    authorities: tuple[str, ...] | None
    dangling: int
    claimable: int
    exposures: tuple[Exposure, ...]
    grade: Grade

    @property
    def cdns(self) -> tuple[str, ...]:
        """CDNs that serve some of the names."""
        return tuple(sorted({provider for provider, _, kind, _ in self.hosts if kind == "cdn"}))

    def as_json(self) -> dict[str, Any]:
        """The card as the API gives it."""
        return {
            "domain": self.domain,
            "survey": self.survey,
            "world": self.world,
            "observed_at": self.observed_at,
            "names": self.names,
            "hosts": [
                dict(zip(("provider", "region", "kind", "names"), host, strict=True))
                for host in self.hosts
            ],
            "name_servers": self.servers,
            "dns_operators": list(self.operators),
            "cdns": list(self.cdns),
            "mail_operators": None if self.mail is None else list(self.mail),
            "certificate_authorities": (
                None if self.authorities is None else list(self.authorities)
            ),
            "dangling_names": self.dangling,
            "claimable_names": self.claimable,
            "outages": [
                {
                    "kind": e.kind,
                    "provider": e.provider,
                    "target": e.target,
                    "down": e.down,
                    "part": e.part,
                    "names": e.names,
                }
                for e in self.exposures
            ],
            "grade": {
                "letter": self.grade.letter,
                "points": self.grade.points,
                "decided": self.grade.decided,
                "changes_to_a": self.grade.changes,
                "rules": [result.as_json() for result in self.grade.results],
            },
        }


def read_domain(text: str) -> str:
    """The normalised domain; raises ``BadInput`` where the text is none."""
    if not text.strip():
        raise BadInput("write a domain such as shop.example", field="domain")
    try:
        return normalise_domain(text)
    except BadInput as error:
        raise BadInput(f"“{text.strip()[:80]}” {error}", field="domain") from error


def find_card(text: str, reader: Any) -> tuple[str, DomainCard | None]:
    """The normalised domain, and its card from the newest survey that the reader may see.

    ``None`` where no survey has the domain; raises ``BadInput`` where the text is no domain.
    """
    domain = read_domain(text)
    ended = Survey.objects.filter(finished_at__isnull=False, state__in=_ENDED_WELL)
    for survey in visible(ended, reader).order_by("-finished_at", "-id")[:MAX_SURVEYS]:
        if shards := _shards_with(survey, domain):
            return domain, card_of(survey, domain, shards)
    return domain, None


def _shards_with(survey: Survey, domain: str) -> list[str]:
    """The shards of a survey that hold a domain.

    A survey of one domain is read before its index is there: its card is shown when it ends.
    """
    index = survey_index.index_of(survey)
    if index is not None:
        row = index.domain(domain)
        return [row["shard"]] if row else []
    is_only = only_domain(survey.slug, survey.n_domains) == domain
    return selectors.finished_shards(survey.slug) if is_only else []


def card_of(survey: Survey, domain: str, shards: list[str]) -> DomainCard | None:
    """The card of a domain of a survey; ``shards`` are those that hold it. Raises ``Damaged``."""
    root = Path(settings.LAKE_DIR)
    tables = [folder for folder in (root / survey.slug).iterdir() if folder.is_dir()]
    changed_at = max((folder.stat().st_mtime_ns for folder in tables), default=0)
    found = _facts_of(root, survey.slug, tuple(shards), changed_at).get(domain)
    return None if found is None else _card(survey, found)


@lru_cache(maxsize=4)
def _facts_of(
    root: Path, slug: str, shards: tuple[str, ...], changed_at: int
) -> Mapping[str, DomainFacts]:
    """Facts of all domains of some shards, until a part of the survey is written.

    A card and its badge are requested again and again; reading a shard takes most of a second.
    """
    facts = read_facts(root, slug, shards)
    add_exposures(facts, root, shards)
    return facts.by_domain


def _card(survey: Survey, facts: DomainFacts) -> DomainCard:
    context = Context(
        now=SystemClock().now(),
        countries=region_countries(),
        asked_ipv6=Resolving.from_json(survey.options).aaaa,
    )
    mail, permits = (_answered(facts, kind) for kind in ("MX", "CAA"))
    exposures = sorted(facts.exposures, key=lambda e: (-e.down, -e.part, e.kind, e.target))
    return DomainCard(
        domain=facts.domain,
        survey=survey.slug,
        world=survey.world,
        observed_at=facts.observed_at or survey.finished_at,
        names=facts.found,
        hosts=tuple(
            (d.provider or "", d.region or "", d.kind, d.names)
            for d in facts.deployments
            if d.kind in ("cloud", "cdn")
        ),
        servers=len({s.server for s in facts.servers}),
        operators=tuple(sorted({operator_of(s.server) for s in facts.servers})),
        mail=None if mail is None else _mail_operators(mail),
        authorities=None if permits is None else _authorities(permits),
        dangling=len({d.name for d in facts.dangling}),
        claimable=len({d.name for d in facts.dangling if d.claimable}),
        exposures=tuple(e for e in exposures if e.down or e.part)[:MAX_EXPOSURES],
        grade=grade(evaluate_domain(facts, card_policy(), context)),
    )


def _answered(facts: DomainFacts, kind: str) -> tuple[str, ...] | None:
    """Records of a type; ``None`` where it was not asked, or the question failed."""
    answer = facts.records.get(kind)
    return answer.values if answer is not None and answer.status in ANSWERED else None


def _authorities(values: Iterable[str]) -> tuple[str, ...]:
    """Authorities that may issue certificates, of CAA records such as ``0 issue "ca.example"``.

    ``issue`` and ``issuewild`` name an authority, with parameters after a semicolon (RFC 8659,
    section 4.2); an empty name permits none.
    """
    fields = (value.split(" ", 2) for value in values)
    issuers = (f[2].strip('"') for f in fields if len(f) == 3 and f[1].lower() in _ISSUE_TAGS)
    return tuple(sorted({name for i in issuers if (name := i.partition(";")[0].strip().lower())}))


def _mail_operators(values: Iterable[str]) -> tuple[str, ...]:
    """Registered domains of the mail exchangers, of ``10 mx.example.`` each."""
    hosts = {value.split()[-1].rstrip(".") for value in values if value.split()}
    return tuple(sorted({operator_of(host) for host in hosts if host}))
