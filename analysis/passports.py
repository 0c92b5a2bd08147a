"""One domain or name at a time: what is known of it, with the evidence."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from analysis.base import IS_NAME, Connection
from lake.parts import open_views

NAMES_PER_PAGE = 100
DOMAINS_PER_PAGE = 50
Shards = Iterable[str] | None

_DOMAIN_NAMES = f"""
WITH n AS (SELECT name, min(technique) AS technique FROM lookups
           WHERE domain = $domain AND {IS_NAME} AND len(answers) > 0 GROUP BY name),
p AS (SELECT name,
             list_sort(list(DISTINCT provider) FILTER (kind IN ('cloud', 'cdn'))) AS providers,
             list_sort(list(DISTINCT region)
                       FILTER (kind = 'cloud' AND region IS NOT NULL)) AS regions,
             count(*) AS addresses, count(*) FILTER (kind NOT IN ('cloud', 'cdn')) AS elsewhere
      FROM placements WHERE domain = $domain GROUP BY name),
f AS (SELECT name, list_sort(list(DISTINCT label)) AS labels FROM fronts
      WHERE domain = $domain GROUP BY name)
SELECT n.name, technique, coalesce(providers, []) AS providers, coalesce(regions, []) AS regions,
       coalesce(labels, []) AS labels, coalesce(addresses, 0) AS addresses,
       coalesce(elsewhere, 0) AS elsewhere, count(*) OVER () AS total
FROM n LEFT JOIN p USING (name) LEFT JOIN f USING (name)
ORDER BY len(coalesce(providers, [])) = 0, name LIMIT $limit OFFSET $offset
"""
_DOMAIN_LIST = """
WITH used AS (
  SELECT domain, list_sort(list(DISTINCT provider)) AS providers, count(DISTINCT name) AS cloud
  FROM placements WHERE kind IN ('cloud', 'cdn') GROUP BY domain)
SELECT rank, d.domain, found, transfer, wildcard, coalesce(providers, []) AS providers,
       coalesce(cloud, 0) AS cloud, count(*) OVER () AS total
FROM domains d LEFT JOIN used USING (domain) WHERE contains(d.domain, $text)
ORDER BY rank, d.domain LIMIT $limit OFFSET $offset
"""
_DEPENDS = """
SELECT provider, region, count(DISTINCT name) AS names,
  count(DISTINCT name) FILTER (alone) AS only_here
FROM (SELECT DISTINCT provider, region, name,
        count(DISTINCT (provider, region)) OVER (PARTITION BY name) = 1 AS alone
      FROM placements WHERE domain = $domain AND kind = 'cloud' AND region IS NOT NULL)
GROUP BY ALL ORDER BY names DESC, provider, region
"""
_SEARCH = f"""
SELECT DISTINCT name, domain FROM lookups
WHERE {IS_NAME} AND len(answers) > 0 AND contains(name, $text)
ORDER BY name = $text DESC, length(name), name LIMIT $limit
"""


def _rows(connection: Connection, query: str, values: dict[str, Any]) -> list[dict[str, Any]]:
    result = connection.execute(query, values)
    columns = [c[0] for c in result.description]
    return [dict(zip(columns, row, strict=True)) for row in result.fetchall()]


def domain_list(
    root: Path, campaign: str, text: str = "", page: int = 1, shards: Shards = None
) -> dict[str, Any]:
    """A page of the survey's domains in rank order: ``{rows, total, page, pages}``."""
    values = {
        "text": text.strip().lower(),
        "limit": DOMAINS_PER_PAGE,
        "offset": (page - 1) * DOMAINS_PER_PAGE,
    }
    with open_views(root, campaign, shards) as connection:
        rows = _rows(connection, _DOMAIN_LIST, values)
    return _page(rows, page, DOMAINS_PER_PAGE)


def _page(rows: list[dict[str, Any]], page: int, size: int) -> dict[str, Any]:
    total = rows[0]["total"] if rows else 0
    return {"rows": rows, "total": total, "page": page, "pages": max(1, -(-total // size))}


def domain_page(
    root: Path, campaign: str, domain: str, page: int = 1, shards: Shards = None
) -> dict[str, Any] | None:
    """The passport of one domain; ``None`` where the survey did not ask it."""
    key = {"domain": domain.lower()}
    paging = {"limit": NAMES_PER_PAGE, "offset": (page - 1) * NAMES_PER_PAGE}
    with open_views(root, campaign, shards) as connection:
        found = _rows(connection, "SELECT * FROM domains WHERE domain = $domain", key)
        if not found:
            return None
        return {
            **found[0],
            "names": _page(_rows(connection, _DOMAIN_NAMES, key | paging), page, NAMES_PER_PAGE),
            "servers": _rows(
                connection,
                "SELECT * FROM servers WHERE domain = $domain ORDER BY server, address",
                key,
            ),
            "depends": _rows(connection, _DEPENDS, key),
            "labels": _rows(
                connection,
                "SELECT provider, label, count(DISTINCT name) AS names, "
                "count(DISTINCT instance) AS instances, any_value(name) AS example "
                "FROM fronts WHERE domain = $domain GROUP BY ALL ORDER BY names DESC, label",
                key,
            ),
        }


def name_page(root: Path, campaign: str, name: str, shards: Shards = None) -> dict[str, Any] | None:
    """Every answer, placement and label of one name, with rule, prefix, table, server and time."""
    key = {"name": name.lower()}
    with open_views(root, campaign, shards) as connection:
        lookups = _rows(connection, f"SELECT * FROM lookups WHERE name = $name AND {IS_NAME}", key)
        if not lookups:
            return None
        return {
            "name": key["name"],
            "domain": lookups[0]["domain"],
            "technique": lookups[0]["technique"],
            "lookups": lookups,
            "placements": _rows(
                connection, "SELECT * FROM placements WHERE name = $name ORDER BY address", key
            ),
            "fronts": _rows(
                connection, "SELECT * FROM fronts WHERE name = $name ORDER BY label, instance", key
            ),
        }


def search_names(
    root: Path, campaign: str, text: str, limit: int = 20, shards: Shards = None
) -> list[dict[str, Any]]:
    """Names that hold ``text``, the closest first."""
    if not text.strip():
        return []
    values = {"text": text.strip().lower(), "limit": limit}
    with open_views(root, campaign, shards) as connection:
        return _rows(connection, _SEARCH, values)
