"""Worlds that are specified name by name, for special cases."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from ipaddress import ip_address
from typing import Any

import dns.exception
import dns.rdata

from core.errors import BadInput
from testbed.generate.addresses.allocator import AddressAllocator
from testbed.world.model import Name, PublishedRanges, Wildcard, World, Zone

# "aws/us-east-1a#3": the third address of that zone; the same token is the same address.
_TOKEN = re.compile(r"(?P<who>[a-z]+(?:53)?)(?:/(?P<region>[a-z-]+\d*)(?P<zone>[a-f]?))?#\d+")


@dataclass(slots=True)
class _TokenAllocator:
    """Allocates the address of each token once."""

    allocator: AddressAllocator
    addresses: dict[str, str] = field(default_factory=dict)

    def resolve(self, token: str) -> str:
        found = _TOKEN.fullmatch(token)
        if found is None:
            return _plain_address(token)
        if token not in self.addresses:
            self.addresses[token] = self._new(found["who"], found["region"], found["zone"] or None)
        return self.addresses[token]

    def _new(self, who: str, region: str | None, zone: str | None) -> str:
        single = {
            "other": self.allocator.other_address,
            "cloudfront": self.allocator.cdn_address,
            "route53": self.allocator.dns_address,
        }
        if who in single:
            return single[who]()
        if region is None:
            raise BadInput(f"{who}: an address token needs a region, such as aws/us-east-1a#1")
        return self.allocator.compute_address(who, region, zone)


def build_explicit(
    raw: Mapping[str, Any],
    allocator: AddressAllocator,
    ranges: tuple[PublishedRanges, ...],
    seed: int,
) -> World:
    """The world of a file of kind ``explicit``; neither scale nor seed changes it."""
    tokens_to_addresses = _TokenAllocator(allocator)
    hosts = {
        str(host): tuple(tokens_to_addresses.resolve(t) for t in tokens)
        for host, tokens in raw.get("name_servers", {}).items()
    }
    world = World(
        str(raw["name"]),
        Fraction(1),
        seed,
        [],
        hosts,
        allocator.places,
        ranges,
        raw["as_of"],
        str(raw.get("origin", "")),
    )
    for index, entry in enumerate(raw["domains"], 1):
        _add_zone(world, entry, index, tokens_to_addresses)
    world.notes += allocator.notes
    return world


def _plain_address(text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError as error:
        raise BadInput(f"{text}: neither an address nor a token like aws/us-east-1a#1") from error


def _add_zone(
    world: World, entry: Mapping[str, Any], index: int, tokens_to_addresses: _TokenAllocator
) -> None:
    domain = str(entry["domain"])
    zone = Zone(
        domain,
        int(entry.get("rank", index)),
        servers=tuple(entry.get("servers", ())),
        transfer=str(entry.get("transfer", "refuse")),
        fault=str(entry.get("fault", "")),
        wildcard=_wildcard(domain, entry.get("wildcard"), tokens_to_addresses),
        records=_records(domain, entry.get("records", {})),
    )
    hidden = entry.get("hidden", {})
    for label, tokens in {**entry.get("names", {}), **hidden}.items():
        fqdn = domain if label == "@" else f"{label}.{domain}"
        zone.names.append(
            _name(fqdn, tokens, tokens_to_addresses, "random label" if label in hidden else "")
        )
    for label, upset in entry.get("upsets", {}).items():
        world.injected_faults[domain if label == "@" else f"{label}.{domain}"] = str(upset)
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


def _name(fqdn: str, tokens: list[str], tokens_to_addresses: _TokenAllocator, hidden: str) -> Name:
    cnames = tuple(token[:-1] for token in tokens if token.endswith("."))
    many = [t for token in tokens if not token.endswith(".") for t in _expand_token(token)]
    minted = [tokens_to_addresses.resolve(token) for token in many]
    v4 = tuple(a for a in minted if ":" not in a)
    return Name(fqdn, cnames, v4, tuple(a for a in minted if ":" in a), hidden)


def _expand_token(token: str) -> list[str]:
    """Expand a token with a range: ``aws/us-east-1a#1-90`` is ninety addresses."""
    stem, _, numbers = token.partition("#")
    first, _, last = numbers.partition("-")
    return [f"{stem}#{n}" for n in range(int(first), int(last) + 1)] if last else [token]


def _wildcard(
    domain: str, raw: Mapping[str, Any] | None, tokens_to_addresses: _TokenAllocator
) -> Wildcard | None:
    if raw is None:
        return None
    made = _name(domain, list(raw["answer"]), tokens_to_addresses, "")
    at = f"{raw['at']}.{domain}" if raw.get("at") else domain
    return Wildcard(at, made.cnames, made.addresses, int(raw.get("width", len(made.addresses))))
