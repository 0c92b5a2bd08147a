"""One domain through time: every survey that asked it, and what differs from the one before."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from webapp.store.access.visibility import visible
from webapp.store.models import Survey
from webapp.store.surveys import index as survey_index

Row = dict[str, Any]
DIMENSIONS = ("providers", "regions", "zones", "patterns", "name_servers")
# A history reads as many surveys, and compares as many names of a domain in each.
MAX_SURVEYS = 60
MAX_NAMES = 2_000


@dataclass(frozen=True, slots=True)
class Change:
    """What a domain won and lost in one dimension."""

    dimension: str
    won: tuple[str, ...]
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DomainObservation:
    """One survey's look at a domain; ``changes`` are against the visit before, if any."""

    slug: str
    name: str
    world: str
    at: datetime | None
    found: int
    cloud: int
    sets: dict[str, tuple[str, ...]]
    is_first: bool
    changes: tuple[Change, ...]
    appeared: tuple[str, ...]
    vanished: tuple[str, ...]
    moved: tuple[str, ...]

    def as_json(self) -> Row:
        """The shape of the API."""
        return {
            "survey": self.slug,
            "world": self.world,
            "at": self.at,
            "found": self.found,
            "cloud": self.cloud,
            **{kind: list(members) for kind, members in self.sets.items()},
            "is_first": self.is_first,
            "changes": {c.dimension: {"won": c.won, "lost": c.lost} for c in self.changes},
            "names": {"appeared": self.appeared, "vanished": self.vanished, "moved": self.moved},
        }


def history(domain: str, world: str | None = None, reader: Any = None) -> list[DomainObservation]:
    """Visits of a domain by surveys that the reader may see, the newest first.

    ``world`` limits them to one world, or to none ("").
    """
    surveys = visible(Survey.objects.filter(finished_at__isnull=False), reader)
    if world is not None:
        surveys = surveys.filter(world=world)
    found: list[DomainObservation] = []
    before: tuple[Row, dict[str, Row]] | None = None
    for survey in reversed(surveys.order_by("-finished_at", "-id")[:MAX_SURVEYS]):
        now = _read_domain(survey, domain)
        if now is not None:
            found.append(_build_observation(survey, before, now))
            before = now
    return found[::-1]


def _read_domain(survey: Survey, domain: str) -> tuple[Row, dict[str, Row]] | None:
    """The row of a domain in one survey, and its names."""
    index = survey_index.index_of(survey)
    row = index.domain(domain) if index else None
    if index is None or row is None:
        return None
    return row, {name["name"]: name for name in index.names(row, 0, MAX_NAMES)}


def _build_observation(
    survey: Survey, before: tuple[Row, dict[str, Row]] | None, now: tuple[Row, dict[str, Row]]
) -> DomainObservation:
    row, names = now
    old = before[1] if before else {}
    return DomainObservation(
        slug=survey.slug,
        name=survey.name,
        world=survey.world,
        at=survey.finished_at,
        found=row["found"],
        cloud=row["cloud"],
        sets={kind: _members(row, kind) for kind in DIMENSIONS},
        is_first=before is None,
        changes=_changes(before[0], row) if before else (),
        appeared=_sorted(n for n in names if before and n not in old),
        vanished=_sorted(n for n in old if n not in names),
        moved=_sorted(n for n in names if n in old and _places(names[n]) != _places(old[n])),
    )


def _members(row: Row, kind: str) -> tuple[str, ...]:
    return _sorted(row[kind] or ())


def _places(name: Row) -> list[Any]:
    return [name[kind] for kind in ("providers", "regions", "patterns")]


def _sorted(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(items))


def _changes(old: Row, new: Row) -> tuple[Change, ...]:
    pairs = ((kind, set(_members(old, kind)), set(_members(new, kind))) for kind in DIMENSIONS)
    return tuple(
        Change(kind, _sorted(now - was), _sorted(was - now))
        for kind, was, now in pairs
        if was != now
    )
