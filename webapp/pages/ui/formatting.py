"""Formatting of figures and terms for every page."""

import re
from datetime import datetime, timedelta
from typing import Any

from django.utils.text import capfirst

from core import wording
from core.providers import PROVIDER_BY_ID, PROVIDERS

# Narrow no-break space: a number never parts from its unit.
THIN = "\u202f"
NONE = "–"
_FEATURES = {
    "vm": "Virtual machine",
    "elb": "Load balancer (ELB)",
    "beanstalk": "Beanstalk (PaaS)",
    "heroku-elb": "Heroku behind ELB",
    "heroku": "Heroku (PaaS)",
    "cloudfront": "CloudFront (CDN)",
    "cs": "Cloud service",
    "tm": "Traffic Manager",
    "cdn": "Azure CDN",
    "unclassified": "No known pattern",
    "dangling": "Missing target",
    "dangling-claimable": "Claimable target",
}
_LOCATIONS = {
    "aws cloudfront": "Amazon CloudFront",
    "aws route53": "Amazon Route 53",
    "aws": "Amazon, customer VMs",
    "azure": "Microsoft",
    "google": "Google",
    "other": "Not in a known cloud",
    "unresolved": "Not resolved",
    "total": "All",
}
# Names of services in range files that differ from those in texts.
_SERVICES = {
    "CLOUDFRONT": "CloudFront",
    "CLOUDFRONT_ORIGIN_FACING": "CloudFront",
    "GLOBALACCELERATOR": "Global Accelerator",
    "ROUTE53": "Route 53",
    "ROUTE53_HEALTHCHECKS": "Route 53 health checks",
}
_REASONS = {
    "SERVFAIL": "the server failed",
    "REFUSED": "the server refused",
    "FORMERR": "the server did not understand",
    "NOTIMP": "not implemented by the server",
    "TIMEOUT": "no answer in time",
    "MALFORMED": "unreadable answer",
    "TRUNCATED": "cut off, even over TCP",
    "CNAME_LOOP": "aliases in a circle",
    "NETWORK": "network unreachable",
    "SKIPPED": "not asked, the zone gave no answer",
    "NXDOMAIN": "no such name",
    "NODATA": "no such record",
    "OTHER": "another reason",
}
_STATES = {
    "queued": "Waiting",
    "surveying": "Surveying",
    "running": "Running",
    "finished": "Finished",
    "partial": "Partly finished",
    "failed": "Failed",
    "cancelled": "Cancelled",
}
_TECHNIQUES = {
    "listed": "the list itself",
    "axfr": "zone transfer",
    "nsec": "signed denials (NSEC)",
    "import": "imported list",
    "certificate": "certificate log",
    "wordlist": "word list",
    "permutation": "altered names",
}

_TERMS = {
    "import": "Imported shares",
    "cctld": "Country-code domain",
    "all": "Either",
    "operator": "name-server operator",
    "nowhere in it": "no region there",
    "not only in it": "not every region there",
}
# Texts for an empty or unknown set of providers, regions, zones or patterns.
_ELSEWHERE = {
    "outside": "not in any known cloud",
    "absent": "not found",
    "failed": "no answer",
    "none": "no {what}",
}
_ONE = {"providers": "cloud", "regions": "region", "zones": "zone", "patterns": "pattern"}


def provider_name(provider: str | None) -> str:
    """Return the common name of a provider."""
    if provider == "total":
        return "All clouds"
    return wording.provider_name(provider or "elsewhere")


def provider_letter(provider: str | None) -> str:
    """The letter that is next to the hue."""
    known = PROVIDER_BY_ID.get(provider or "")
    return known.letter if known else "·"


def feature(label: str) -> str:
    """A front-end label in words."""
    return _FEATURES.get(label, label)


def term(value: str) -> str:
    """A term of a table in words."""
    return _TERMS.get(value, value)


def location(place: str) -> str:
    """Where a name server is located, in words."""
    return _LOCATIONS.get(place, place)


def published_row(words: str) -> str:
    """A row of a published table as its keys name it, such as ``aws heroku``, in words."""
    if words in _LOCATIONS:
        return location(words)
    provider, _, rest = words.partition(" ")
    return f"{provider_name(provider)} {feature(rest)}" if provider in PROVIDER_BY_ID else words


def service(name: str) -> str:
    """The service of a prefix as its provider writes the name in texts."""
    return _SERVICES.get(name, name)


def reason(status: str) -> str:
    """Why a question failed, in words."""
    return _REASONS.get(status, status.lower().replace("_", " "))


def state(value: str) -> str:
    """The state of a survey."""
    return _STATES.get(value, value)


def technique(value: str) -> str:
    """How a name was found."""
    return _TECHNIQUES.get(value, value)


def class_name(value: str) -> str:
    """``aws + other`` as ``Amazon + other hosting``."""
    words = value.split(" ")
    known = {"only": "only", "other": "other hosting", "total": "in all", "+": "+"}
    if value == "total":
        return "All cloud-using"
    return " ".join(known.get(w) or provider_name(w) for w in words)


def providers_in(value: str) -> list[str]:
    """Providers that a class names, in the agreed order."""
    return [p for p in PROVIDERS if p in value.split(" ")]


def count(value: Any) -> str:
    """``1,234``; a missing figure is a dash, never zero."""
    if value is None or value == "":
        return NONE
    if isinstance(value, float) and not value.is_integer():
        return f"{value:,.2f}".rstrip("0")
    return f"{int(value):,}"


def share(value: Any) -> str:
    """``97.2 %`` of a fraction of one; small shares keep a second decimal."""
    if value is None or value == "":
        return NONE
    return _percent(float(value))


def share_of(value: float | None, whole: int | None) -> str:
    """The same of ``whole`` things: ``3 of 10`` of few, ``no data`` of none."""
    return wording.share_of(value, whole, _percent)


def span_of(low: float, high: float, whole: int | None) -> str:
    """An interval of such a share."""
    return wording.span_of(low, high, whole, _percent)


def bracket(value: float | None, whole: int | None) -> str:
    """Return `` (97.2 %)`` to follow two counts; empty where the denominator is small."""
    is_small = whole is not None and whole < wording.SMALL
    return "" if value is None or is_small else f" ({_percent(value)})"


def _percent(value: float) -> str:
    return wording.percent(value).replace(" ", THIN)


def size(n_bytes: Any) -> str:
    """``1.2 MB`` of bytes, by powers of ten; a missing figure is a dash."""
    if n_bytes is None or n_bytes == "":
        return NONE
    value, units = float(n_bytes), ["B", "kB", "MB", "GB", "TB", "PB"]
    while value >= 999.5 and len(units) > 1:
        value, units = value / 1000, units[1:]
    digits = 0 if units[0] == "B" or value >= 99.5 else 1
    return f"{value:.{digits}f}{THIN}{units[0]}"


def change(value: Any, *, of_shares: bool = False) -> str:
    """Format a difference as ``+1,234`` or ``−0.4 points``, always with its sign."""
    if value is None or value == "":
        return NONE
    if not value:
        return "0"
    sign = "+" if value > 0 else "−"
    if of_shares:
        points = abs(float(value)) * 100
        if points < 0.005:
            return f"{sign}<{THIN}0.01{THIN}points"
        return f"{sign}{points:.{2 if points < 0.995 else 1}f}{THIN}points"
    return f"{sign}{count(abs(value))}"


def set_members(dimension: str, text: str) -> list[tuple[str, str, bool]]:
    """(provider, words, whether they are a code) of each member of a set that was compared."""
    if not text:
        return []
    if text in _ELSEWHERE:
        return [("", _ELSEWHERE[text].format(what=_ONE.get(dimension, "")), False)]
    return [_member(dimension, part) for part in text.split(", ")]


def set_changes(before: str, after: str) -> tuple[str, str, int]:
    """What a set lost, what it won, and how many members it kept; whole sets where none is."""
    was, now = before.split(", "), after.split(", ")
    kept = [key for key in was if key in now]
    lost, won = ([k for k in side if k not in kept] for side in (was, now))
    return ", ".join(lost), ", ".join(won), len(kept)


def _member(dimension: str, key: str) -> tuple[str, str, bool]:
    provider, _, rest = key.partition(" ")
    if dimension == "providers":
        return provider, provider_name(provider), False
    return provider, feature(rest) if dimension == "patterns" else rest, dimension != "patterns"


def duration(seconds: Any) -> str:
    """A span in the two largest units that matter."""
    if seconds is None:
        return NONE
    whole = max(0, round(float(seconds)))
    if whole < 60:
        return f"{whole}{THIN}s" if whole >= 1 else f"under 1{THIN}s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}{THIN}min" + (f" {rest}{THIN}s" if rest and minutes < 10 else "")
    hours, minutes = divmod(minutes, 60)
    if hours >= 48:
        return f"{hours // 24} days"
    return f"{hours}{THIN}h {minutes}{THIN}min" if minutes else f"{hours}{THIN}h"


def age(then: datetime | None, now: datetime) -> str:
    """How old something is, in words."""
    if then is None:
        return NONE
    passed = now - then
    if passed < timedelta(minutes=1):
        return "just now"
    minutes = int(passed.total_seconds() // 60)
    return f"{duration(minutes * 60 if minutes < 60 else minutes // 60 * 3600)} ago"


def join_units(text: str) -> str:
    """Keep numbers beside their units when a sentence wraps."""
    return re.sub(r"(?<=\d) (?=%|ms\b|s\b)", THIN, text)


def capitalize_sentence(text: str) -> str:
    """A sentence with a capital, unless it begins with a name that has none (``a.csv: …``)."""
    first = str(text).split(" ", 1)[0]
    is_word = re.fullmatch(r"[^\W\d_]+(?:[-’'][^\W\d_]+)*[,:;.?!]?", first)
    return str(capfirst(text)) if is_word else str(text)


def unicode_name(name: str) -> str:
    """The readable form of a punycode name, or empty where it is the same."""
    if "xn--" not in name:
        return ""
    labels = [_decode(label) for label in name.split(".")]
    return ".".join(labels) if ".".join(labels) != name else ""


def _decode(label: str) -> str:
    try:
        return label.encode("ascii").decode("idna") if label.startswith("xn--") else label
    except UnicodeError:
        return label
