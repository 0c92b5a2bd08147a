"""Whole crawls of batches of domains: sources, wildcards, manners and the budget of questions."""

import sys
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import pytest

from core.records import DomainEntry
from core.statuses import Technique
from crawlers.engine.engine import Engine, EngineConfig
from crawlers.engine.nameservers import Server
from crawlers.enumeration import bulk_queries
from crawlers.enumeration.enumeration import CrawlConfig, crawl_domains
from crawlers.enumeration.wildcard_level import PROBES, SAMPLES
from crawlers.sources.base import Harvest
from testbed.server.server import running
from testbed.truth.counting import hidden_reason
from testbed.world.model import ALLOW
from testbed.worlds.loading import build_world, read_labels
from tests.crawlers.engine.cores import load_compiled_step
from tests.crawlers.enumeration import wildcard_server as wild
from tests.crawlers.enumeration.wildcard_server import WildServer, WildZone

WORDS = read_labels(common=200)
OWN = {"www": ["192.0.2.1"], "shop": ["192.0.2.2", "192.0.2.3"], "www.dev": ["192.0.2.4"]}
OWN |= {WORDS[n]: [f"192.0.2.{100 + n}"] for n in range(20, 26)}


@pytest.fixture(autouse=True, params=["compiled", "reference"])
def each_core(request, monkeypatch):
    """Every crawl here runs with the compiled loop, however short it is, and without."""
    is_compiled = request.param == "compiled"
    if is_compiled:
        load_compiled_step()
    monkeypatch.setattr(bulk_queries, "_FEW", 1 if is_compiled else sys.maxsize)
    monkeypatch.setattr(bulk_queries, "_MANY", 1)
    return request.param


def crawl(server, domains, words=WORDS, **config):
    entries = [DomainEntry(domain, rank) for rank, domain in enumerate(domains, 1)]
    # No more in flight than the server, which takes a millisecond for each, answers in time.
    with Engine([Server("127.0.0.1", server.port)], EngineConfig(window=32)) as engine:
        return crawl_domains(entries, engine, CrawlConfig(words, axfr=False, **config))


def found_in(crawled):
    others = {o.domain for o in crawled.outcomes}
    others |= {host for o in crawled.outcomes for host in o.name_servers}
    names = {x.answer.name for x in crawled.lookups if x.answer.addresses}
    return names - others


def names_of(domain, zone):
    return {f"{label}.{domain}" for label in zone.own}


def test_it_works():
    zones = {"elm.test": WildZone(own=OWN)}
    with WildServer(zones) as server:
        crawled = crawl(server, zones)
    assert found_in(crawled) >= {f"{label}.elm.test" for label in ("www", "shop")}
    outcome = crawled.outcomes[0]
    assert not outcome.wildcard
    counted = (outcome.found, outcome.nxdomain, outcome.nodata, outcome.wildcard_filtered)
    assert outcome.asked == sum(counted) == len(WORDS) + 1


def test_no_false_name_in_the_world_of_wildcards():
    world = build_world("wildcards", scale=Fraction(1, 10), labels=WORDS)
    words = frozenset(WORDS)
    exist = {name.fqdn for _, name in world.names()}
    wanted = {
        n.fqdn
        for zone, n in world.names()
        if n.fqdn != zone.domain and not hidden_reason(zone, n, words, axfr=False)
    }
    with running(world) as server:
        crawled = crawl(server, [zone.domain for zone in world.zones])
    found = found_in(crawled)
    assert found <= exist
    assert len(wanted - found) <= 0.01 * len(wanted)
    plain = [o for o in crawled.outcomes if not o.wildcard]
    assert all(0 < o.probes <= PROBES * o.levels for o in plain)
    assert sum(o.wildcard for o in crawled.outcomes) == sum(
        z.wildcard is not None for z in world.zones
    )


def test_wildcards_at_one_to_four_levels_of_every_kind_hide_no_name():
    """Also names that answer as their wildcard does, which only names below them tell from it."""
    world = build_world("wildcard-levels", labels=WORDS)
    wild = {zone.domain: len(zone.wildcards) for zone in world.zones if zone.wildcards}
    assert set(wild.values()) == {1, 2, 3, 4}
    exist = {name.fqdn for _, name in world.names()} - {zone.domain for zone in world.zones}
    wanted = {
        name.fqdn
        for zone, name in world.names()
        if name.fqdn.removesuffix(f".{zone.domain}") in WORDS
    }
    with running(world) as server:
        crawled = crawl(server, [zone.domain for zone in world.zones])
    found = found_in(crawled)
    assert found <= exist
    assert len(wanted - found) <= 0.005 * len(wanted)
    extra = {o.domain: o.probes for o in crawled.outcomes}
    # One question below each candidate, and few more; without a wildcard, as ever.
    assert all(extra[domain] <= 1.3 * len(WORDS) for domain in wild)
    assert all(n <= PROBES for domain, n in extra.items() if domain not in wild)


LISTED = {f"vault{n}{'.dev' if n % 4 == 0 else ''}": [f"198.51.100.{n}"] for n in range(40)}
LEVELS = {
    "*": [""],
    "* and *.dev": ["", "dev"],
    "* and *.dev and *.test": ["", "dev", "test"],
    "* and *.dev and *.test and *.api": ["", "dev", "test", "api"],
}


@pytest.mark.parametrize("is_same", [True, False], ids=["same answer", "own answers"])
@pytest.mark.parametrize("levels", LEVELS)
def test_no_name_is_lost_whatever_answers_at_deeper_levels(levels, is_same):
    inner = [w for w in WORDS if "." in w and w.rpartition(".")[2] in ("dev", "test", "api")]
    labels = ["dev", "api", *inner[:6], *(w for w in WORDS[40:53] if w != "ns1")]
    own = {label: [f"198.51.100.{n}"] for n, label in enumerate(labels)}
    wilds = {
        at: wild.flat("203.0.113.1" if is_same else f"203.0.113.{n}")
        for n, at in enumerate(LEVELS[levels], 1)
    }
    zones = {"elm.test": WildZone(wilds[""], own=own, nested=wilds)}
    with WildServer(zones) as server:
        crawled = crawl(server, zones)
    assert found_in(crawled) == names_of("elm.test", zones["elm.test"])


def test_imported_names_are_found_beside_a_single_word():
    source = Tellers(Technique.IMPORT, tuple(LISTED))
    zones = {"elm.test": WildZone(wild.flat("203.0.113.1"), own=LISTED)}
    with WildServer(zones) as server:
        crawled = crawl(server, zones, words=("www",), sources=(source,))
    assert found_in(crawled) == names_of("elm.test", zones["elm.test"])


KINDS = {
    "one address": WildZone(wild.flat("198.51.100.1")),
    "three addresses": WildZone(wild.flat("198.51.100.1", "198.51.100.2", "198.51.100.3")),
    "one of fifty": WildZone(wild.turning(18, 50, 1)),
    "two of four": WildZone(wild.turning(18, 4, 2)),
    "by label": WildZone(wild.by_label),
    "chain with random targets": WildZone(wild.chain),
    "alias for each name": WildZone(wild.for_each),
    "weighted": WildZone(wild.weighted),
    "alias or address": WildZone(wild.both),
    "second level": WildZone(wild.flat("198.51.100.1"), at="dev"),
    "second level, turning": WildZone(wild.turning(18, 9, 1), at="staging"),
    "denies a tenth": WildZone(wild.flat("198.51.100.1"), denies=0.1),
    "denies half": WildZone(wild.turning(18, 20, 1), denies=0.5),
    "denies nine tenths": WildZone(wild.turning(18, 20, 1), denies=0.9),
    "denies nine tenths of IPv6 too": WildZone(
        wild.flat("198.51.100.1"), denies=0.9, types=("A", "AAAA")
    ),
    "IPv6 only": WildZone(wild.flat("198.51.100.1"), types=("TXT",)),
}


@cache
def crawl_of(kind, core):
    """(zones, what the server was asked, the crawl) of three zones with the same wildcard.

    ``core`` is what ``each_core`` has set.
    """
    zones = {f"z{n}.test": WildZone(**{**vars(KINDS[kind]), "own": OWN}) for n in range(3)}
    with WildServer(zones) as server:
        return zones, server.asked, crawl(server, zones)


@pytest.mark.parametrize("kind", KINDS)
def test_no_wildcard_of_any_kind_makes_a_name(kind, each_core):
    zones, _, crawled = crawl_of(kind, each_core)
    assert found_in(crawled) <= {n for d, zone in zones.items() for n in names_of(d, zone)}


@pytest.mark.parametrize("kind", ["three addresses", "two of four", "second level"])
def test_names_that_answer_otherwise_are_kept(kind):
    zones = {f"z{n}.test": WildZone(**{**vars(KINDS[kind]), "own": OWN}) for n in range(2)}
    with WildServer(zones) as server:
        crawled = crawl(server, zones, words=(*WORDS, "www.dev"))
    assert found_in(crawled) == {n for d, zone in zones.items() for n in names_of(d, zone)}


@pytest.mark.parametrize("kind", KINDS)
def test_no_zone_is_asked_more_than_its_budget(kind, each_core):
    """Counted at the server: whatever is neither a candidate nor the zone's own.

    One question below each candidate, one more below those that exist or whose question failed;
    random names per level.
    """
    zones, asked, crawled = crawl_of(kind, each_core)
    candidates = {f"{word}.{domain}" for domain in zones for word in WORDS}
    expected = candidates | set(zones) | {f"ns1.{domain}" for domain in zones}
    # A packet that was sent twice on a busy machine is one question; so distinct names count.
    extra = Counter(
        next(d for d in zones if name.endswith(d)) for name, _ in asked if name not in expected
    )
    names = {name for name, _ in asked}
    for outcome in crawled.outcomes:
        tests = 2 * len(WORDS) if outcome.wildcard else 0
        saved = sum(f"{word}.{outcome.domain}" not in names for word in WORDS)
        # One word is a name server, too, and asked as such.
        saved += bool(saved)
        assert extra[outcome.domain] - saved <= outcome.probes <= tests + SAMPLES * outcome.levels


@pytest.mark.parametrize("kind", ["one address", "two of four", "by label", "alias for each name"])
def test_a_question_below_each_candidate_stands_for_its_own(kind):
    """Where names are seen to exist, those below which the wildcard answers are not asked."""
    zones = {"elm.test": WildZone(**{**vars(KINDS[kind]), "own": OWN})}
    with WildServer(zones) as server:
        crawled = crawl(server, zones)
    outcome = crawled.outcomes[0]
    own = {f"{label}.elm.test" for label in OWN if "." not in label}
    assert found_in(crawled) >= own
    assert outcome.probes < 3 * len(OWN) + SAMPLES
    assert sum(f"{word}.elm.test" in {n for n, _ in server.asked} for word in WORDS) < 20
    counted = (outcome.found, outcome.nxdomain, outcome.nodata, outcome.wildcard_filtered)
    assert outcome.asked == sum(counted) == len(WORDS) + 1


def test_nothing_is_asked_below_names_of_the_opt_out_list():
    zones = {"elm.test": WildZone(wild.flat("198.51.100.1"), own=OWN)}
    with WildServer(zones) as server:
        crawl(server, zones, opt_out=frozenset({"www.elm.test"}))
    assert not [n for n, _ in server.asked if n.endswith("www.elm.test")]


def test_what_cannot_be_told_is_shown_and_not_counted():
    # No name shows whether the wildcard answers below names that exist.
    zones = {"elm.test": WildZone(wild.by_label)}
    with WildServer(zones) as server:
        crawled = crawl(server, zones)
    outcome = crawled.outcomes[0]
    assert outcome.suspected == len(crawled.suspects) > 150
    assert not {s.answer.name for s in crawled.suspects} & found_in(crawled)
    assert outcome.found + outcome.wildcard_filtered + outcome.nodata == outcome.asked


@dataclass
class Tellers:
    """A source with names of its own."""

    technique: Technique
    names: tuple
    is_zone_data: bool = False
    status: str = "OK"
    asked_with: tuple = ()

    def harvest(self, zones, engine):
        for zone in zones:
            self.asked_with = zone.found
            made = tuple(f"{label}.{zone.domain}" for label in self.names)
            yield Harvest(zone.domain, self.status, made)


def test_every_name_carries_all_sources_that_named_it():
    own = {"www": ["192.0.2.1"], "vault": ["192.0.2.2"], "cellar": ["192.0.2.3"]}
    sources = (
        Tellers(Technique.IMPORT, ("vault", "www", "nothing")),
        Tellers(Technique.CERTIFICATE, ("vault",), status="TIMEOUT"),
        Tellers(Technique.PERMUTATION, ("cellar", "www")),
    )
    zones = {"elm.test": WildZone(own=own)}
    with WildServer(zones) as server:
        crawled = crawl(server, zones, sources=sources)
    tags = {x.answer.name.split(".")[0]: x.sources for x in crawled.lookups if x.sources}
    assert tags["vault"] == (Technique.IMPORT, Technique.CERTIFICATE)
    assert tags["www"] == (Technique.IMPORT, Technique.WORDLIST, Technique.PERMUTATION)
    assert tags["cellar"] == (Technique.PERMUTATION,)
    assert "www.elm.test" in sources[2].asked_with
    assert server.asked["www.elm.test", "A"] == 1


def test_names_of_a_whole_zone_leave_nothing_to_guess():
    source = Tellers(Technique.NSEC, ("vault",), is_zone_data=True)
    zones = {"elm.test": WildZone(wild.flat("192.0.2.9"), own={"vault": ["192.0.2.9"]})}
    with WildServer(zones) as server:
        crawled = crawl(server, zones, sources=(source,))
    assert found_in(crawled) == {"vault.elm.test"}
    assert sum(server.asked.values()) < 10


def test_imported_names_are_sifted_too():
    source = Tellers(Technique.IMPORT, ("invented", "www"))
    zones = {"elm.test": WildZone(wild.flat("192.0.2.9"), own={"www": ["192.0.2.1"]})}
    with WildServer(zones) as server:
        crawled = crawl(server, zones, sources=(source,))
    assert found_in(crawled) == {"www.elm.test"}


def test_whoever_opted_out_is_not_asked_nor_anything_below():
    zones = {d: WildZone(own=OWN) for d in ("quiet.test", "elm.test")}
    source = Tellers(Technique.IMPORT, ("a.secret", "secret", "open"))
    opt_out = frozenset({"quiet.test", "secret.elm.test"})
    with WildServer(zones) as server:
        domains = ["quiet.test", "deep.quiet.test", "elm.test"]
        crawled = crawl(server, domains, sources=(source,), opt_out=opt_out)
    names = {name for name, _ in server.asked}
    assert not {n for n in names if n.endswith("quiet.test") or n.endswith("secret.elm.test")}
    assert "open.elm.test" in names
    failed = {o.domain: dict(o.failed) for o in crawled.outcomes}
    assert failed["quiet.test"] == failed["deep.quiet.test"] == {"OPTED_OUT": 1}
    assert failed["elm.test"] == {"OPTED_OUT": 2}


def test_zones_are_transferred_only_where_it_is_permitted():
    world = build_world("tiny")
    open_zones = sorted(zone.domain for zone in world.zones if zone.transfer == ALLOW)
    with running(world) as server:

        def transfers(permitted):
            entries = [DomainEntry(domain, 1) for domain in open_zones]
            config = CrawlConfig(WORDS[:3], transfer_domains=permitted)
            with Engine([Server("127.0.0.1", server.port)], EngineConfig(window=32)) as engine:
                return {
                    o.domain: o.transfer for o in crawl_domains(entries, engine, config).outcomes
                }

        assert set(transfers(None).values()) == {"OK"}
        assert set(transfers(frozenset()).values()) == {"SKIPPED"}
        chosen = transfers(frozenset({open_zones[0]}))
    assert chosen.pop(open_zones[0]) == "OK"
    assert set(chosen.values()) <= {"SKIPPED"}


def test_the_zones_take_turns():
    """No zone is asked in a burst, though one has four times the names of another."""
    order = []

    class Listening(WildServer):
        def _reply(self, query, name, protocol, turn):
            order.append(name)
            return super()._reply(query, name, protocol, turn)

    zones = {f"z{n}.test": WildZone(own=OWN) for n in range(4)}
    source = Tellers(Technique.IMPORT, tuple(f"n{n}" for n in range(3 * len(WORDS))))

    class Once(Tellers):
        def harvest(self, zones, engine):
            return (
                h if h.domain == "z0.test" else Harvest(h.domain)
                for h in super().harvest(zones, engine)
            )

    once = Once(Technique.IMPORT, source.names)
    with Listening(zones) as server:
        crawl(server, zones, sources=(once,), aaaa=False)
    middle = order[len(order) // 4 : len(order) // 2]
    shares = Counter(name.rpartition(".z")[2][0] for name in middle)
    total = sum(shares.values())
    assert shares["0"] / total == pytest.approx(4 / 7, abs=0.06)
    assert all(shares[n] / total == pytest.approx(1 / 7, abs=0.04) for n in "123")
