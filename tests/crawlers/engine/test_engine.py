import dns.flags
import pytest

from core.errors import BadInput
from crawlers.engine.engine import Engine, EngineConfig, Question
from crawlers.engine.nameservers import Server
from tests.crawlers.engine.responder import Responder, good

pytestmark = pytest.mark.usefixtures("each_core")

QUICK = EngineConfig(timeout_s=0.5, retries=3)


def resolve(reply, *questions, config=QUICK):
    with (
        Responder(reply) as responder,
        Engine([Server("127.0.0.1", responder.port)], config) as engine,
    ):
        answers = {q.name: a for q, a in engine.resolve(questions)}
        return answers, responder, engine


def test_it_works():
    answers, _, engine = resolve(
        lambda q, n, p, i: [good(q, (n, "A", "192.0.2.1"))], Question("www.example.com")
    )
    answer = answers["www.example.com"]
    assert (answer.status, answer.addresses) == ("NOERROR", ("192.0.2.1",))
    assert answer.attempts == 1
    assert answer.rtt_ms > 0
    assert engine.stats.queries == 1


def test_lost_first_queries_are_asked_again():
    names = [f"n{i}.example.com" for i in range(300)]
    answers, responder, _ = resolve(
        lambda q, n, p, i: [good(q, (n, "A", "192.0.2.1"))] if i > 1 else None,
        *map(Question, names),
    )
    assert {a.status for a in answers.values()} == {"NOERROR"}
    assert all(responder.asked[n] >= 2 for n in names)


def test_answers_from_another_source_are_never_accepted():
    def spoof(query, name, protocol, count):
        return [
            ("liar", good(query, (name, "A", "203.0.113.66"))),
            good(query, (name, "A", "192.0.2.1")),
        ]

    names = [f"n{i}.example.com" for i in range(200)]
    answers, _, _ = resolve(spoof, *map(Question, names))
    assert {a.addresses for a in answers.values()} == {("192.0.2.1",)}
    # The same holds for a server that was found, where all servers share a socket.
    with Engine([Server("127.0.0.1", 9)], QUICK) as engine, Responder(spoof) as other:
        found = Server("127.0.0.1", other.port)
        results = list(engine.ask(Question(n, server=found) for n in names))
        assert {r.answers[0].data for r in results} == {"192.0.2.1"}
        assert engine.stats.stray >= 200


def test_a_wrong_question_or_id_is_not_an_answer():
    def confuse(query, name, protocol, count):
        wire = good(query, (name, "A", "203.0.113.66")).to_wire()
        other = wire.replace(b"\x04good", b"\x04evil")
        wrong_id = bytes((wire[0] ^ 0xFF,)) + wire[1:]
        return [other, wrong_id, b"", b"\0" * 11, good(query, (name, "A", "192.0.2.1"))]

    answers, _, _ = resolve(confuse, Question("good.example.com"))
    assert answers["good.example.com"].addresses == ("192.0.2.1",)


def test_truncated_answers_are_fetched_over_tcp():
    def truncate(query, name, protocol, count):
        many = [(name, "A", f"192.0.2.{i}") for i in range(200)]
        message = good(query, *many)
        if protocol == "udp":
            message = good(query)
            message.flags |= dns.flags.TC
        return [message]

    answers, _, engine = resolve(truncate, Question("big.example.com"))
    assert answers["big.example.com"].protocol == "tcp"
    assert len(answers["big.example.com"].addresses) == 200
    assert engine.stats.tcp == 1


@pytest.mark.parametrize(
    ("rcode", "status", "asked"),
    [(3, "NXDOMAIN", 1), (2, "SERVFAIL", 4), (5, "REFUSED", 4), (0, "NODATA", 1)],
)
def test_only_failures_are_retried(rcode, status, asked):
    answers, responder, _ = resolve(
        lambda q, n, p, i: [good(q, rcode=rcode)], Question("x.example.com")
    )
    assert answers["x.example.com"].status == status
    assert responder.asked["x.example.com"] == asked


def test_silence_ends_as_a_timeout_with_its_attempts():
    config = EngineConfig(timeout_s=0.1, retries=2)
    answers, _, _ = resolve(lambda *_: None, Question("x.example.com"), config=config)
    assert answers["x.example.com"].status == "TIMEOUT"
    assert answers["x.example.com"].attempts == 3
    assert answers["x.example.com"].rtt_ms is None


def test_chains_are_followed_to_the_end_and_loops_are_named():
    links = {"a.example.com": "b.example.net", "b.example.net": "c.example.org"}
    loop = {"l.example.com": "m.example.com", "m.example.com": "l.example.com"}

    def chain(query, name, protocol, count):
        target = (links | loop).get(name)
        record = (name, "CNAME", target + ".") if target else (name, "A", "192.0.2.7")
        return [good(query, record)]

    answers, _, _ = resolve(chain, Question("a.example.com"), Question("l.example.com"))
    assert answers["a.example.com"].cnames == ("b.example.net", "c.example.org")
    assert answers["a.example.com"].addresses == ("192.0.2.7",)
    assert answers["l.example.com"].status == "CNAME_LOOP"


def test_capital_letters_in_a_question_make_no_other_name():
    def chain(query, name, protocol, count):
        if name.lower() == "www.example.com":
            return [good(query, (name, "CNAME", "host.example.com."))]
        return [good(query, (name, "A", "192.0.2.7"))]

    answers, _, _ = resolve(chain, Question("WWW.Example.com"), Question("Host.example.com"))
    assert answers["WWW.Example.com"].addresses == ("192.0.2.7",)
    assert answers["Host.example.com"].answers[0].name == "host.example.com"


def test_a_server_without_edns_is_asked_plainly():
    def old(query, name, protocol, count):
        if query.edns >= 0:
            return [query.to_wire()[:2] + b"\x80\x01" + b"\0" * 8]
        return [good(query, (name, "A", "192.0.2.1"))]

    answers, _, _ = resolve(old, Question("x.example.com"))
    assert answers["x.example.com"].status == "NOERROR"


def test_names_that_dns_cannot_carry_are_malformed_without_a_query():
    answers, responder, _ = resolve(lambda *_: None, Question("a..b"), Question("x" * 64 + ".com"))
    assert {a.status for a in answers.values()} == {"MALFORMED"}
    assert not responder.asked


def test_the_rate_limit_is_kept():
    config = EngineConfig(rate_per_server=200)
    import time

    started = time.monotonic()
    answers, _, _ = resolve(
        lambda q, n, p, i: [good(q)], *(Question(f"n{i}.com") for i in range(100)), config=config
    )
    assert len(answers) == 100
    # 100 queries at 200 a second with a burst of 10 cannot end sooner.
    assert time.monotonic() - started > 0.4


def test_settings_out_of_range_are_refused_by_name():
    with pytest.raises(BadInput, match="window"):
        EngineConfig(window=0)
