"""Constraints in the query of an answer page, and the form controls for them.

The URL holds the whole state: size, constraints and failure.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from core.errors import BadInput

LISTS = ("include", "exclude", "provider", "continent", "country", "presence")
PERCENTILES = ("50", "95", "99")
# Text of the choice of percentiles where the worst country is optimised instead.
WORST_COUNTRY = "worst-country"
NUMBERS = (
    *("per_provider", "price_ceiling", "percentile", "after_loss_ms", "after_loss_share"),
    *("min_zones", "min_isps", "max_carbon", "joint_budget"),
)
# Clients, by weight, whom a limit after a loss may leave out.
LEFT_OUT = (("0", "all"), ("0.01", "99 %"), ("0.05", "95 %"), ("0.1", "90 %"))
# A longer field is no list of regions.
MOST_LETTERS = 4000


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of a control."""

    value: str
    label: str
    is_on: bool


@dataclass(frozen=True, slots=True)
class Controls:
    """What the form shows: texts of lists, choices, numbers and switches."""

    texts: Mapping[str, str]
    providers: tuple[Choice, ...]
    continents: tuple[Choice, ...]
    percentiles: tuple[Choice, ...]
    per_provider: str
    price_ceiling: str
    survive_loss: bool
    after_loss_ms: str
    after_loss_share: tuple[Choice, ...]
    min_zones: str
    min_isps: str
    max_carbon: str
    joint_budget: str
    has_prices: bool
    has_isps: bool
    has_carbon: bool
    has_domains: bool


def read_constraints(query: QueryDict, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Options of the URL that differ from the request; raises BadInput on a number.

    Where the whole form was sent (``set``), an empty field takes a constraint away.
    """
    whole = "set" in query
    found: dict[str, Any] = {}
    for name in LISTS:
        if whole or name in query:
            found[name] = _names(query, name)
    for name in NUMBERS:
        if whole or name in query:
            found[name] = _number(query, name)
    if whole or "percentile" in query:
        found["worst_country"] = query.get("percentile") == WORST_COUNTRY
    if whole or "survive_loss" in query:
        found["survive_loss"] = query.get("survive_loss", "") not in ("", "0")
    if not found.get("after_loss_ms", asked.get("after_loss_ms")):
        found["after_loss_share"] = None  # a share of nothing
    return {
        name: value for name, value in found.items() if _plain(value) != _plain(asked.get(name))
    }


def _plain(value: Any) -> Any:
    """The same for everything that asks for nothing."""
    return value if value not in (None, [], (), False, "") else None


def _names(query: QueryDict, name: str) -> list[str]:
    # A presence is a list by itself: its places stand between commas.
    split = (lambda text: text.split(";")) if name == "presence" else (lambda text: text.split(","))
    texts = [text[:MOST_LETTERS] for text in query.getlist(name)]
    return list(dict.fromkeys(part.strip() for t in texts for part in split(t) if part.strip()))


def _number(query: QueryDict, name: str) -> float | int | None:
    text = query.get(name, "").strip()
    if not text or (name == "percentile" and text == WORST_COUNTRY):
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise BadInput(f"{text[:40]!r} is not a number", field=name)
    return int(value) if value == int(value) else value


def controls(
    options: Mapping[str, Any], places: list[dict[str, Any]], files: Collection[str] = ()
) -> Controls:
    """The form as these options fill it; ``files`` names the tables that the question has."""
    kept = options.get("provider") or ()
    homes = options.get("continent") or ()
    asked = options.get("percentile")
    providers = sorted({p["provider"] for p in places if p["provider"]})
    continents = sorted({p["continent"] for p in places if p.get("continent")})
    is_worst = bool(options.get("worst_country"))
    means = [Choice("", "Mean", asked is None and not is_worst)]
    if "clients" in files or is_worst:
        means.append(Choice(WORST_COUNTRY, "Worst country’s mean", is_worst))
    shares = [Choice(p, "Median" if p == "50" else f"p{p}", _same(asked, p)) for p in PERCENTILES]
    return Controls(
        texts={
            name: _text(options, name) for name in ("include", "exclude", "country", "presence")
        },
        providers=tuple(Choice(p, p, p in kept) for p in providers),
        continents=tuple(Choice(c, c.replace("-", " ").title(), c in homes) for c in continents),
        percentiles=(*means, *shares),
        per_provider=_figure(options.get("per_provider")),
        price_ceiling=_figure(options.get("price_ceiling")),
        survive_loss=bool(options.get("survive_loss")),
        after_loss_ms=_figure(options.get("after_loss_ms")),
        after_loss_share=_left_out(options.get("after_loss_share") or 0),
        min_zones=_figure(options.get("min_zones")),
        min_isps=_figure(options.get("min_isps")),
        max_carbon=_figure(options.get("max_carbon")),
        joint_budget=_figure(options.get("joint_budget")),
        has_isps="isps" in files,
        has_carbon="carbon" in files,
        has_domains="domains" in files,
        has_prices=any(p.get("price") is not None for p in places),
    )


def _left_out(share: float) -> tuple[Choice, ...]:
    known = dict(LEFT_OUT)
    if not any(_same(share, text) for text in known):
        known[f"{share:g}"] = f"{100 * (1 - share):g} %"
    return tuple(Choice(text, label, _same(share, text)) for text, label in known.items())


def _same(asked: Any, text: str) -> bool:
    return asked is not None and float(asked) == float(text)


def _text(options: Mapping[str, Any], name: str) -> str:
    return ("; " if name == "presence" else ", ").join(options.get(name) or ())


def _figure(value: Any) -> str:
    return "" if value is None else f"{value:g}"
