"""Vantage points of a campaign by place and network instead of by name.

An entry is a name, or terms joined by ``+`` that all hold, such as ``country:DE``, ``AS7922`` or
``city:Seattle+network:Comcast``; a word without a key is part of a city or network. ``*N`` at the
end selects at most N. ``from:CAMPAIGN`` selects those of an earlier campaign, ``rotate:CAMPAIGN``
leaves them out. Example: ``expand(["country:DE*3", "rotate:first"], user)``.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.db.models import Q, QuerySet

from core.errors import BadInput
from webapp.store.campaigns import selectors
from webapp.store.models import VantagePoint
from webapp.store.vantages import services

FIELD = "vantages"
_LIMIT = re.compile(r"^(?P<terms>.+?)\*(?P<most>[1-9]\d{0,4})$")
_AS_NUMBER = re.compile(r"^AS(\d{1,10})$", re.IGNORECASE)
_FROM, _ROTATE = "from", "rotate"
_SYNTHETIC = VantagePoint.Source.SYNTHETIC


def _cloud(value: str) -> Q:
    provider, _, region = value.partition("/")
    found = Q(detail__cloud__provider__iexact=provider)
    return found & Q(detail__cloud__region__iexact=region) if region else found


_TERMS: dict[str, Callable[[str], Q]] = {
    "country": lambda value: Q(country__iexact=value),
    "continent": lambda value: Q(continent__iexact=value),
    "city": lambda value: Q(city__iexact=value),
    "network": lambda value: Q(provider__icontains=value),
    "source": lambda value: Q(source__iexact=value),
    "cloud": _cloud,
}
KEYS = (*_TERMS, _FROM, _ROTATE)


def is_selection(entry: str) -> bool:
    """Whether an entry cannot be a name: names have letters, digits, hyphens and underscores."""
    return any(mark in entry for mark in ":+*") or bool(_AS_NUMBER.match(entry))


def expand(entries: Iterable[Any], user: Any) -> list[str]:
    """Return the names that entries select, in their order; raise ``BadInput`` for one with none.

    Only vantage points that accept work are selected, and synthetic ones only by
    ``source:synthetic``. Entries that are names stay as they are.
    """
    texts = [str(entry).strip() for entry in entries]
    chosen = [text for text in texts if is_selection(text)]
    if not chosen:
        return texts
    working = services.points(user).filter(state=services.State.JOINED)
    known = set(working.filter(name__in=chosen).values_list("name", flat=True))
    used = {n for t in chosen if _key(t) == _ROTATE for n in _names_of(t, user)}
    names: list[str] = []
    for text in texts:
        if text in known or text not in chosen:
            names.append(text)
        elif _key(text) != _ROTATE:
            names += _select(text, working, user, used | set(names))
    if not names:
        raise BadInput("name vantage points beside those to leave out", field=FIELD)
    return list(dict.fromkeys(names))


def _key(text: str) -> str:
    return text.partition(":")[0].lower() if ":" in text else ""


def _names_of(text: str, user: Any) -> list[str]:
    """Return the vantage points of the campaign that ``from:`` or ``rotate:`` names."""
    slug = text.partition(":")[2]
    found = selectors.campaign(slug, user)
    if found is None:
        raise BadInput(f"{slug!r} is not a campaign", field=FIELD)
    return list(found.vantages)


def _select(
    text: str, working: QuerySet[VantagePoint], user: Any, left_out: set[str]
) -> Sequence[str]:
    """Return the names of one entry; of a limited one those that follow each other in the list."""
    limited = _LIMIT.match(text)
    terms = (limited["terms"] if limited else text).split("+")
    rows = working
    for term in terms:
        rows = rows.filter(_condition(term.strip(), user))
    if not any(term.strip().lower() == f"source:{_SYNTHETIC}" for term in terms):
        rows = rows.exclude(source=_SYNTHETIC) if _key(terms[0]) != _FROM else rows
    names = [n for n in rows.order_by("name").values_list("name", flat=True) if n not in left_out]
    if not names:
        raise BadInput(f"no vantage point that accepts work is {text!r}", field=FIELD)
    return names[: int(limited["most"])] if limited else names


def _condition(term: str, user: Any) -> Q:
    as_number = _AS_NUMBER.match(term)
    if as_number:
        return Q(asn=int(as_number[1]))
    if _key(term) == _FROM:
        return Q(name__in=_names_of(term, user))
    if ":" not in term:
        return Q(city__icontains=term) | Q(provider__icontains=term)
    build, value = _TERMS.get(_key(term)), term.partition(":")[2].strip()
    if build is None or not value:
        raise BadInput(f"{term!r} selects nothing; the keys are {', '.join(KEYS)}", field=FIELD)
    return build(value)
