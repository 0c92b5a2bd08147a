"""A name server whose zones have wildcards of every kind, and that remembers who asked what."""

import random
import zlib
from collections import Counter
from dataclasses import dataclass, field

from tests.crawlers.engine.responder import Responder, good

HOST = "203.0.113.7"


def flat(*addresses):
    return lambda name, rng: [(name, "A", a) for a in addresses]


def turning(first, size, shown):
    def answer(name, rng):
        return [(name, "A", pool(first, n)) for n in rng.sample(range(size), shown)]

    return answer


def pool(first, number):
    return f"198.{first}.{number // 256}.{number % 256}"


def by_label(name, rng):
    return [(name, "A", pool(19, zlib.crc32(name.encode()) % 60_000))]


def chain(name, rng):
    """Two aliases with targets drawn for every question."""
    one, two = f"e{rng.randrange(10**6)}.edge.example", f"n{rng.randrange(10**6)}.net.example"
    return [(name, "CNAME", f"{one}."), (one, "CNAME", f"{two}."), (two, "A", pool(18, 5))]


def for_each(name, rng):
    """An alias made from the name that was asked."""
    target = f"{name.split('.')[0]}.sites.example"
    return [(name, "CNAME", f"{target}."), (target, "A", pool(18, 6))]


def weighted(name, rng):
    return [(name, "A", pool(18, 9 if rng.random() < 0.97 else 700))]


def both(name, rng):
    """Now an alias, now an address."""
    return for_each(name, rng) if rng.random() < 0.5 else [(name, "A", pool(18, 6))]


@dataclass
class WildZone:
    """``wild`` answers below ``at``, unless it denies; ``own`` are the names that exist.

    ``nested`` are further wildcards, by the label of their level.
    """

    wild: object = None
    at: str = ""
    denies: float = 0.0
    types: tuple = ("A",)
    own: dict = field(default_factory=dict)
    nested: dict = field(default_factory=dict)


class WildServer:
    """Answers for zones by RFC 4592; ``asked`` counts (name, type)."""

    def __init__(self, zones, seed=1):
        self.zones = zones
        self.rng = random.Random(seed)
        self.asked = Counter()
        self.responder = Responder(self._reply)

    def __enter__(self):
        self.responder.__enter__()
        return self

    def __exit__(self, *error):
        self.responder.__exit__(*error)

    @property
    def port(self):
        return self.responder.port

    def _reply(self, query, name, protocol, turn):
        rrtype = query.question[0].to_text().split()[-1]
        self.asked[name, rrtype] += 1
        domain = next((d for d in self.zones if name == d or name.endswith(f".{d}")), "")
        if not domain:
            return [good(query, rcode=3)]
        if name == domain:
            known = {"A": [(name, "A", HOST)], "NS": [(name, "NS", f"ns1.{domain}.")]}
            return [good(query, *known.get(rrtype, ()))]
        return [self._in_zone(query, name, rrtype, domain, self.zones[domain])]

    def _in_zone(self, query, name, rrtype, domain, zone):
        own = {f"{label}.{domain}": data for label, data in zone.own.items()}
        if name in own:
            return good(query, *([(name, "A", a) for a in own[name]] if rrtype == "A" else ()))
        if any(held.endswith(f".{name}") for held in own):
            return good(query)
        wilds = {zone.at: zone.wild, **zone.nested} if zone.wild else {}
        wilds = {f"{at}.{domain}" if at else domain: make for at, make in wilds.items()}
        if name in wilds:
            return good(query)
        wild = wilds.get(self._encloser(name, {*own, *(f"*.{at}" for at in wilds)}, domain))
        if wild is None or self.rng.random() < zone.denies:
            return good(query, rcode=3)
        return good(query, *(wild(name, self.rng) if rrtype in zone.types else ()))

    def _encloser(self, name, held, domain):
        parent = name.partition(".")[2]
        while parent != domain and not any(o == parent or o.endswith(f".{parent}") for o in held):
            parent = parent.partition(".")[2]
        return parent
