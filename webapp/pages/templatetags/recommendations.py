"""Filters of the pages about recommended regions."""

from collections.abc import Mapping
from typing import Any

from django import template

from core.wording import SMALL
from webapp.pages.recommendations.sentences import amount
from webapp.pages.ui import formatting
from webapp.store.ranges.region_places import continent_name

register = template.Library()


@register.filter
def value_in(value: float | None, unit: str) -> str:
    """A value with its unit; a dash for none."""
    return amount(value, unit)


@register.filter
def aim(objective: Mapping[str, Any]) -> str:
    """What is made best, in words."""
    what = "round-trip time" if objective["measure"] == "latency" else "throughput"
    if objective.get("worst_country"):
        return f"worst country’s mean {what}"
    percentile = objective.get("percentile")
    if percentile is None:
        return f"mean {what}"
    return f"median {what}" if percentile == 50 else f"p{percentile:g} of the {what}"


@register.filter
def axis(value: float) -> str:
    """A round number of an axis."""
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:g}"


@register.filter
def signed_share(value: float | None) -> str:
    """A change as a signed share."""
    if value is None:
        return formatting.NONE
    sign = "+" if value > 0 else "−" if value < 0 else ""
    return f"{sign}{formatting.share(abs(value))}"


@register.filter
def held_out_rows(model: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return rows of errors of a model of paths: in all, by continent, of known places."""
    rows = {"Places that the fit has not seen": model["held_out"]}
    rows |= {f"… clients in {continent_name(c)}": row for c, row in model["continents"].items()}
    rows["… by the stated model of distance"] = model["stated_held_out"]
    # Models that were fitted before errors of pairs were measured have none.
    if "held_out_pairs" in model:
        rows["Pairs of places that other pairs measure"] = model["held_out_pairs"]
        rows["… by the stated model of distance, same pairs"] = model["stated_held_out_pairs"]
    return [{"name": n, **row, "is_counted": row["pairs"] >= SMALL} for n, row in rows.items()]


@register.filter
def add_px(value: float, more: float) -> float:
    """A length that is longer by so much."""
    return round(float(value) + float(more), 1)
