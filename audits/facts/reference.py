"""Dated reference lists of audits: legal entities of providers, and residency sets of countries."""

import fnmatch
import tomllib
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any

from core.errors import BadInput
from core.paths import FIXTURES

_FOLDER = FIXTURES / "audits"


@dataclass(frozen=True, slots=True)
class Entity:
    """The legal entity behind a provider, or behind one of its partitions.

    ``parent`` is the ultimate parent, ``country`` the ISO 3166-1 code of the parent's seat; ``lei``
    is the parent's Legal Entity Identifier (ISO 17442), empty where it is not listed.
    """

    name: str
    parent: str
    country: str
    lei: str
    source: str
    as_of: date


@dataclass(frozen=True, slots=True)
class Membership:
    """One country of a residency set, with the decision that puts it there."""

    country: str
    decision: str
    source: str
    # Empty for the whole country; otherwise what the decision is limited to.
    scope: str = ""
    valid_to: date | None = None


@dataclass(frozen=True, slots=True)
class ResidencySet:
    """A named set of countries; ``as_of`` is the date of the list."""

    id: str
    title: str
    as_of: date
    members: dict[str, Membership]


@lru_cache(maxsize=1)
def entities() -> dict[str, list[tuple[str, Entity]]]:
    """Legal entities by provider, as (pattern of region codes, entity), the default last."""
    document = _document("entities.toml")
    as_of = document["as_of"]
    found: dict[str, list[tuple[str, Entity]]] = {}
    for row in document["entity"]:
        entity = Entity(
            row["name"], row["parent"], row["country"], row.get("lei", ""), row["source"], as_of
        )
        found.setdefault(row["provider"], []).append((row.get("regions", "*"), entity))
    # A partition's pattern is more specific than the default of the provider.
    return {key: sorted(rows, key=lambda row: row[0] == "*") for key, rows in found.items()}


def entity_of(provider: str, region: str | None = None) -> Entity | None:
    """The legal entity that operates a provider's region; ``None`` where it is not listed."""
    for pattern, entity in entities().get(provider, []):
        if fnmatch.fnmatchcase(region or "", pattern):
            return entity
    return None


@lru_cache(maxsize=1)
def residency_sets() -> dict[str, ResidencySet]:
    """Residency sets by id; sets that include others are expanded."""
    document = _document("residency.toml")
    sets: dict[str, ResidencySet] = {}
    for row in document["set"]:
        members: dict[str, Membership] = {}
        for other in row.get("includes", []):
            members.update(sets[other].members)
        for country in row.get("countries", []):
            members[country] = Membership(country, row["decision"], row["source"])
        for item in row.get("member", []):
            members[item["country"]] = Membership(
                item["country"],
                item["decision"],
                row["source"],
                item.get("scope", ""),
                item.get("valid_to"),
            )
        sets[row["id"]] = ResidencySet(row["id"], row["title"], row["as_of"], members)
    return sets


def memberships(allowed: tuple[str, ...]) -> dict[str, Membership]:
    """Countries that a list of set ids and ISO country codes allows; raises ``BadInput``."""
    sets = residency_sets()
    found: dict[str, Membership] = {}
    for item in allowed:
        if item in sets:
            found.update(sets[item].members)
        elif len(item) == 2 and item.isascii() and item.isupper():
            found[item] = Membership(item, "named in the policy", "policy")
        else:
            known = ", ".join(sets)
            raise BadInput(
                f"{item!r} is neither a country code nor one of {known}", field="allowed"
            )
    return found


def list_versions() -> dict[str, str]:
    """The date of each list, as a report states it."""
    dates = {f"residency/{s.id}": str(s.as_of) for s in residency_sets().values()}
    return {"entities": str(_document("entities.toml")["as_of"]), **dates}


@lru_cache(maxsize=4)
def _document(name: str) -> dict[str, Any]:
    return tomllib.loads((_FOLDER / name).read_text(encoding="utf-8"))
