"""CAA, DS and MX of each listed domain: asked by audits, and by surveys of one domain.

Answers, failures and denials become the lake table ``audit_lookups`` of the survey.
"""

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from publicsuffixlist import PublicSuffixList

from core.errors import NephoscopeError
from core.records import Answer
from core.statuses import DnsStatus
from crawlers.engine.engine import Question
from crawlers.engine.policy import DomainSet
from lake.parts import part_path, parts_of, write_part
from tasks.resolution.engine_factory import Resolving, open_engine, opted_out
from tasks.resolution.shared_rate_limit import pace_for
from webapp.store.access import domain_claims
from webapp.store.access.sharing import may_change
from webapp.store.models import Survey
from webapp.store.surveys.uploads import list_path, load_entries

TABLE = "audit_lookups"
_PART = "audit"
_TYPES = ("DS", "MX")

log = logging.getLogger(__name__)


def were_asked(survey: Survey) -> bool:
    """Whether the questions were queried already."""
    return bool(parts_of(Path(settings.LAKE_DIR), survey.slug, TABLE))


def may_be_asked(survey: Survey, user: Any) -> bool:
    """Whether an audit of an account adds records to a survey.

    It does so once, to its own survey or one without an owner. A survey that was rebuilt from a
    package has no list of domains to ask about.
    """
    return may_change(user, survey) and list_path(survey.slug).is_file() and not were_asked(survey)


def ask_records(
    survey: Survey, options: Resolving | None = None, *, in_worker: bool = False
) -> int:
    """Ask for every domain of a survey and store the answers; return the number of questions.

    Asks the servers that the survey asked unless ``options`` name others. Domains that opted out
    are not queried. Raises ``Unavailable`` where no server or no disk space is left.
    """
    options = options or Resolving.from_json(survey.options)
    questions = list(_questions(domains_of(survey)))
    answers: list[Answer | None] = [None] * len(questions)
    with open_engine(options, pace_for(options, in_worker=in_worker)) as engine:
        asked = (Question(name, kind, tag) for tag, (_, name, kind) in enumerate(questions))
        for question, answer in engine.resolve(asked):
            answers[question.tag] = answer
    rows = [
        _row(domain, answer)
        for (domain, _, _), answer in zip(questions, answers, strict=True)
        if answer is not None
    ]
    write_part(part_path(Path(settings.LAKE_DIR), survey.slug, TABLE, _PART), TABLE, rows)
    return len(rows)


def ask_for_card(survey: Survey) -> None:
    """Ask the records of a survey of one domain, so that its card can show and grade them.

    A failure leaves them unknown, which the card states; the survey does not wait for them. Those
    that vantage points asked are not asked from here.
    """
    if survey.n_domains != 1 or survey.options.get("vantages") or were_asked(survey):
        return
    try:
        ask_records(survey, in_worker=True)
    except NephoscopeError as error:
        log.warning("survey %s: CAA, DS and MX were not asked: %s", survey.slug, error)


def domains_of(survey: Survey) -> list[str]:
    """The listed domains that may be queried."""
    excluded = DomainSet(opted_out() | domain_claims.opt_outs().domains)
    entries = load_entries(survey.slug, 0, survey.n_domains)
    return [entry.domain for entry in entries if not excluded.covers(entry.domain)]


def count_questions(domains: Iterable[str]) -> int:
    """The number of questions about these domains."""
    return sum(1 for _ in _questions(domains))


def _questions(domains: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """(domain, name, type) of every question."""
    suffixes = PublicSuffixList(only_icann=True)
    for domain in domains:
        for kind in _TYPES:
            yield domain, domain, kind
        for name in _caa_names(domain, suffixes.privatesuffix(domain) or domain):
            yield domain, name, "CAA"


def _caa_names(domain: str, registered: str) -> Iterator[str]:
    """The domain and those above it up to the registered one, where CAA is looked for.

    RFC 8659 section 3 climbs to the root; public suffixes publish no CAA records, and a server of
    the domain refuses questions about them.
    """
    name = domain
    yield name
    while name != registered and name.endswith("." + registered):
        name = name.partition(".")[2]
        yield name


def _row(domain: str, answer: Answer) -> dict[str, Any]:
    return {
        "domain": domain,
        "name": answer.name,
        "type": answer.type,
        "status": str(DnsStatus(answer.status)),
        "answers": [record._asdict() for record in answer.answers],
        "resolver": answer.resolver,
        "protocol": answer.protocol,
        "attempts": answer.attempts,
        "rtt_ms": answer.rtt_ms,
        "at": int(answer.at * 1e6),
    }
