"""Filters of the screening pages; all wording comes from ``webapp.pages.screening.formatting``."""

import math

from django import template
from django.utils.safestring import SafeString, mark_safe

from webapp.pages.screening import formatting as words
from webapp.pages.screening.pool_access import PoolAccess
from webapp.pages.screening.rows import verdict_html
from webapp.pages.ui.formatting import NONE

register = template.Library()

for _name in (
    "ms",
    "rate",
    "points",
    "points_of",
    "points_span",
    "money",
    "price",
    "p_value",
    "verdict_word",
    "cause_word",
    "cause_sentence",
    "p_word",
    "tool_word",
    "unit_word",
):
    register.filter(_name, getattr(words, _name))


@register.simple_tag
def verdict(value: str, sure: bool = True) -> SafeString:
    """Return a verdict as sign and word, with a note where it is uncertain."""
    return mark_safe(verdict_html(value, sure))


@register.simple_tag
def shape(fan_out: int, calls: int) -> str:
    """A model in words."""
    return words.shape_word(fan_out, calls)


_COMMANDS = {
    "": "curl -s {site}/agent | python3 - --pool {token}",
    "upload": "python3 agent.py --server {site} --pool {token} --upload result.json",
    "server": "curl -s {site}/agent | python3 - --server",
    "client": "curl -s {site}/agent | python3 - --pool {token} --client HOST1 HOST2",
    "battery": "curl -s {site}/agent | python3 - --pool {token} --battery --rounds 12",
    "gentle": "curl -s {site}/agent | python3 - --pool {token} --sleep-us 1000",
    "cron": "0 * * * * curl -s {site}/agent | python3 - --pool {token} --json > /dev/null",
}


@register.simple_tag
def agent_command(site: str, token: str, kind: str) -> str:
    """A command line for a machine."""
    return _COMMANDS[kind].format(site=site, token=token)


@register.filter
def doubtful(verdicts: dict[str, int]) -> int:
    """How many are neither called good nor bad."""
    return verdicts.get("network-test", 0) + verdicts.get("not-enough", 0)


@register.filter
def plain(value: object) -> str:
    """A figure in a tool's own unit; whole ones without a point."""
    if value is None or value == "":
        return NONE
    number = float(str(value))
    if not math.isfinite(number):
        return NONE
    return f"{number:,.0f}" if number.is_integer() or abs(number) >= 1000 else f"{number:,.4g}"


@register.filter
def us(value: object) -> str:
    """Microseconds as milliseconds."""
    return NONE if value is None or value == "" else words.ms(float(str(value)) / 1000)


@register.simple_tag
def pool_url(access: PoolAccess, name: str, **more: object) -> str:
    """The address of a pool's page, by key or by share link."""
    return access.href(name, **more)


@register.filter
def battery_word(name: str) -> str:
    """A test of the battery in words, with its unit."""
    return words.BATTERY.get(name, name.replace("_", " "))


@register.filter
def known_by(reason: str) -> str:
    """Why there is no calibration, and where the truth about machines comes from."""
    sentence = f"{reason[:1].upper()}{reason[1:]}."
    return f"{sentence} Network tests tell which is which, or you do, on a machine's page."
