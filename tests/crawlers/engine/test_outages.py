"""All servers of an engine fall silent for a while: no answer is lost, and none is made up."""

import socket
import threading
import time

import dns.rcode
import pytest

from core.errors import Unavailable
from core.records import DomainEntry
from core.statuses import DnsStatus, Technique
from crawlers.engine.engine import Engine, EngineConfig, OutageLimit, Question
from crawlers.engine.nameservers import Server
from crawlers.enumeration.enumeration import CrawlConfig, crawl_domains
from crawlers.sources.base import Harvest
from tests.crawlers.engine.responder import Responder, good

pytestmark = pytest.mark.usefixtures("each_core")

FAST = {"timeout_s": 0.25, "retries": 3}


class Moody:
    """Answers every name but dead ones, unless it is told to be silent."""

    def __init__(self):
        self.is_silent = False
        self.silent_from = None
        self.answered = 0

    def reply(self, query, name, protocol, nth):
        if self.silent_from is not None and self.answered >= self.silent_from:
            self.is_silent, self.silent_from = True, None
        if self.is_silent or name.startswith("dead"):
            return None
        self.answered += 1
        if name == "invalid":
            return [good(query, rcode=dns.rcode.NXDOMAIN)]
        return [good(query, (name, "A", "192.0.2.1"))]


def questions(n):
    return [Question(f"n{i}.example", tag=i) for i in range(n)]


@pytest.fixture
def moody():
    return Moody()


@pytest.mark.parametrize("silent_s", [0.6, 2.5])
def test_what_was_asked_during_an_outage_is_asked_again(moody, silent_s):
    told = []
    with Responder(moody.reply) as server:
        config = EngineConfig(**FAST, window=50, outage_limit=OutageLimit(60, told.append))
        with Engine([Server("127.0.0.1", server.port)], config) as engine:
            moody.silent_from = 60
            timer = threading.Timer(silent_s, setattr, (moody, "is_silent", False))
            timer.start()
            found = list(engine.resolve(questions(150)))
            timer.join()
    assert sorted(q.tag for q, _ in found) == list(range(150))
    assert {a.status for _, a in found} == {DnsStatus.NOERROR}
    if silent_s > 2:
        assert told


def test_without_patience_silence_is_an_answer(moody):
    moody.is_silent = True
    with (
        Responder(moody.reply) as server,
        Engine([Server("127.0.0.1", server.port)], EngineConfig(**FAST)) as engine,
    ):
        found = list(engine.resolve(questions(3)))
    assert {a.status for _, a in found} == {DnsStatus.TIMEOUT}


def test_a_name_that_nobody_answers_ends_although_nothing_else_is_asked(moody):
    asked = [Question("dead0.example"), *questions(20), Question("dead1.example")]
    with Responder(moody.reply) as server:
        config = EngineConfig(**FAST, outage_limit=OutageLimit(60))
        with Engine([Server("127.0.0.1", server.port)], config) as engine:
            found = {a.name: a for _, a in engine.resolve(asked)}
            alone = dict(engine.resolve([Question("dead2.example")]))
    assert found["dead0.example"].status == DnsStatus.TIMEOUT
    assert found["dead1.example"].status == DnsStatus.TIMEOUT
    assert sum(a.status == DnsStatus.NOERROR for a in found.values()) == 20
    (last,) = alone.values()
    assert last.status == DnsStatus.TIMEOUT
    assert last.attempts <= 1 + FAST["retries"] + 1


def test_one_silent_server_beside_a_good_one_is_no_outage(moody):
    with Responder(moody.reply) as server, socket.socket(type=socket.SOCK_DGRAM) as deaf:
        deaf.bind(("127.0.0.1", 0))
        both = [Server("127.0.0.1", server.port), Server(*deaf.getsockname())]
        # Half of the tries go to the deaf one, and the other may be slow on a busy machine.
        patient = EngineConfig(timeout_s=0.5, retries=8, outage_limit=OutageLimit(60))
        with Engine(both, patient) as engine:
            found = list(engine.resolve([*questions(100), Question("dead.example")]))
    statuses = {a.name: a.status for _, a in found}
    assert statuses.pop("dead.example") == DnsStatus.TIMEOUT
    assert set(statuses.values()) == {DnsStatus.NOERROR}


def test_a_closed_port_is_silence_too_and_ends_when_it_opens(moody):
    with socket.socket(type=socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    with Engine(
        [Server("127.0.0.1", port)], EngineConfig(**FAST, outage_limit=OutageLimit(60))
    ) as engine:
        later = threading.Timer(0.5, open_late, (port, moody))
        later.start()
        found = list(engine.resolve(questions(20)))
        later.join()
    assert {a.status for _, a in found} == {DnsStatus.NOERROR}


def open_late(port, moody):
    server = Responder(moody.reply)
    server.udp.close()
    server.udp = socket.socket(type=socket.SOCK_DGRAM)
    server.udp.bind(("127.0.0.1", port))
    threading.Thread(target=server._serve_udp, daemon=True).start()


def test_patience_ends_and_says_who_is_silent(moody):
    moody.is_silent = True
    with Responder(moody.reply) as server:
        config = EngineConfig(**FAST, outage_limit=OutageLimit(1.0))
        with Engine([Server("127.0.0.1", server.port)], config) as engine:
            begun = time.monotonic()
            with pytest.raises(Unavailable, match=f"no answer from 127.0.0.1:{server.port} for"):
                list(engine.resolve(questions(3)))
    assert time.monotonic() - begun > 1.0


def test_who_is_told_may_end_the_run(moody):
    class Over(Exception):
        pass

    def end(silent_s):
        raise Over

    moody.is_silent = True
    with Responder(moody.reply) as server:
        config = EngineConfig(**FAST, outage_limit=OutageLimit(60, end))
        with Engine([Server("127.0.0.1", server.port)], config) as engine, pytest.raises(Over):
            list(engine.resolve(questions(3)))


class Hushed:
    """A source of zone data whose first answer is silence."""

    technique = Technique.NSEC
    is_zone_data = True

    def __init__(self):
        self.asked = []

    def harvest(self, zones, engine):
        for zone in zones:
            self.asked.append(zone.domain)
            if self.asked.count(zone.domain) == 1 and zone.domain == "one.example":
                yield Harvest(zone.domain, status="TIMEOUT", complete=False)
            else:
                yield Harvest(zone.domain, status="OK", names=(f"hidden.{zone.domain}",))


def test_zone_data_that_own_servers_kept_silent_about_is_asked_for_again(moody):
    source = Hushed()
    config = CrawlConfig(wordlist=(), axfr=False, aaaa=False, sources=(source,))
    entries = [DomainEntry("one.example", 1), DomainEntry("two.example", 2)]
    with (
        Responder(moody.reply) as server,
        Engine(
            [Server("127.0.0.1", server.port)], EngineConfig(**FAST, outage_limit=OutageLimit(60))
        ) as engine,
    ):
        found = crawl_domains(entries, engine, config)
    assert source.asked == ["one.example", "two.example", "one.example"]
    assert {"hidden.one.example", "hidden.two.example"} <= {x.answer.name for x in found.lookups}


class Cut:
    """A resolver that answers SERVFAIL to all but its own names while its line is cut."""

    def __init__(self, broken=()):
        self.is_cut = False
        self.cut_from = None
        self.broken = broken
        self.answered = 0

    def reply(self, query, name, protocol, nth):
        if name == "invalid":
            return [good(query, rcode=dns.rcode.NXDOMAIN)]
        if self.cut_from is not None and self.answered >= self.cut_from:
            self.is_cut, self.cut_from = True, None
        if self.is_cut or name.endswith(self.broken):
            return [good(query, rcode=dns.rcode.SERVFAIL)]
        self.answered += 1
        return [good(query, (name, "A", "192.0.2.1"))]


def questions_of(n, zones=20):
    return [
        Question(f"n{i}.z{i % zones}.example", tag=i, zone=f"z{i % zones}.example")
        for i in range(n)
    ]


def ask_cut(resolver, asked, outage_limit=60, reports=None, timeout_s=0.25):
    report = (lambda _: None) if reports is None else reports.append
    with Responder(resolver.reply) as server:
        how = FAST | {"timeout_s": timeout_s}
        config = EngineConfig(**how, window=50, outage_limit=OutageLimit(outage_limit, report))
        with Engine([Server("127.0.0.1", server.port)], config) as engine:
            return [answer for _, answer in engine.resolve(asked)], server.asked


@pytest.mark.parametrize("cut_from", [0, 60])
def test_servfail_for_every_zone_is_an_outage(cut_from):
    resolver, reports = Cut(), []
    resolver.cut_from = cut_from
    timer = threading.Timer(2.5, setattr, (resolver, "is_cut", False))
    timer.start()
    found, _ = ask_cut(resolver, questions_of(150), reports=reports)
    timer.join()
    assert len(found) == 150
    assert {answer.status for answer in found} == {DnsStatus.NOERROR}
    assert reports


def test_patience_with_servfail_ends():
    resolver = Cut()
    resolver.is_cut = True
    with pytest.raises(Unavailable, match=r"nothing but SERVFAIL from 127\.0\.0\.1:"):
        ask_cut(resolver, questions_of(100), outage_limit=1.0)


@pytest.mark.parametrize("n_broken", [1, 4, 12])
def test_broken_zones_are_no_outage(n_broken):
    """Neither beside sound ones nor, at the end, alone."""
    broken = tuple(f"z{i}.example" for i in range(20 - n_broken, 20))
    asked = questions_of(200)
    asked += [Question(f"last{i}.{zone}", tag=-1, zone=zone) for zone in broken for i in range(5)]
    reports = []
    # Every query is answered; a busy machine may take its time.
    found, counts = ask_cut(Cut(broken), asked, reports=reports, timeout_s=5.0)
    assert len(found) == len(asked)
    for answer in found:
        is_broken = answer.name.endswith(broken)
        assert answer.status == (DnsStatus.SERVFAIL if is_broken else DnsStatus.NOERROR)
        assert answer.attempts <= 5
    assert not reports


def test_a_batch_of_few_zones_that_are_all_broken_ends():
    resolver = Cut()
    resolver.is_cut = True
    found, _ = ask_cut(resolver, questions_of(40, zones=4), outage_limit=5)
    assert {answer.status for answer in found} == {DnsStatus.SERVFAIL}
