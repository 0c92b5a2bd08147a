"""Filters and tags of the templates; all wording comes from ``webapp.pages.words``."""

import re
from datetime import date, datetime
from typing import Any

from django import template
from django.urls import reverse
from django.utils import timezone
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from webapp.pages import words
from webapp.store import selectors

register = template.Library()

for _name in (
    "count",
    "share",
    "duration",
    "tidy",
    "provider_name",
    "provider_letter",
    "feature",
    "location",
    "reason",
    "technique",
    "class_name",
    "unicode_name",
):
    register.filter(_name, getattr(words, _name))
register.filter("state_word", words.state)


_CODE = re.compile(r"\b[a-z]{2,3}(?:-[a-z]+)+-?\d\b")


@register.filter
def finding(text: str) -> SafeString:
    """A sentence whose numbers keep their units and whose region codes do not break."""
    escaped = conditional_escape(words.tidy(text))
    return mark_safe(_CODE.sub(r'<span class="code">\g<0></span>', escaped))  # noqa: S308


@register.filter
def age(then: datetime | None) -> str:
    """How old, in words."""
    return words.age(then, timezone.now())


@register.filter
def day(value: date | None) -> str:
    """``29 Mar 2013``."""
    return f"{value.day} {value:%b %Y}" if value else words.NONE


@register.filter
def moment(value: datetime | None) -> str:
    """``29 Mar 2013, 14:05 UTC``."""
    return f"{value.day} {value:%b %Y, %H:%M} UTC" if value else words.NONE


@register.filter
def percent(value: float | None) -> str:
    """A fraction as an SVG length."""
    return f"{min(1.0, max(0.0, value or 0)) * 100:.3f}%"


@register.simple_tag
def tag(provider: str | None) -> SafeString:
    """Provider by hue and letter; the name is read aloud."""
    return format_html(
        '<span class="tag tag--{}" title="{}"><span aria-hidden="true">{}</span>'
        '<span class="visually-hidden">{} </span></span>',
        provider or "none",
        words.provider_name(provider),
        words.provider_letter(provider),
        words.provider_name(provider),
    )


@register.simple_tag
def export_url(slug: str, table_id: str, kind: str) -> str:
    """Where the API gives exactly this table."""
    return f"/api/v1/surveys/{slug}/tables/{table_id}.{kind}"


@register.simple_tag
def front_campaign() -> selectors.CampaignRow | None:
    """The survey that the header's links lead to when a page has none of its own."""
    return selectors.front_campaign()


@register.simple_tag
def page_url(name: str, **values: Any) -> str:
    """The address of a page."""
    return reverse(name, kwargs=values)
