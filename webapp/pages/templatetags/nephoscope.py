"""Filters and tags of the templates; all wording comes from ``webapp.pages.ui.formatting``."""

import re
from collections.abc import Iterable
from datetime import date, datetime
from typing import Any
from urllib.parse import quote

from django import template
from django.urls import get_script_prefix, reverse
from django.utils import timezone
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from webapp.pages.ui import formatting
from webapp.pages.ui.glossary import read_terms
from webapp.pages.ui.headings import LABELS
from webapp.pages.ui.html_rows import name_html, percent, place_html, rows_html, tag_html
from webapp.pages.ui.table_page import Row
from webapp.store.access import survey_versions
from webapp.store.ranges.region_places import (
    continent_name,
    country_name,
    place_name,
    region_codes,
)

register = template.Library()

for _name in (
    "count",
    "share",
    "share_of",
    "bracket",
    "size",
    "duration",
    "join_units",
    "provider_name",
    "provider_letter",
    "feature",
    "location",
    "reason",
    "technique",
    "class_name",
    "published_row",
    "service",
    "unicode_name",
    "capitalize_sentence",
):
    register.filter(_name, getattr(formatting, _name))
register.filter("percent", percent)
register.filter("country_name", country_name)
register.filter("continent_name", continent_name)
register.simple_tag(tag_html, name="tag")
register.filter("state_word", formatting.state)
register.filter("change", formatting.change)


# Codes of three letters are too likely to mean something else in a sentence.
_SHORTEST_CODE = 5
_KNOWN_CODES = sorted(
    (c for c in region_codes() if len(c) >= _SHORTEST_CODE), key=len, reverse=True
)
_CODE = re.compile(
    r"(?<![\w.-])(?:" + "|".join(map(re.escape, _KNOWN_CODES)) + r"|[a-z]{2,3}(?:-[a-z]+)+-?\d)"
    r"(?![\w-]|\.\w)"
)


@register.filter
def finding(text: str) -> SafeString:
    """A sentence with unbreakable numbers with units and region codes.

    The place follows the first mention of a code, unless the sentence names it already.
    """
    escaped = conditional_escape(formatting.join_units(text))
    named: set[str] = set()

    def with_place(match: re.Match[str]) -> str:
        code, shown = match[0], conditional_escape(place_name(match[0]))
        is_new = bool(shown) and shown not in escaped and code not in named
        named.add(code)
        return f'<span class="code">{code}</span>' + (f" ({shown})" if is_new else "")

    return mark_safe(_CODE.sub(with_place, escaped))


@register.filter
def place(code: str | None, provider: str | None = "") -> SafeString:
    """The place of a region, to follow its code; nothing where it is not known."""
    return place_html(place_name(code or "", provider or ""))


@register.simple_tag
def marginal_text(note: Any, slug: str) -> SafeString:
    """The text of a note; the domains that it names lead to their pages."""
    text = finding(note.text)
    for domain in note.domains:
        shown = conditional_escape(domain)
        link = format_html(
            '<a href="{}"><bdi>{}</bdi></a>',
            reverse("domain", args=(slug, domain)),
            breaking(domain),
        )
        text = mark_safe(text.replace(shown, link, 1))
    return text


@register.filter
def age(then: datetime | None) -> str:
    """How old, in words."""
    return formatting.age(then, timezone.now())


@register.filter
def day(value: date | None) -> str:
    """``29 Mar 2013``."""
    return f"{value.day} {value:%b %Y}" if value else formatting.NONE


@register.filter
def moment(value: datetime | None) -> str:
    """``29 Mar 2013, 14:05 UTC``."""
    return f"{value.day} {value:%b %Y, %H:%M} UTC" if value else formatting.NONE


@register.simple_tag
def region_code(code: str) -> SafeString:
    """The code of a region, and its place."""
    return format_html('<span class="code">{}</span>{}', code, place(code))


@register.simple_tag
def term(key: str, text: str = "") -> SafeString:
    """A term that leads to its entry of the glossary; its definition is shown on hover.

    ``text`` replaces the title. Raises ``KeyError`` for a term that the glossary does not have.
    """
    found = read_terms()[key]
    return format_html(
        '<a class="term" href="{}#{}" title="{}">{}</a>',
        *(reverse("glossary"), key, found.definition, text or found.title),
    )


@register.filter
def breaking(name: str) -> SafeString:
    """A DNS name that breaks after its dots."""
    return name_html(name)


@register.simple_tag
def table_rows(rows: Iterable[Row]) -> SafeString:
    """The rows of a table."""
    return rows_html(rows)


MAX_MEMBERS = 6


@register.simple_tag
def changed_members(dimension: str, before: str, after: str, side: str) -> SafeString:
    """One side of a move: what went or came, and how much stayed."""
    lost, won, kept = formatting.set_changes(before, after)
    shown = set_members(dimension, won if side == "after" else lost)
    if not kept:
        return shown
    note = f"{kept} more" if shown else f"the same {kept}"
    return format_html('{}<span class="member"><span class="note">{}</span></span>', shown, note)


@register.simple_tag
def set_members(dimension: str, text: str) -> SafeString:
    """The members of a compared set, each with its provider."""
    found = formatting.set_members(dimension, text)
    parts = [
        format_html(
            '<span class="member">{}<span class="{}">{}</span>{}</span>',
            tag_html(provider) if provider else "",
            "mono" if is_code else "note" if not provider else "",
            shown,
            place(shown, provider) if dimension == "regions" else "",
        )
        for provider, shown, is_code in found[:MAX_MEMBERS]
    ]
    if len(found) > MAX_MEMBERS:
        rest = f"and {len(found) - MAX_MEMBERS} more"
        parts.append(format_html('<span class="member"><span class="note">{}</span></span>', rest))
    return mark_safe("".join(parts))


@register.simple_tag
def export_url(slug: str, table_id: str, kind: str, snapshot: str = "") -> str:
    """Where the API gives exactly this table, as it is or as it was pinned."""
    url = api_url(f"surveys/{slug}/tables/{table_id}.{kind}")
    return f"{url}?snapshot={snapshot}" if snapshot else url


@register.simple_tag
def api_url(path: str, *parts: Any) -> str:
    """An address of the API, below the share link where a page is read through one.

    Each ``{}`` of the path is one of the parts.
    """
    return f"{get_script_prefix()}api/v1/{path.format(*(quote(str(p)) for p in parts))}"


@register.simple_tag(takes_context=True)
def front_slug(context: template.Context) -> str:
    """Return the survey that the header links to on pages without one; read once a request."""
    request = context.get("request")
    if request is None:
        return survey_versions.front_slug()
    if not hasattr(request, "front_slug"):
        request.front_slug = survey_versions.front_slug(getattr(request, "user", None))
    return str(request.front_slug)


@register.simple_tag
def page_url(name: str, **values: Any) -> str:
    """The address of a page."""
    return reverse(name, kwargs=values)


@register.filter
def heading(column: str) -> str:
    """Return the heading of a table's column."""
    return LABELS.get(column, column)
