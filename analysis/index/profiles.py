"""One domain or name at a time: what is known of it, with the evidence."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from analysis.deployment.cloud_names import (
    EXISTS,
    IN_CLOUD,
    IN_DOMAIN,
    IN_REGION,
    IS_NAME,
    SITED,
    Connection,
    Shards,
)
from analysis.deployment.dangling import CLAIMABLE
from analysis.index import name_rows
from core.providers import PROVIDERS
from lake.parts import open_few, open_views, read_few

NAMES_PER_PAGE = 100
DOMAINS_PER_PAGE = 50
# A hostile zone can name any number of servers; a page shows so many rows of them.
MAX_SERVER_ROWS = 500

_DOMAIN_NAMES = f"""
WITH n AS (SELECT name, min(technique) AS technique FROM lookups
           WHERE domain = $domain AND {EXISTS} GROUP BY name),
p AS (SELECT name, list_sort(list(DISTINCT provider) FILTER ({IN_CLOUD})) AS providers,
             list_sort(list(DISTINCT region) FILTER ({IN_REGION})) AS regions,
             list_sort(list(DISTINCT provider || ' ' || region) FILTER ({IN_REGION})) AS places,
             count(*) AS addresses, count(*) FILTER (NOT {IN_CLOUD}) AS elsewhere
      FROM {SITED} WHERE domain = $domain GROUP BY name),
f AS (SELECT name, list_sort(list(DISTINCT label)) AS labels,
             list_sort(list(DISTINCT provider || ' ' || label)) AS patterns FROM fronts
      WHERE domain = $domain GROUP BY name)
SELECT n.name, technique, coalesce(providers, []) AS providers, coalesce(regions, []) AS regions,
       coalesce(labels, []) AS labels, coalesce(places, []) AS places,
       coalesce(patterns, []) AS patterns, coalesce(addresses, 0) AS addresses,
       coalesce(elsewhere, 0) AS elsewhere, count(*) OVER () AS total
FROM n LEFT JOIN p USING (name) LEFT JOIN f USING (name)
ORDER BY len(coalesce(providers, [])) = 0, name LIMIT $limit OFFSET $offset
"""
_DOMAIN_LIST = f"""
WITH hosted AS (SELECT domain FROM {SITED} WHERE provider = $provider AND {IN_CLOUD}
                AND ($region = '' OR (region = $region AND {IN_REGION}))
                AND ($zone = '' OR address IN (SELECT address FROM zones
                                               WHERE region = $region AND zone = $zone))),
listed AS (SELECT *, count(*) OVER () AS total FROM domains WHERE contains(domain, $text)
             AND ($provider = '' OR domain IN (FROM hosted))
           ORDER BY rank, domain LIMIT $limit OFFSET $offset),
used AS (
  SELECT domain, list_sort(list(DISTINCT provider)) AS providers, count(DISTINCT name) AS cloud
  FROM placements SEMI JOIN listed USING (domain) WHERE {IN_CLOUD} AND {IN_DOMAIN}
  GROUP BY domain)
SELECT rank, domain, found, transfer, wildcard, coalesce(providers, []) AS providers,
       coalesce(cloud, 0) AS cloud, total
FROM listed LEFT JOIN used USING (domain) ORDER BY rank, domain
"""
_SERVERS = f"""
SELECT * FROM servers WHERE domain = $domain ORDER BY server, address LIMIT {MAX_SERVER_ROWS}
"""
_DEPENDS = f"""
SELECT provider, region, count(DISTINCT name) AS names,
  count(DISTINCT name) FILTER (is_only) AS only_here
FROM (SELECT DISTINCT provider, region, name,
        count(DISTINCT (provider, region)) OVER (PARTITION BY name) = 1 AS is_only
      FROM {SITED} WHERE domain = $domain AND {IN_REGION})
GROUP BY ALL ORDER BY names DESC, provider, region
"""
_LABELS = """
SELECT provider, label, count(DISTINCT name) AS names, count(DISTINCT instance) AS instances,
  min(name) AS example
FROM fronts WHERE domain = $domain GROUP BY ALL ORDER BY names DESC, provider, label
"""
_SEARCH = f"""
SELECT name, arg_max(domain, length(domain)) AS domain FROM lookups
WHERE {EXISTS} AND contains(name, $text)
GROUP BY name ORDER BY name = $text DESC, length(name), name LIMIT $limit
"""
# A name may lie in two listed domains; the closest one is its own. Times travel as microseconds,
# since DuckDB hands out zoned ones through pytz only.
_LOOKUPS = f"""
SELECT * REPLACE (epoch_us("at") AS "at") FROM lookups WHERE name = $name AND {IS_NAME}
ORDER BY length(domain) DESC, type, "at"
"""
# Names of a domain with a claimable target, each with that target.
_TAKEOVERS = f"""
SELECT name, provider, instance AS missing, min(rule) AS rule FROM fronts
WHERE domain = $domain AND label = '{CLAIMABLE}' GROUP BY ALL ORDER BY name, missing LIMIT $limit
"""
# One row per address and label, however many listed domains hold the name.
_PLACEMENTS = f"""
SELECT DISTINCT ON (address) * FROM {SITED} WHERE name = $name AND {IN_DOMAIN}
ORDER BY address, length(domain) DESC
"""
_FRONTS = f"""
SELECT DISTINCT ON (provider, label, instance) * FROM fronts WHERE name = $name AND {IN_DOMAIN}
ORDER BY provider, label, instance, length(domain) DESC
"""


def _rows(connection: Connection, query: str, values: dict[str, Any]) -> list[dict[str, Any]]:
    result = connection.execute(query, values)
    columns = [c[0] for c in result.description]
    return [dict(zip(columns, row, strict=True)) for row in result.fetchall()]


def class_of(providers: Iterable[str], elsewhere: bool) -> str:
    """The provider class of a name, as in IMC'13 Table 5; empty outside the clouds."""
    ordered = sorted(set(providers), key=PROVIDERS.index)
    if len(ordered) == 1:
        return f"{ordered[0]} + other" if elsewhere else f"{ordered[0]} only"
    return " + ".join(ordered)


def keyed(sets: Mapping[str, Iterable[str]]) -> list[tuple[str, str, str]]:
    """(kind, provider, value) of every label: the key of its evidence."""
    pairs = ((kind, key.partition(" ")) for kind, keys in sets.items() for key in keys)
    return [(kind, provider, value) for kind, (provider, _, value) in pairs]


class Hosted(NamedTuple):
    """Where a domain has a name: a provider, one of its regions, a zone there. Empty: anywhere."""

    provider: str = ""
    region: str = ""
    zone: str = ""


ANYWHERE = Hosted()


def domain_list(
    root: Path,
    survey: str,
    text: str = "",
    page: int = 1,
    hosted: Hosted = ANYWHERE,
    shards: Shards = None,
) -> dict[str, Any]:
    """A page of the survey's domains in rank order: ``{rows, total, page, pages}``."""
    key = {"text": text.strip().lower(), **hosted._asdict()}
    with open_views(root, survey, shards) as connection:
        return _page(connection, _DOMAIN_LIST, key, page, DOMAINS_PER_PAGE)


def _page(
    connection: Connection, query: str, key: dict[str, Any], page: int, size: int
) -> dict[str, Any]:
    """Return one page of a query with a column ``total``; beyond the end, the last page."""
    page = max(1, page)
    rows = _rows(connection, query, {**key, "limit": size, "offset": (page - 1) * size})
    if not rows and page > 1:
        first = _page(connection, query, key, 1, size)
        last = int(first["pages"])
        return first if last == 1 else _page(connection, query, key, last, size)
    total = rows[0]["total"] if rows else 0
    return {"rows": rows, "total": total, "page": page, "pages": max(1, -(-total // size))}


def domain_page(
    root: Path, survey: str, domain: str, page: int = 1, shards: Shards = None
) -> dict[str, Any] | None:
    """Return the profile of one domain; ``None`` if the survey did not query it.

    The row of ``domains`` with ``names`` (a page of them, cloud-using first, each with class,
    labels and regions), ``servers``, ``depends`` (regions) and ``labels``.
    """
    key = {"domain": domain.strip().lower()}
    with open_views(root, survey, shards) as connection:
        found = _rows(connection, "SELECT * FROM domains WHERE domain = $domain", key)
        if not found:
            return None
        names = _page(connection, _DOMAIN_NAMES, key, page, NAMES_PER_PAGE)
        for name in names["rows"]:
            name["class"] = class_of(name["providers"], name["elsewhere"] > 0)
            sets = {"pattern": name.pop("patterns"), "region": name.pop("places")}
            name["keys"] = keyed(sets)
        return {
            **found[0],
            "names": names,
            "servers": _rows(connection, _SERVERS, key),
            "depends": _rows(connection, _DEPENDS, key),
            "labels": _rows(connection, _LABELS, key),
        }


def parents_of(name: str) -> list[str]:
    """A name and all domains that it lies in."""
    labels = name.split(".")
    return [".".join(labels[i:]) for i in range(len(labels))]


def name_page(
    root: Path,
    survey: str,
    name: str,
    shards: Shards = None,
    domains: Sequence[str] | None = None,
) -> dict[str, Any] | None:
    """Every answer, placement and label of one name, with rule, prefix, table, server and time.

    ``domains`` are the survey's domains that the name lies in, where they are known.
    """
    key = {"name": name.strip().lower()}
    keys = {"domain": domains or parents_of(key["name"]), "name": [key["name"]]}
    tables = ("lookups", "placements", "fronts")
    found = read_few(root, survey, tables, shards, keys)
    if found is not None:
        lookups, placements, fronts = name_rows.select(*found)
    else:
        with open_few(root, survey, tables, shards, keys) as connection:
            lookups = [_with_time(row) for row in _rows(connection, _LOOKUPS, key)]
            placements = _rows(connection, _PLACEMENTS, key)
            fronts = _rows(connection, _FRONTS, key)
    if not lookups:
        return None
    inside = [p["provider"] for p in placements if p["kind"] in ("cloud", "cdn")]
    return {
        "name": key["name"],
        "domain": lookups[0]["domain"],
        "technique": lookups[0]["technique"],
        "class": class_of(inside, len(inside) < len(placements)),
        "lookups": lookups,
        "placements": placements,
        "fronts": fronts,
    }


def takeovers(
    root: Path, survey: str, domain: str, shards: Shards = None, limit: int = 100
) -> list[dict[str, Any]]:
    """Names of a domain that anyone could answer as: ``{name, provider, missing, rule}``."""
    wanted = domain.strip().lower()
    with open_few(root, survey, ("fronts",), shards, {"domain": [wanted]}) as connection:
        return _rows(connection, _TAKEOVERS, {"domain": wanted, "limit": limit})


def _with_time(row: dict[str, Any]) -> dict[str, Any]:
    at = row["at"]
    return {**row, "at": None if at is None else datetime.fromtimestamp(at / 1e6, UTC)}


def search_names(
    root: Path, survey: str, text: str, limit: int = 20, shards: Shards = None
) -> list[dict[str, Any]]:
    """Names that hold ``text``, the closest first."""
    if not text.strip():
        return []
    values = {"text": text.strip().lower(), "limit": max(1, limit)}
    with open_views(root, survey, shards) as connection:
        return _rows(connection, _SEARCH, values)
