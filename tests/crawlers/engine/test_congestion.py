"""A server that cannot keep up: fewer queries in flight, few sent twice, and no name lost."""

import time

import pytest

from core.statuses import DnsStatus
from crawlers.engine.engine import Engine, EngineConfig, Question
from crawlers.engine.nameservers import Server
from crawlers.engine.retransmit_timer import CongestionWindow
from tests.crawlers.engine.responder import Responder, good
from tests.crawlers.engine.slow_server import MOST_LATE_S, SlowServer

pytestmark = pytest.mark.usefixtures("each_core")

NAMES = 3_000


def engine_of(server, **config):
    return Engine([Server("127.0.0.1", server.port)], EngineConfig(**config))


@pytest.mark.parametrize("is_named", [False, True])
def test_a_slow_server_answers_every_name(is_named):
    """Whether it is the engine's own or one that questions name."""
    with SlowServer(per_second=750) as slow:
        server = Server("127.0.0.1", slow.port)
        with Engine([Server("127.0.0.1", 9) if is_named else server]) as engine:
            named = server if is_named else None
            asked = [Question(f"n{i}.example", tag=i, server=named) for i in range(NAMES)]
            found = list(engine.ask(asked))
            queries = engine.stats.queries
    assert sorted(result.question.tag for result in found) == list(range(NAMES))
    assert {result.status for result in found} == {DnsStatus.NOERROR}
    # Without a window for each server it is twice as many, and an eighth of the names are lost.
    assert queries < 1.4 * NAMES


def test_questions_that_a_small_buffer_drops_are_asked_until_answered():
    asked = [Question(f"n{i}.example", tag=i) for i in range(600)]
    # On a busy machine the server may stand still, which is no matter of its buffer.
    for _ in range(5):
        with SlowServer(per_second=300, buffer_octets=24_000) as slow, engine_of(slow) as engine:
            found = list(engine.ask(asked))
            queries = engine.stats.queries
        is_answered = {result.status for result in found} == {DnsStatus.NOERROR}
        if (is_answered and queries < 4 * 600) or slow.late_s < MOST_LATE_S:
            break
    assert is_answered
    assert queries < 4 * 600


def test_a_reply_counts_although_the_question_was_sent_again():
    """A server that takes longer than the first time-out and answers each question but once."""

    def late(query, name, protocol, nth):
        if nth > 1:
            return None
        time.sleep(0.5)
        return [good(query, (name, "A", "192.0.2.1"))]

    with Responder(late) as responder, engine_of(responder, timeout_s=0.6) as engine:
        ((_, answer),) = engine.resolve([Question("a.example")])
        assert engine.stats.stray == 0
    assert answer.status == DnsStatus.NOERROR
    assert answer.attempts == 2
    assert 450 < answer.rtt_ms < 2_000


def test_a_late_reply_with_a_chain_is_followed_once():
    def late(query, name, protocol, nth):
        if name == "a.example":
            time.sleep(0.4 if nth == 1 else 0)
            return [good(query, (name, "CNAME", "b.example."))]
        return [good(query, (name, "A", "192.0.2.1"))]

    with Responder(late) as responder, engine_of(responder) as engine:
        found = list(engine.resolve([Question("a.example"), Question("c.example")]))
    assert len(found) == 2
    assert {answer.addresses for _, answer in found} == {("192.0.2.1",)}


def test_names_that_nobody_answers_do_not_stop_the_others():
    """Half of the names are dead, as behind a resolver that stays silent: that is no congestion."""

    def reply(query, name, protocol, nth):
        return None if name.startswith("dead") else [good(query, (name, "A", "192.0.2.1"))]

    names = [f"{'dead' if i % 2 else 'n'}{i}.example" for i in range(400)]
    with Responder(reply) as responder, engine_of(responder, timeout_s=0.3) as engine:
        found = {a.name: a for _, a in engine.resolve(map(Question, names))}
        window = engine.own_peers[0].window
    assert {a.status for n, a in found.items() if n[0] == "d"} == {DnsStatus.TIMEOUT}
    assert {a.status for n, a in found.items() if n[0] == "n"} == {DnsStatus.NOERROR}
    assert max(a.attempts for a in found.values()) <= 8
    assert window.size >= 16


def test_the_window_is_halved_once_per_round_trip_and_grows_back():
    window = CongestionWindow(2_000)
    window.note_answers(4_000)
    assert window.size == 2_000
    for _ in range(500):
        window.note_missing(sent_at=1.0, now=2.0, in_flight=1_984)
    # What was sent before the window was halved says nothing of its new size.
    assert window.size == 1_000
    for _ in range(200):
        window.note_answers(100)
    assert 1_100 < window.size < 1_400
    for moment in range(3, 300):
        for _ in range(100):
            window.note_missing(sent_at=moment, now=moment, in_flight=0)
    assert window.size == 16


def test_two_lost_packets_in_a_hundred_are_no_congestion():
    window = CongestionWindow(2_000)
    for moment in range(1, 2_000):
        window.note_answers(49)
        window.note_missing(sent_at=moment, now=moment, in_flight=1_000)
    assert (window.size, window.reduced_at) == (2_000, 0.0)
