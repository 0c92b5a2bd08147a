"""Domains and names with their evidence: by the survey's index where it is, else its parts."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from django.conf import settings

from analysis.deployment import dangling
from analysis.index import profiles
from analysis.index.profiles import ANYWHERE
from analysis.index.profiles import Hosted as Hosted
from webapp.store.access import survey_versions
from webapp.store.surveys import index as survey_index
from webapp.store.surveys.selectors import finished_shards

Row = dict[str, Any]
# Labels of names with a missing target, and the one of those that anyone can claim.
LOST_LABELS, CLAIMABLE = dangling.LABELS, dangling.CLAIMABLE
_LISTED = ("rank", "domain", "found", "transfer", "wildcard", "providers", "cloud")
_KEYED = {"pattern": "patterns", "region": "regions", "zone": "zones"}
# What the index adds to the row of a domain in the lake, for itself.
_OWN = ("shard", "part", "first", "total", "cloud", *survey_index.SETS)


def domains(slug: str, query: str = "", page: int = 1, hosted: Hosted = ANYWHERE) -> Row:
    """A page of the survey's domains with a name hosted there: ``{rows, total, page, pages}``."""
    index = _index_of(slug)
    if index is None:
        shards = finished_shards(slug)
        return profiles.domain_list(settings.LAKE_DIR, slug, query, page, hosted, shards)
    size = profiles.DOMAINS_PER_PAGE
    places = index.chosen(query.strip().lower(), hosted)
    found = page_place(len(places), page, size)
    first = (found["page"] - 1) * size
    if isinstance(places, range):
        rows = index.domains.rows(first, size, _LISTED)
    else:
        chosen = places[first : first + size]
        rows = [index.domains.rows(place, 1, _LISTED)[0] for place in chosen]
    return {**found, "rows": rows}


def hosted_in(provider: str, region: str = "", zone: str = "") -> Hosted:
    """The place of a filter: a region counts with its provider only, a zone with its region."""
    region = region if provider else ""
    return Hosted(provider, region, zone if region else "")


def domain_columns(
    slug: str, query: str, hosted: Hosted
) -> tuple[list[str], list[tuple[Any, ...]]] | None:
    """(columns, rows) of all domains with a name hosted there; ``None`` without an index."""
    index = _index_of(slug)
    if index is None:
        return None
    found = index.rows(index.chosen(query.strip().lower(), hosted), _LISTED)
    listed = found.set_column(
        _LISTED.index("providers"),
        "providers",
        pc.binary_join(found["providers"].combine_chunks().cast(pa.list_(pa.string())), " "),
    )
    return listed.column_names, list(zip(*listed.to_pydict().values(), strict=True))


def providers(slug: str) -> list[str]:
    """Providers that the list of domains can be filtered by; none before the index is there."""
    index = _index_of(slug)
    return index.providers() if index else []


def page_place(total: int, page: int, size: int) -> Row:
    """A page that is there: beyond the end, the last."""
    pages = max(1, -(-total // size))
    return {"total": total, "page": min(max(1, page), pages), "pages": pages}


def domain(slug: str, name: str, page: int = 1) -> Row | None:
    """Return the profile of one domain, or ``None`` if it is not in the survey."""
    index = _index_of(slug)
    if index is None:
        shards = finished_shards(slug)
        return profiles.domain_page(settings.LAKE_DIR, slug, name, page, shards=shards)
    row = index.domain(name.strip().lower())
    if row is None:
        return None
    found = page_place(row["total"], page, profiles.NAMES_PER_PAGE)
    first = (found["page"] - 1) * profiles.NAMES_PER_PAGE
    names = [_name(n) for n in index.names(row, first, profiles.NAMES_PER_PAGE)]
    return {k: v for k, v in row.items() if k not in _OWN} | {"names": {**found, "rows": names}}


def _name(row: Row) -> Row:
    """Return a name as the profile lists it."""
    inside = profiles.class_of(row["providers"], row["elsewhere"] > 0)
    return {
        **{k: row[k] for k in ("name", "technique", "providers", "addresses", "elsewhere")},
        "regions": sorted({survey_index.plain(key) for key in row["regions"]}),
        "labels": sorted({survey_index.plain(key) for key in row["patterns"]}),
        "zones": sorted({survey_index.plain(key) for key in row["zones"]}),
        "class": inside,
        "keys": profiles.keyed({kind: row[members] for kind, members in _KEYED.items()}),
    }


def name(slug: str, host: str) -> Row | None:
    """All evidence on one name."""
    index = _index_of(slug)
    wanted = host.strip().lower()
    if index is None:
        return profiles.name_page(settings.LAKE_DIR, slug, wanted, shards=finished_shards(slug))
    homes = index.homes_of(wanted)
    if not homes:
        return None
    shards = sorted(set(homes.values()))
    return profiles.name_page(settings.LAKE_DIR, slug, wanted, shards, list(homes))


def takeovers(slug: str, domain: str) -> list[Row]:
    """Names of a domain that anyone could answer as, each with the name that is free."""
    index, wanted = _index_of(slug), domain.strip().lower()
    row = index.domain(wanted) if index else None
    shards = [row["shard"]] if row else finished_shards(slug)
    return profiles.takeovers(settings.LAKE_DIR, slug, wanted, shards=shards)


def search(slug: str, text: str, limit: int = 20) -> list[Row]:
    """Names of a survey that hold ``text``, the closest first."""
    index, wanted = _index_of(slug), text.strip().lower()
    names = index.names_holding(wanted, limit) if index and wanted else None
    if names is not None:
        return [{"name": found} for found in names]
    return profiles.search_names(settings.LAKE_DIR, slug, text, limit, shards=finished_shards(slug))


def _index_of(slug: str) -> survey_index.Index | None:
    return survey_index.open_index(slug, survey_versions.end_of(slug))
