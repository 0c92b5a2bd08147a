"""Filters of the templates of measurement campaigns."""

from typing import Any

from django import template

from webapp.pages.campaigns import formatting as campaign_formatting

register = template.Library()
register.filter("why", campaign_formatting.reason)


@register.filter
def amount(value: Any, metric: Any) -> str:
    """A value with the unit of its metric."""
    return campaign_formatting.amount(metric.id, value)


@register.filter
def bare(value: Any, metric: Any) -> str:
    """A value without its unit."""
    return campaign_formatting.bare(metric.id, value)


@register.filter
def changed(value: Any, metric: Any) -> str:
    """A difference with its sign and unit."""
    return campaign_formatting.amount(metric.id, value, signed=True)


@register.filter
def shade(value: Any, metric: Any) -> int:
    """Which of six shades a value has."""
    return campaign_formatting.shade(metric.id, value)


@register.filter
def rough(value: Any) -> str:
    """``4.5`` of a number that is no count."""
    return "–" if value is None else f"{float(value):.1f}"


@register.filter
def tick(value: Any, metric: Any) -> str:
    """A round value beside an axis."""
    return campaign_formatting.tick(metric.id, value)


@register.filter
def how_known(page: Any) -> str:
    """How the figures of a page came about, by the page's name."""
    return campaign_formatting.HOW.get(str(page), "")
