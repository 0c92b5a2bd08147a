"""Badges: small SVG images of a label and a value, to be shown by other sites.

A badge of something public may be stored by caches for five minutes; any other by its reader alone.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.cache import get_conditional_response

_MARGIN = 7
_MAX_CHARACTERS = 60
# Advance widths of Verdana at 11 px, in px, by groups of characters of nearly the same width.
_WIDTHS = {
    **dict.fromkeys("fijltI.,:;|!'()[]/ ", 4.3),
    **dict.fromkeys("rsczJ-–·", 5.6),
    **dict.fromkeys("mwMW%@…", 10.4),
    **dict.fromkeys("ABCDEFGHKLNOPQRSTUVXYZ", 7.8),
}
_USUAL_WIDTH = 6.9
_HEADERS = {
    "Content-Type": "image/svg+xml",
    # An image has nothing to load or to run, also where it is opened as a document.
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "cross-origin",
}
_PUBLIC, _PRIVATE = "public, max-age=300", "private, no-cache"


class Fill(StrEnum):
    """Colour behind the value; white text has a contrast of at least 5 to each."""

    GOOD = "#1e6b49"
    BAD = "#b04312"
    PLAIN = "#1b5e9e"
    UNKNOWN = "#57636f"


@dataclass(frozen=True, slots=True)
class Badge:
    """A label, its value, and the colour behind the value."""

    label: str
    value: str
    fill: Fill = Fill.PLAIN

    def as_svg(self) -> str:
        """Render it; the text is stretched to the estimated width, whatever font there is."""
        label, value = _shortened(self.label), _shortened(self.value)
        lengths = [text_width(label), text_width(value)]
        split, value_width = (length + 2 * _MARGIN for length in lengths)
        context = {
            "label": label,
            "value": value,
            "fill": str(self.fill),
            "split": split,
            "value_width": value_width,
            "value_x": split + _MARGIN,
            "width": split + value_width,
            "label_length": lengths[0],
            "value_length": lengths[1],
        }
        return render_to_string("embeds/badge.svg", context).strip()


def text_width(text: str) -> int:
    """Estimate the width of a text in px."""
    return max(1, round(sum(_WIDTHS.get(character, _USUAL_WIDTH) for character in text)))


def _shortened(text: str) -> str:
    is_long = len(text) > _MAX_CHARACTERS
    return text[: _MAX_CHARACTERS - 1] + "…" if is_long else text


def days_old(then: datetime | None) -> str:
    """An age in whole days, so that a badge stays the same for a day."""
    if then is None:
        return ""
    days = max(0, (timezone.now() - then).days)
    return "today" if not days else f"{days:,} day{'' if days == 1 else 's'} old"


def respond_with_badge(request: HttpRequest, badge: Badge, *, is_public: bool) -> HttpResponse:
    """Return the image with its ``ETag``; 304 where the requester has it already."""
    body = badge.as_svg().encode()
    tag = f'"{hashlib.sha256(body).hexdigest()[:24]}"'
    response = HttpResponse(body, headers=_HEADERS)
    response["ETag"] = tag
    response["Cache-Control"] = _PUBLIC if is_public else _PRIVATE
    found = get_conditional_response(request, tag, None, response)
    assert isinstance(found, HttpResponse)
    if found is not response:
        found["Cross-Origin-Resource-Policy"] = "cross-origin"
    return found
