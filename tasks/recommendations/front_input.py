"""Read what a visitor wrote into one field: a domain, a list of domains, or countries."""

import re
from dataclasses import dataclass
from enum import StrEnum

from analysis.impact.client_weights import read_audience
from core.errors import BadInput
from core.wording import number, percent
from crawlers.files.domain_list import normalise_domain

_COUNTRY = re.compile(r"\s*([A-Za-z]{2})\s*[:=]?\s*(\d+(?:\.\d+)?)?\s*%?\s*")
_SHOWN = 4


class Kind(StrEnum):
    """What a text was read as."""

    DOMAIN = "domain"
    DOMAINS = "domains"
    COUNTRIES = "countries"
    WORDS = "words"


@dataclass(frozen=True, slots=True)
class Input:
    """A text as it was understood: domains in order, or country weights as ``read_audience`` takes.

    ``rejected`` are (text, reason) of what is no domain; ``weights`` are shares of all clients.
    """

    kind: Kind
    summary: str
    domains: tuple[str, ...] = ()
    rejected: tuple[tuple[str, str], ...] = ()
    audience: str = ""
    weights: tuple[tuple[str, float], ...] = ()


def interpret(text: str) -> Input:
    """Read a text; raises ``BadInput`` that states what can be written."""
    parts = [part for part in re.split(r"[,;\n]+", text.strip()) if part.strip()]
    if not parts:
        raise BadInput("write a domain such as shop.example, a list, or countries with weights")
    if countries := _read_countries(parts):
        return countries
    tokens = re.split(r"[\s,;]+", text.strip(" \t\r\n,;"))
    if len(tokens) == 1 and "." not in tokens[0]:
        return Input(Kind.WORDS, f"Search for “{tokens[0]}”")
    return _read_domains(tokens)


def _read_countries(parts: list[str]) -> Input | None:
    found = [_COUNTRY.fullmatch(part) for part in parts]
    if not all(found):
        return None
    lines = "\n".join(f"{m[1].upper()} {m[2] or 1}" for m in found if m)
    weights = read_audience(lines.encode())
    total = sum(weights.values()) or 1.0
    shares = sorted(((code, w / total) for code, w in weights.items()), key=lambda s: -s[1])
    named = ", ".join(f"{code} {percent(share)}" for code, share in shares[:_SHOWN])
    more = f" and {len(shares) - _SHOWN} more" if len(shares) > _SHOWN else ""
    summary = f"Clients in {number(len(shares), 'country', 'countries')}: {named}{more}"
    return Input(Kind.COUNTRIES, summary, audience=lines, weights=tuple(shares))


def _read_domains(tokens: list[str]) -> Input:
    domains: dict[str, None] = {}
    rejected: list[tuple[str, str]] = []
    for token in tokens:
        try:
            domains[normalise_domain(token)] = None
        except BadInput as error:
            rejected.append((token, str(error)))
    if not domains:
        token, reason = rejected[0]
        raise BadInput(
            f"“{token}” {reason}; write a domain such as shop.example, a list of domains, or "
            "countries with weights such as DE 40, US 35"
        )
    kind = Kind.DOMAIN if len(domains) == 1 and not rejected else Kind.DOMAINS
    one = f"One domain: {next(iter(domains))}"
    summary = one if len(domains) == 1 else f"A list of {number(len(domains), 'domain')}"
    if rejected:
        summary += f"; not read: {number(len(rejected), 'entry', 'entries')}"
    return Input(kind, summary, tuple(domains), tuple(rejected))
