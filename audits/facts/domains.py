"""Read the facts of every domain of a survey from its lake tables, one query per kind of fact."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from analysis.deployment.cloud_names import EXISTS, IN_DOMAIN, SITED, Connection
from analysis.deployment.dangling import CLAIMABLE, LABELS
from audits.facts.records import (
    ANSWERED,
    DanglingName,
    Deployment,
    DomainFacts,
    ProviderSet,
    RecordAnswer,
    Server,
    ZoneUse,
)
from lake.parts import open_views

_DOMAINS = """
SELECT domain, min(rank), any_value(transfer), bool_or(wildcard), max(asked), max(found),
  max(coalesce(list_sum(list_transform(failed, lambda f: f.count)), 0))
FROM domains GROUP BY domain ORDER BY min(rank), domain
"""
_LOOKUPS = f"""
SELECT domain, epoch_us(max("at")), count(DISTINCT name) FILTER (len(ipv6) > 0),
  min(name) FILTER (len(ipv6) > 0)
FROM lookups WHERE {EXISTS} OR status <> 'NXDOMAIN' GROUP BY domain
"""
_DEPLOYMENTS = """
SELECT domain, provider, region, kind, count(DISTINCT name), count(DISTINCT address), min(as_of),
  min({'name': name, 'address': address, 'prefix': coalesce(prefix, '')})
FROM placed_names GROUP BY domain, provider, region, kind
ORDER BY domain, count(DISTINCT name) DESC, provider NULLS LAST, region NULLS LAST, kind
"""
_PROVIDER_SETS = """
SELECT domain, providers, kinds, count(*), min(name) FROM (
  SELECT domain, name,
    list_sort(list(DISTINCT CASE WHEN kind IN ('cloud', 'cdn') THEN provider ELSE 'other' END))
      AS providers,
    list_sort(list(DISTINCT kind)) AS kinds
  FROM placed_names GROUP BY domain, name)
GROUP BY domain, providers, kinds ORDER BY domain, count(*) DESC, providers, kinds
"""
# A zone counts only in the region in which the address is placed, and where all labels of the
# address agree.
_ZONES = """
WITH labels AS (
  SELECT address, min(region) AS region, min(zone) AS zone,
    min(coalesce(confidence, 0)) AS confidence
  FROM zones WHERE zone <> '' GROUP BY address
  HAVING min(region) = max(region) AND min(zone) = max(zone))
SELECT domain, provider, p.region, CASE WHEN l.region = p.region THEN zone ELSE '' END AS known,
  count(DISTINCT p.address), coalesce(min(confidence) FILTER (l.region = p.region), 0),
  min(name), arg_min(p.address, name)
FROM placed_names p LEFT JOIN labels l ON l.address = p.address
WHERE p.kind = 'cloud' AND p.region IS NOT NULL
GROUP BY domain, provider, p.region, known ORDER BY domain, provider, p.region, known
"""
_SERVERS = """
SELECT DISTINCT domain, server, status, coalesce(address, ''), provider, coalesce(kind, ''),
  coalesce(prefix, ''), as_of
FROM servers ORDER BY ALL
"""
_DANGLING = f"""
SELECT DISTINCT domain, name, provider, rule, instance, label = '{CLAIMABLE}'
FROM fronts WHERE label IN {LABELS} AND {IN_DOMAIN} ORDER BY ALL
"""
_CUSTOMERS = "SELECT domain, country, sum(weight) FROM customers GROUP BY ALL ORDER BY ALL"
_RECORDS = """
SELECT domain, type, name, status,
  list_transform(list_filter(answers, lambda a: a.type = audit_lookups.type), lambda a: a.data),
  epoch_us("at")
FROM audit_lookups ORDER BY domain, type, length(name) DESC
"""


_BATCH_ROWS = 10_000


@dataclass(slots=True)
class SurveyFacts:
    """The facts of all domains of a survey, by rank."""

    survey: str
    domains: list[DomainFacts]

    @property
    def by_domain(self) -> dict[str, DomainFacts]:
        """The facts of each domain by its name."""
        return {facts.domain: facts for facts in self.domains}


def read_facts(
    root: Path, survey: str, shards: Iterable[str] | None = None, memory_mb: int = 1024
) -> SurveyFacts:
    """Read the facts of every domain of ``survey``, by rank; raises ``Damaged``.

    ``shards`` limits what is read to the manifest of the survey. ``audits.facts.exposures`` adds
    what outages do.
    """
    with open_views(root, survey, shards, memory_mb) as connection:
        connection.execute(
            "CREATE TEMP TABLE placed_names AS SELECT domain, name, address, provider, region, "
            f"kind, prefix, as_of FROM {SITED} WHERE {IN_DOMAIN}"
        )
        found = {
            domain: DomainFacts(
                domain, int(rank or 0), transfer, bool(wildcard), asked, n_found, int(failed)
            )
            for domain, rank, transfer, wildcard, asked, n_found, failed in _fetch(
                connection, _DOMAINS
            )
        }
        for query, add in _PARTS:
            for domain, *values in _fetch(connection, query):
                if (facts := found.get(domain)) is not None:
                    add(facts, values)
    return SurveyFacts(survey, list(found.values()))


def _fetch(connection: Connection, query: str) -> Iterator[tuple[Any, ...]]:
    cursor = connection.execute(query)
    while batch := cursor.fetchmany(_BATCH_ROWS):
        yield from batch


def _add_lookups(facts: DomainFacts, values: list[Any]) -> None:
    at, facts.ipv6_names, name = values
    facts.observed_at, facts.ipv6_name = _time(at), name or ""


def _add_deployment(facts: DomainFacts, values: list[Any]) -> None:
    *counted, example = values
    facts.deployments.append(Deployment(*counted, **example))


def _add_provider_set(facts: DomainFacts, values: list[Any]) -> None:
    providers, kinds, names, name = values
    facts.provider_sets.append(ProviderSet(frozenset(providers), frozenset(kinds), names, name))


def _add_customers(facts: DomainFacts, values: list[Any]) -> None:
    facts.customers[values[0]] = values[1]


def _add_record(facts: DomainFacts, values: list[Any]) -> None:
    kind, name, status, data, at = values
    closer = facts.records.get(kind)
    # CAA: the closest name with records counts (RFC 8659), and a failed question hides it.
    if closer is None or not (closer.values or closer.status not in ANSWERED):
        facts.records[kind] = RecordAnswer(kind, name, status, tuple(data), _time(at))


_PARTS: tuple[tuple[str, Callable[[DomainFacts, list[Any]], None]], ...] = (
    (_LOOKUPS, _add_lookups),
    (_DEPLOYMENTS, _add_deployment),
    (_PROVIDER_SETS, _add_provider_set),
    (_ZONES, lambda facts, values: facts.zones.append(ZoneUse(*values))),
    (_SERVERS, lambda facts, values: facts.servers.append(Server(*values))),
    (_DANGLING, lambda facts, values: facts.dangling.append(DanglingName(*values))),
    (_CUSTOMERS, _add_customers),
    (_RECORDS, _add_record),
)


def _time(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else datetime.fromtimestamp(microseconds / 1e6, UTC)
