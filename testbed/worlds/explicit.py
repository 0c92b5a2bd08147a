"""Worlds that are written out name by name: small, and with every oddity in its place."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from ipaddress import ip_address
from typing import Any

import dns.exception
import dns.rdata

from core.errors import BadInput
from testbed.generate.addresses.supply import AddressBook
from testbed.world.model import Name, PublishedRanges, Wildcard, World, Zone

# "aws/us-east-1a#3": the third address of that zone; the same token is the same address.
_TOKEN = re.compile(r"(?P<who>[a-z]+(?:53)?)(?:/(?P<region>[a-z-]+\d*)(?P<zone>[a-f]?))?#\d+")


@dataclass(slots=True)
class _Minter:
    """Turns address tokens into addresses, each token once."""

    book: AddressBook
    minted: dict[str, str] = field(default_factory=dict)

    def mint(self, token: str) -> str:
        found = _TOKEN.fullmatch(token)
        if found is None:
            return _plain_address(token)
        if token not in self.minted:
            self.minted[token] = self._new(found["who"], found["region"], found["zone"] or None)
        return self.minted[token]

    def _new(self, who: str, region: str | None, zone: str | None) -> str:
        single = {"other": self.book.other, "cloudfront": self.book.cdn, "route53": self.book.dns}
        if who in single:
            return single[who]()
        if region is None:
            raise BadInput(f"{who}: an address token needs a region, such as aws/us-east-1a#1")
        return self.book.compute(who, region, zone)


def build_explicit(
    raw: Mapping[str, Any], book: AddressBook, ranges: tuple[PublishedRanges, ...], seed: int
) -> World:
    """The world of a file of kind ``explicit``; neither scale nor seed changes it."""
    minter = _Minter(book)
    hosts = {
        str(host): tuple(minter.mint(t) for t in tokens)
        for host, tokens in raw.get("name_servers", {}).items()
    }
    world = World(
        str(raw["name"]),
        Fraction(1),
        seed,
        [],
        hosts,
        book.places,
        ranges,
        raw["as_of"],
        str(raw.get("origin", "")),
    )
    for index, entry in enumerate(raw["domains"], 1):
        _add_zone(world, entry, index, minter)
    world.notes += book.notes
    return world


def _plain_address(text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError as error:
        raise BadInput(f"{text}: neither an address nor a token like aws/us-east-1a#1") from error


def _add_zone(world: World, entry: Mapping[str, Any], index: int, minter: _Minter) -> None:
    domain = str(entry["domain"])
    zone = Zone(
        domain,
        int(entry.get("rank", index)),
        servers=tuple(entry.get("servers", ())),
        transfer=str(entry.get("transfer", "refuse")),
        fault=str(entry.get("fault", "")),
        wildcard=_wildcard(domain, entry.get("wildcard"), minter),
        records=_records(domain, entry.get("records", {})),
    )
    hidden = entry.get("hidden", {})
    for label, tokens in {**entry.get("names", {}), **hidden}.items():
        fqdn = domain if label == "@" else f"{label}.{domain}"
        zone.names.append(_name(fqdn, tokens, minter, "random label" if label in hidden else ""))
    for label, upset in entry.get("upsets", {}).items():
        world.upsets[domain if label == "@" else f"{label}.{domain}"] = str(upset)
    world.zones.append(zone)


def _records(domain: str, raw: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Further records by type; raises ``BadInput`` for a text that is no such record."""
    for rtype, texts in raw.items():
        for text in texts:
            try:
                dns.rdata.from_text("IN", rtype, text)
            except dns.exception.DNSException as error:
                raise BadInput(f"{domain} {rtype} {text!r}: {error}", field="records") from error
    return {rtype: tuple(texts) for rtype, texts in raw.items()}


def _name(fqdn: str, tokens: list[str], minter: _Minter, hidden: str) -> Name:
    cnames = tuple(token[:-1] for token in tokens if token.endswith("."))
    many = [t for token in tokens if not token.endswith(".") for t in _repeat(token)]
    minted = [minter.mint(token) for token in many]
    v4 = tuple(a for a in minted if ":" not in a)
    return Name(fqdn, cnames, v4, tuple(a for a in minted if ":" in a), hidden)


def _repeat(token: str) -> list[str]:
    """``aws/us-east-1a#1-90`` stands for ninety addresses."""
    stem, _, numbers = token.partition("#")
    first, _, last = numbers.partition("-")
    return [f"{stem}#{n}" for n in range(int(first), int(last) + 1)] if last else [token]


def _wildcard(domain: str, raw: Mapping[str, Any] | None, minter: _Minter) -> Wildcard | None:
    if raw is None:
        return None
    made = _name(domain, list(raw["answer"]), minter, "")
    at = f"{raw['at']}.{domain}" if raw.get("at") else domain
    return Wildcard(at, made.cnames, made.addresses, int(raw.get("width", len(made.addresses))))
