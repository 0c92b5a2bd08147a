"""Verdicts on candidates, held against wildcards of every kind with a known truth."""

import random
import zlib
from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.records import Record
from core.statuses import DnsStatus
from crawlers.enumeration.candidates import Verdict
from crawlers.enumeration.wildcard_comparison import MOST_TESTS
from crawlers.enumeration.wildcard_level import SAMPLES, Level
from crawlers.enumeration.wildcard_statistics import count_needed
from tests.examples import examples

ZONE = "elm.test"
WORDS = [f"word{i}" for i in range(600)]


def address(number):
    return f"198.{18 + number // 65536}.{number // 256 % 256}.{number % 256}"


@dataclass
class Zone:
    """A name server for one level: ``wild`` makes what nobody made, ``own`` is what exists."""

    wild: object
    own: dict = field(default_factory=dict)
    asked: Counter = field(default_factory=Counter)
    fails: bool = False
    one_label_only: bool = False

    def answer(self, name, rrtype="A"):
        self.asked[rrtype] += 1
        if self.fails:
            return DnsStatus.TIMEOUT, ()
        if name in self.own:
            return DnsStatus.NOERROR, records(name, self.own[name])
        if any(name.endswith("." + held) for held in self.own):
            return DnsStatus.NXDOMAIN, ()
        if self.one_label_only and name.count(".") > ZONE.count(".") + 1:
            return DnsStatus.NXDOMAIN, ()
        return self.wild(name, rrtype)


def records(name, data):
    if isinstance(data, str):
        return (Record(name, "CNAME", 60, data), Record(data, "A", 60, "203.0.113.99"))
    return tuple(Record(name, "A", 60, a) for a in data)


def turning(pool, rng, most):
    """Random members of a pool in random order, now more, now fewer."""

    def wild(name, rrtype):
        shown = rng.sample(pool, rng.randint(1, min(most, len(pool))))
        return DnsStatus.NOERROR, records(name, shown)

    return wild


def cyclic(pool, width):
    state = Counter()

    def wild(name, rrtype):
        state["turn"] += 1
        shown = [pool[(state["turn"] + i) % len(pool)] for i in range(width)]
        return DnsStatus.NOERROR, records(name, shown)

    return wild


def aliases(make):
    return lambda name, rrtype: (DnsStatus.NOERROR, records(name, make(name)))


def probe(level, zone, next_probe):
    while asked := next_probe():
        assert len({one.name for one in asked}) == len(asked)
        for one in asked:
            level.learn(one, *zone.answer(one.name, one.type))


def crawl(zone, words=WORDS, at=ZONE):
    """(verdicts by name, the level): what enumeration does at one level."""
    level, verdicts = Level(at), {}
    probe(level, zone, level.open_probe)
    for word in words:
        name = f"{word}.{at}"
        status, answers = zone.answer(name)
        if answers:
            verdicts[name] = level.offer(name, answers, name)
        elif status == DnsStatus.NXDOMAIN:
            level.deny(name)
    probe(level, zone, level.open_probe)
    probe(level, zone, level.check_probes)
    verdicts.update(level.release())
    assert level.asked <= SAMPLES
    assert level.tested <= 2 * MOST_TESTS * len(verdicts)
    assert sum(zone.asked.values()) == len(words) + level.questions
    return verdicts, level


def kept(verdicts):
    return {name for name, verdict in verdicts.items() if verdict == Verdict.GENUINE}


def own_names(words, count, first=40_000):
    return {f"{word}.{ZONE}": [address(first + i)] for i, word in enumerate(words[:count])}


def test_it_works():
    own = own_names(WORDS, 4)
    verdicts, level = crawl(Zone(cyclic([address(1)], 1), own))
    assert kept(verdicts) == set(own)
    assert level.answers


def test_without_a_wildcard_everything_is_kept_for_one_question():
    own = own_names(WORDS, 30)
    verdicts, level = crawl(Zone(lambda *_: (DnsStatus.NXDOMAIN, ()), own))
    assert kept(verdicts) == set(own)
    assert (level.asked, level.answers) == (1, False)


@settings(max_examples=examples(150), deadline=None)
@given(st.integers(1, 400), st.integers(1, 8), st.integers(0, 20), st.integers(1, 600), st.data())
def test_no_name_is_false_whatever_turns(size, most, n_own, n_words, data):
    rng = random.Random(data.draw(st.integers(0, 2**32)))
    words = WORDS[:n_words]
    own = own_names(rng.sample(words, len(words)), min(n_own, n_words))
    verdicts, _ = crawl(Zone(turning([address(i) for i in range(size)], rng, most), own), words)
    assert kept(verdicts) <= set(own)


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(1, 60), st.integers(1, 8), st.integers(0, 20), st.integers(1, 600))
def test_no_name_is_false_when_it_turns_in_a_circle(size, width, n_own, n_words):
    words = WORDS[:n_words]
    own = own_names(words, min(n_own, n_words))
    zone = Zone(cyclic([address(i) for i in range(size)], min(width, size)), own)
    assert kept(crawl(zone, words)[0]) <= set(own)


TARGETS = {
    "one": lambda rng: lambda name: "parked.hosting.example",
    "per name": lambda rng: lambda name: f"h{abs(hash(name))}.cdn.example",
    "per name, longer": lambda rng: lambda name: f"{name}.s{rng.randint(1, 9)}.cdn.example",
    "turning": lambda rng: lambda name: f"edge{rng.randint(1, 6)}.cdn{rng.randint(1, 3)}.example",
    "many": lambda rng: lambda name: f"x{rng.randint(1, 90)}.a{rng.randint(1, 90)}.example",
}


@settings(max_examples=examples(100), deadline=None)
@given(st.sampled_from(sorted(TARGETS)), st.integers(0, 9), st.integers(1, 600), st.data())
def test_no_name_is_false_behind_aliases(kind, n_own, n_words, data):
    rng = random.Random(data.draw(st.integers(0, 2**32)))
    words = WORDS[:n_words]
    own = own_names(words, min(n_own, n_words))
    own |= {f"{w}.{ZONE}": f"lb-{w}.elsewhere.test" for w in words[n_own : n_own + 3]}
    zone = Zone(aliases(TARGETS[kind](rng)), own)
    assert kept(crawl(zone, words)[0]) <= set(own)


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(2, 30), st.integers(20, 200), st.data())
def test_many_names_on_one_member_of_the_pool_make_no_other_member_a_name(size, n_own, data):
    """The first random answer may show the very member that many names really use."""
    rng = random.Random(data.draw(st.integers(0, 2**32)))
    pool = [address(i) for i in range(size)]
    own = {f"{word}.{ZONE}": [pool[0]] for word in WORDS[:n_own]}
    verdicts, _ = crawl(Zone(turning(pool, rng, 1), own))
    assert kept(verdicts) <= set(own)


WILD = {
    "one": lambda rng: cyclic([address(1)], 1),
    "two of four": lambda rng: cyclic([address(i) for i in range(4)], 2),
    "one of twelve": lambda rng: cyclic([address(i) for i in range(12)], 1),
    "three of twelve": lambda rng: turning([address(i) for i in range(12)], rng, 3),
    "one of 300": lambda rng: turning([address(i) for i in range(300)], rng, 1),
    "by name": lambda rng: (
        lambda name, _: (
            DnsStatus.NOERROR,
            records(name, [address(zlib.crc32(name.encode()) % 60_000)]),
        )
    ),
    **{f"alias {kind}": lambda rng, k=kind: aliases(TARGETS[k](rng)) for kind in TARGETS},
}


@pytest.mark.parametrize("n_words", [20, 600])
@pytest.mark.parametrize("kind", WILD)
def test_every_name_is_found_beside_any_wildcard(kind, n_words):
    wild = WILD[kind](random.Random(1))
    own = own_names(WORDS, 17)
    # At the wildcard's own address, and behind its own alias.
    like = wild(f"word17.{ZONE}", "A")[1]
    own[f"word17.{ZONE}"] = (
        like[0].data if like[0].type == "CNAME" else [record.data for record in like]
    )
    own |= {f"word{n}.{ZONE}": f"lb-{n}.hosting.example" for n in (18, 19)}
    verdicts, level = crawl(Zone(wild, own), WORDS[:n_words])
    assert kept(verdicts) == set(own)
    # One question below each name, up to four more below each that exists.
    assert level.tested <= n_words + 4 * len(own)


@pytest.mark.parametrize("n_own", [1, 20])
def test_where_names_below_a_name_are_answered_too_the_answers_are_compared(n_own):
    """A server that answers at any depth follows no rule that would show what exists."""

    class AnyDepth(Zone):
        def answer(self, name, rrtype="A"):
            self.asked[rrtype] += 1
            if name in self.own:
                return DnsStatus.NOERROR, records(name, self.own[name])
            return self.wild(name, rrtype)

    for wild in (cyclic([address(1)], 1), cyclic([address(i) for i in range(4)], 2)):
        own = own_names(WORDS, n_own)
        assert kept(crawl(AnyDepth(wild, own))[0]) == set(own)


def test_a_server_that_answers_everything_makes_no_name_of_a_level():
    """It answers for ``dev`` as for any other name, though only a name below ``dev`` exists."""

    class AnyDepth(Zone):
        def answer(self, name, rrtype="A"):
            self.asked[rrtype] += 1
            own = records(name, self.own[name]) if name in self.own else None
            return (DnsStatus.NOERROR, own) if own else self.wild(name, rrtype)

    zone = AnyDepth(cyclic([address(1)], 1), own_names(WORDS, 5))
    level = Level(ZONE)
    level.proven.add(f"dev.{ZONE}")
    probe(level, zone, level.open_probe)
    for word in [*WORDS[:100], "dev"]:
        name = f"{word}.{ZONE}"
        level.offer(name, zone.answer(name)[1], name)
    probe(level, zone, level.check_probes)
    assert kept(dict(level.release())) == set(zone.own)


def test_a_wildcard_that_hardly_ever_denies_itself_hides_nothing():
    rng = random.Random(5)

    def wild(name, rrtype):
        denied = rng.random() < 0.01
        return (
            (DnsStatus.NXDOMAIN, ()) if denied else (DnsStatus.NOERROR, records(name, [address(1)]))
        )

    own = own_names(WORDS, 20)
    for _ in range(5):
        assert kept(crawl(Zone(wild, own))[0]) == set(own)


def test_a_neighbour_at_the_same_host_is_kept():
    own = {f"shop.{ZONE}": "shop-4.hosting.example"}
    zone = Zone(aliases(TARGETS["one"](None)), own)
    assert kept(crawl(zone, ["shop", *WORDS])[0]) == set(own)


def test_with_few_words_two_names_can_be_proven_to_exist():
    own = own_names(["web", "api"], 2)
    verdicts, level = crawl(Zone(cyclic([address(1)], 1), own), ["web", "api", "no"])
    assert kept(verdicts) == set(own)
    # With so few names only five denials show that one exists.
    assert level.tested == 5 + 5 + 1


@pytest.mark.parametrize("share", [0.2, 0.1, 0.03, 0.01])
def test_a_rare_member_of_a_pool_is_found_out(share):
    """Weighted answers are as common as fair ones, and far more alike to real names."""
    rng = random.Random(3)

    def wild(name, rrtype):
        return DnsStatus.NOERROR, records(name, [address(2 if rng.random() < share else 1)])

    for _ in range(20):
        zone = Zone(wild, own_names(WORDS, 3))
        assert kept(crawl(zone)[0]) <= set(zone.own)


def test_a_network_of_rare_answers_is_found_out_as_one():
    """One name in thirty gets an address of its own, all of one network."""

    def wild(name, rrtype):
        shown = zlib.crc32(name.encode())
        data = address(shown % 200) if shown % 30 == 0 else address(70_000)
        return DnsStatus.NOERROR, records(name, [data])

    own = own_names(WORDS, 3)
    zone = Zone(wild, own)
    assert kept(crawl(zone)[0]) <= set(own)


class Scripted(Zone):
    """Answers below one name that does not exist as a list says, elsewhere by the wildcard."""

    def __init__(self, wild, own, below, script, asterisks=True):
        super().__init__(wild, own)
        self.below, self.script, self.asterisks = below, list(script), asterisks

    def answer(self, name, rrtype="A"):
        if ".*." in name and not self.asterisks:
            self.asked[rrtype] += 1
            return DnsStatus.NXDOMAIN, ()
        if name.endswith(f".{self.below}") and self.script:
            self.asked[rrtype] += 1
            given = self.script.pop(0)
            return (DnsStatus.NOERROR, records(name, given)) if given else (DnsStatus.NXDOMAIN, ())
        return super().answer(name, rrtype)


@pytest.mark.parametrize("asterisks", [True, False])
def test_rare_answers_below_a_name_by_chance_do_not_make_it_a_name(asterisks):
    """Where one answer in thirty is a rare one, three in a row happen in one of some 150 crawls."""
    own, rare = own_names(WORDS, 5), [[address(2)]] * 3
    zone = Scripted(cyclic([address(1)], 1), own, f"word150.{ZONE}", rare, asterisks)
    assert kept(crawl(zone, WORDS[:200])[0]) == set(own)
    assert len(zone.script) < len(rare)


def test_denials_below_a_name_by_chance_do_not_make_it_a_name():
    own = own_names(WORDS, 5)
    zone = Scripted(cyclic([address(1)], 1), own, f"word150.{ZONE}", [None] * 2)
    assert kept(crawl(zone, WORDS[:200])[0]) == set(own)
    assert not zone.script


@given(st.integers(1, 30), st.floats(0, 0.3), st.integers(60, 4_000), st.randoms())
def test_so_many_rare_answers_are_hardly_ever_chance(n_candidates, share, n_seen, rng):
    """The number follows from what was seen of the share, not from the share itself."""
    n_rare = sum(rng.random() < share for _ in range(n_seen))
    needed = count_needed(n_candidates, n_rare, n_seen)
    # Where far fewer rare answers were seen than usual, one in some thousand runs, it may be more.
    assert n_candidates * share**needed < 1e-2
    assert needed >= 2
    assert count_needed(n_candidates, n_seen, n_seen) > 1_000


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7])
def test_a_wildcard_that_often_denies_itself_makes_no_false_name(share, seed):
    rng = random.Random(seed)

    def wild(name, rrtype):
        denied = rng.random() < share
        return (DnsStatus.NXDOMAIN, ()) if denied else (DnsStatus.NOERROR, one(name))

    def one(name):
        return records(name, [address(1)])

    own = own_names(WORDS, 5)
    verdicts, level = crawl(Zone(wild, own))
    assert kept(verdicts) <= set(own)
    assert level.answers


def test_denials_below_a_name_show_that_it_exists():
    own = own_names(["staging"], 1)
    words = [*(f"{x}.staging" for x in ("www", "api")), "staging", "other"]
    verdicts, level = crawl(
        Zone(turning([address(i) for i in range(90)], random.Random(1), 1), own), words
    )
    assert verdicts[f"staging.{ZONE}"] == Verdict.GENUINE
    # The two names that were denied count as two of five denials; one question below the other.
    assert level.tested == 3 + 1


def test_a_wildcard_without_addresses_hides_nothing():
    own = own_names(WORDS, 5)

    def wild(name, rrtype):
        if rrtype == "AAAA":
            return DnsStatus.NOERROR, (Record(name, "AAAA", 60, "2001:db8::1"),)
        return DnsStatus.NODATA, ()

    verdicts, level = crawl(Zone(wild, own))
    assert kept(verdicts) == set(own)
    assert level.answers
    verdicts, level = crawl(Zone(lambda *_: (DnsStatus.NODATA, ()), own))
    assert kept(verdicts) == set(own)
    assert not level.answers


def test_silence_is_neither_a_wildcard_nor_its_absence():
    zone = Zone(None, own_names(WORDS, 3))
    level = Level(ZONE)
    zone.fails = True
    probe(level, zone, level.open_probe)
    zone.fails = False
    for name in zone.own:
        assert level.offer(name, zone.answer(name)[1], name) is None
    assert level.asked == 3
    assert {v for _, v in level.release()} == {Verdict.SUSPECTED}


def test_a_server_whose_wildcards_hold_one_label_only_proves_nothing():
    own = own_names(WORDS, 3)
    zone = Zone(cyclic([address(1), address(2)], 1), own, one_label_only=True)
    verdicts, level = crawl(zone)
    assert not level.is_deep
    assert kept(verdicts) == set(own)
    few = Zone(zone.wild, own, one_label_only=True)
    assert not kept(crawl(few, WORDS[:3])[0])


def test_a_long_word_list_holds_back_no_more_than_it_must(monkeypatch):
    monkeypatch.setattr("crawlers.enumeration.wildcard_level.MOST_HELD", 500)
    words = [f"w{i}" for i in range(6_000)]
    own = own_names(words[100:], 10)
    zone = Zone(cyclic([address(i) for i in range(20)], 1), own)
    level = Level(ZONE)
    probe(level, zone, level.open_probe)
    verdicts, most = {}, 0
    for word in words:
        name = f"{word}.{ZONE}"
        verdicts[name] = level.offer(name, zone.answer(name)[1], name)
        most = max(most, len(level.held))
    probe(level, zone, level.check_probes)
    verdicts.update(level.release())
    assert most <= 501
    assert kept(verdicts) == set(own)
    assert level.let_go + len([v for v in verdicts.values() if v]) == len(words)
