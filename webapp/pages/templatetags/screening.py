"""Filters of the screening pages; all wording comes from ``webapp.pages.screening_words``."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from webapp.pages import screening_words as words

register = template.Library()

for _name in ("ms", "rate", "points", "money", "p_value", "verdict_word", "cause_word",
              "cause_sentence", "p_word"):  # fmt: skip
    register.filter(_name, getattr(words, _name))


@register.simple_tag
def verdict(value: str, sure: bool = True) -> SafeString:
    """A verdict as sign and word; one that is not sure says so."""
    return format_html(
        '<span class="verdict verdict--{}"><span class="verdict__sign" aria-hidden="true">{}</span>'
        "{}{}</span>",
        value,
        words.verdict_sign(value),
        words.verdict_word(value),
        "" if sure or value == "not-enough" else format_html("<small>{}</small>", "not sure"),
    )


@register.simple_tag
def shape(fan_out: int, calls: int) -> str:
    """A model in words."""
    return words.shape_word(fan_out, calls)
