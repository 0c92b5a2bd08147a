"""Every byte from the network is hostile: right final status, no exception, bounded time."""

import os
import struct
import time
from collections import defaultdict

import pytest

from crawlers.engine.engine import Engine, EngineConfig, Question
from crawlers.engine.nameservers import Server
from tests.crawlers.engine.hostile import (
    GOOD,
    Hostile,
    address,
    framed,
    good,
    poison,
    read_tcp_query,
    record,
    reply,
)
from tests.delays import within

pytestmark = pytest.mark.usefixtures("each_core")

QUICK = EngineConfig(timeout_s=0.3, retries=2, tcp_timeout_s=0.5)
NAME = "www.example.com"
# Three tries by UDP, each with a stream behind it, and room.
BOUND_S = 15
LONGEST = ".".join(["a" * 63, "b" * 63, "c" * 63, "d" * 61])


def resolve(on_udp, *names, on_tcp=None, config=QUICK):
    """Answers by name; each question has exactly one, in bounded time."""
    with (
        within(BOUND_S),
        Hostile(on_udp, on_tcp) as server,
        Engine([Server("127.0.0.1", server.port)], config) as engine,
    ):
        answers = [answer for _, answer in engine.resolve(Question(n) for n in names or [NAME])]
    assert sorted(a.name for a in answers) == sorted(names or [NAME])
    return {a.name: a for a in answers}


def resolve_one(on_udp, **options):
    return resolve(on_udp, **options)[NAME]


def always(*packets):
    """The same packets, in this order, as the answer to every query."""

    def on_udp(server, query):
        for make in packets:
            server.send(make(query), query)

    return on_udp


def truncated(query):
    return reply(query, flags=0x8780)


def many(count):
    return [f"n{i}.example.com" for i in range(count)]


def find_wrong(answers):
    """The answers that are not the right one, which a failed test then shows."""
    return [a for a in answers.values() if (a.status, a.addresses) != ("NOERROR", (GOOD,))]


def test_doubled_answers_count_once():
    assert not find_wrong(resolve(always(good, good, good), *many(400)))


def test_answers_after_the_retry_do_no_harm():
    def on_udp(server, query):
        if query.count == 1:
            server.send_later(0.7, poison(query), query)
        else:
            server.send(good(query), query)

    with (
        Hostile(on_udp) as server,
        Engine([Server("127.0.0.1", server.port)], QUICK) as engine,
    ):
        first = {q.name: a for q, a in engine.resolve(map(Question, many(50)))}
        # The late answers arrive on the same sockets among those to new questions.
        until = time.monotonic() + 0.9
        while time.monotonic() < until:
            again = [f"{time.monotonic_ns()}-{i}.example.com" for i in range(5)]
            second = {q.name: a for q, a in engine.resolve(map(Question, again))}
            assert not find_wrong(second)
    assert not find_wrong(first)
    assert min(a.attempts for a in first.values()) == 2


def test_the_right_id_with_another_question_is_no_answer():
    def other_name(query):
        return poison(query).replace(b"\3www", b"\3wwx")

    def other_type(query):
        return reply(query, record(address()), question=query.question[:-4] + b"\0\x1c\0\1")

    def other_class(query):
        return reply(query, record(address()), question=query.question[:-2] + b"\0\3")

    assert not find_wrong({NAME: resolve_one(always(other_name, other_type, other_class, good))})
    for wrong in (other_name, other_type, other_class):
        assert resolve_one(always(wrong)).status == "TIMEOUT"


def test_a_stray_with_the_id_of_an_overdue_query_gives_no_second_result():
    queries = []
    with (
        Hostile(lambda _, query: queries.append(query)) as server,
        Engine([Server("127.0.0.1", server.port)], EngineConfig(timeout_s=30, retries=2)) as engine,
    ):
        run, clock = engine.open_run(), time.monotonic()
        first_timeout_s = engine.own_peers[0].rtt.timeout_s(0)
        run.now = lambda: clock
        run.ask([Question(NAME)])
        run.step(0)
        # The first try, then the second, which is overdue and waits for a late reply.
        for n_sent in (1, 2):
            await_queries(queries, n_sent)
            clock += first_timeout_s * 1.01
            run.receiver.receive(0)
            run.send()
        server.send(poison(queries[1]).replace(b"\3www", b"\3wwx"), queries[1])
        while not engine.stats.stray:
            run.receiver.receive(1)
        clock += 4 * first_timeout_s
        # It is to be sent a third time when the reply to its second try comes.
        run.receiver.receive(0)
        server.send(good(queries[1]), queries[1])
        while not run.done:
            run.receiver.receive(1)
        assert [result.status for result in run.step(0)] == ["NOERROR"]
        assert run.is_over
        assert len(queries) == 2
        assert engine.stats.queries == 2


def await_queries(queries, count):
    until = time.monotonic() + BOUND_S
    while len(queries) < count and time.monotonic() < until:
        time.sleep(0.001)
    assert len(queries) == count


def test_ids_of_other_questions_in_flight_are_not_mixed_up():
    held = []

    def on_udp(server, query):
        # Each answer carries the id of the query before: always one that is in flight.
        if held:
            server.send(held[-1].packet[:2] + poison(query)[2:], query)
        held.append(query)
        server.send(good(query), query)

    assert not find_wrong(resolve(on_udp, *many(300)))


@pytest.mark.parametrize("wrong", ["elsewhere", "other_port"])
def test_a_wrong_source_is_never_believed(wrong):
    def spoof(server, query):
        getattr(server, wrong).sendto(poison(query), query.peer)
        server.send(good(query), query)

    def only_spoof(server, query):
        getattr(server, wrong).sendto(poison(query), query.peer)

    assert not find_wrong(resolve(spoof, *many(200)))
    assert resolve_one(only_spoof).status == "TIMEOUT"


def test_reflected_queries_are_no_answers():
    def reflect(query):
        return query.packet

    def with_records(query):
        return reply(query, record(address()), flags=0x0100)

    assert not find_wrong({NAME: resolve_one(always(reflect, with_records, good))})
    assert resolve_one(always(reflect, with_records)).status == "TIMEOUT"


@pytest.mark.parametrize("count", [0, 2, 65_535])
def test_a_wrong_count_of_questions_is_no_answer(count):
    def wrong(query):
        question = query.question * count if count < 3 else query.question
        return reply(query, record(address()), counts=(count, 1, 0, 0), question=question)

    assert not find_wrong({NAME: resolve_one(always(wrong, good))})
    assert resolve_one(always(wrong)).status == "TIMEOUT"


def at(query, *, beyond=0):
    """A compression pointer to the first byte behind the question."""
    return struct.pack("!H", 0xC000 | 12 + len(query.question) + beyond)


LOOPS = {
    "itself": lambda q: record(address(), owner=at(q)),
    "forwards": lambda q: record(address(), owner=at(q, beyond=12)),
    "each other": lambda q: record(address(), owner=at(q, beyond=2)) + at(q),
    "a label, then itself": lambda q: record(address(), owner=b"\1a" + at(q)),
    "past the packet": lambda q: record(address(), owner=b"\xff\xff"),
    "within data": lambda q: record(at(q, beyond=12), kind=5),
    "within data, by a label": lambda q: record(b"\1a" + at(q, beyond=12), kind=5),
}


@pytest.mark.parametrize("loop", LOOPS)
def test_compression_that_loops_is_malformed(loop):
    answer = resolve_one(always(lambda q: reply(q, LOOPS[loop](q))))
    assert (answer.status, answer.answers) == ("MALFORMED", ())


LIES = {
    "A of 3 bytes": record(b"\1\2\3"),
    "A of 5 bytes": record(b"\1\2\3\4\5"),
    "A of none": record(b""),
    "data past the packet": record(address(), length=400),
    "length 65,535": record(address(), length=65_535),
    "data cut": record(address())[:-2],
    "header cut": record(address())[:7],
    "CNAME longer than its name": record(b"\1a\0\0\0", kind=5),
    "CNAME shorter than its name": record(b"\1a\0", kind=5, length=2),
    "CNAME of none": record(b"", kind=5),
    "label type 01": record(b"\x41a\0", kind=5),
    "label past the packet": record(b"\x3fa", kind=5),
}


@pytest.mark.parametrize("lie", LIES)
def test_lengths_that_lie_are_malformed(lie):
    answer = resolve_one(always(lambda q: reply(q, LIES[lie])))
    assert (answer.status, answer.answers) == ("MALFORMED", ())


@pytest.mark.parametrize("counts", [(1, 2, 0, 0), (1, 65_535, 0, 0), (1, 1, 65_535, 0)])
def test_more_records_promised_than_sent_are_malformed(counts):
    answer = resolve_one(always(lambda q: reply(q, record(address()), counts=counts)))
    assert answer.status == "MALFORMED"


def test_a_malformed_answer_is_asked_again():
    def on_udp(server, query):
        server.send(good(query) if query.count > 1 else reply(query, LIES["A of none"]), query)

    answer = resolve_one(on_udp)
    assert (answer.status, answer.attempts) == ("NOERROR", 2)


def test_names_of_255_bytes_are_names_and_longer_ones_are_not():
    assert len(LONGEST) == 253
    assert not find_wrong(resolve(always(good), LONGEST))
    encoded = b"".join(bytes((len(p),)) + p.encode() for p in LONGEST.split("."))
    at_limit = resolve(
        lambda s, q: s.send(
            good(q) if q.name == LONGEST else reply(q, record(encoded + b"\0", kind=5)), q
        ),
        NAME,
    )[NAME]
    assert (at_limit.status, at_limit.cnames) == ("NOERROR", (LONGEST,))
    # One byte more, and the same length reached through a pointer.
    for data in (b"\1e" + encoded + b"\0", encoded + b"\xc0\x0c"):
        answer = resolve_one(always(lambda q, data=data: reply(q, record(data, kind=5))))
        assert (answer.status, answer.addresses) == ("MALFORMED", ())


def test_records_about_other_names_are_not_given_out():
    def stuffed(query):
        return reply(
            query,
            record(address("203.0.113.66"), owner=b"\4evil\3com\0"),
            record(address("203.0.113.66"), rrclass=3),
            record(address()),
            record(address("203.0.113.66"), owner=b"\0"),
        )

    answer = resolve_one(always(stuffed))
    assert (answer.status, answer.addresses) == ("NOERROR", (GOOD,))


def test_short_and_random_packets_are_passed_over():
    def junk(server, query):
        for size in (0, 1, 2, 11, 12, 13, 500):
            server.send((query.packet[:2] + os.urandom(size))[:size], query)
        server.send(good(query)[:12], query)
        server.send(good(query), query)

    assert not find_wrong(resolve(junk, *many(50)))


def over_tcp(work):
    """Behaviour of a stream whose query was read: ``work(connection, query)``."""

    def on_tcp(server, connection):
        work(connection, read_tcp_query(connection))

    return on_tcp


def largest(query):
    """An answer that fills 64 KiB: as many addresses as fit."""
    count = (65_535 - 12 - len(query.question)) // 16
    data = [record(struct.pack("!BBH", 10, 9, i)) for i in range(count)]
    return reply(query, *data)


def test_an_answer_of_64_kib_is_read_whole():
    on_tcp = over_tcp(lambda c, q: c.sendall(framed(largest(q))))
    answer = resolve_one(always(truncated), on_tcp=on_tcp)
    assert (answer.status, answer.protocol) == ("NOERROR", "tcp")
    assert len(set(answer.addresses)) == len(answer.addresses) == 4_093


def test_64_kib_of_rubbish_is_malformed():
    def rubbish(connection, query):
        message = reply(query, counts=(1, 4_000, 0, 0))
        connection.sendall(framed(message + os.urandom(65_535 - len(message))))

    assert resolve_one(always(truncated), on_tcp=over_tcp(rubbish)).status == "MALFORMED"


def test_a_stream_may_come_byte_by_byte():
    def drip(connection, query):
        for byte in framed(good(query)):
            connection.sendall(bytes((byte,)))
            time.sleep(0.001)

    assert not find_wrong({NAME: resolve_one(always(truncated), on_tcp=over_tcp(drip))})


def stall(connection, query):
    # Says nothing until the other side gives up.
    connection.recv(1)


def stall_within(connection, query):
    connection.sendall(framed(good(query))[:20])
    connection.recv(1)


def drip_for_ever(connection, query):
    connection.sendall(b"\xff\xff")
    for _ in range(100):
        connection.sendall(b"\0")
        time.sleep(0.05)


def cut_within(connection, query):
    connection.sendall(framed(good(query))[:20])


def close_at_once(connection, query):
    pass


def answer_another(connection, query):
    connection.sendall(framed(poison(query).replace(b"\3www", b"\3wwx")))


def send_nothing_long(connection, query):
    connection.sendall(b"\0\0" * 50)


@pytest.mark.parametrize(
    ("work", "statuses"),
    [
        (stall, {"TIMEOUT"}),
        (stall_within, {"TIMEOUT"}),
        (drip_for_ever, {"TIMEOUT"}),
        (cut_within, {"MALFORMED", "NETWORK"}),
        (close_at_once, {"MALFORMED", "NETWORK"}),
        (answer_another, {"MALFORMED", "NETWORK"}),
        (send_nothing_long, {"MALFORMED", "NETWORK"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_streams_that_fail_end_as_failures_in_bounded_time(work, statuses):
    config = EngineConfig(timeout_s=0.3, retries=1, tcp_timeout_s=0.4)
    with within(3):
        answer = resolve_one(always(truncated), on_tcp=over_tcp(work), config=config)
    assert answer.status in statuses
    assert answer.addresses == ()


def test_a_failing_stream_holds_up_nobody_else():
    def on_udp(server, query):
        server.send(truncated(query) if query.name.startswith("stuck") else good(query), query)

    # A busy machine may take its time with good answers; only streams have to time out.
    config = EngineConfig(timeout_s=5.0, retries=0, tcp_timeout_s=1.0, window=20)
    stuck = [f"stuck{i}.example.com" for i in range(8)]
    answers = resolve(on_udp, *stuck, *many(300), on_tcp=over_tcp(stall), config=config)
    assert {answers[name].status for name in stuck} == {"TIMEOUT"}
    assert not find_wrong({name: answers[name] for name in many(300)})


def flood(server):
    """Some thousand packets a second at every socket that has asked."""
    while server.open:
        for peer in list(server.peers):
            for sock in (server.udp, server.elsewhere, server.other_port):
                for size in (3, 12, 40, 120):
                    sock.sendto(os.urandom(size), peer)
        time.sleep(0.005)


def test_a_flood_of_strays_changes_no_answer():
    names = many(3_000)
    ids = defaultdict(set)

    def on_udp(server, query):
        if len(server.asked) == 1:
            server.start(flood, server)
        guess = bytes((query.packet[0] ^ 0x55, query.packet[1]))
        # A wrong id may be that of an earlier try of the same question, which is a right guess.
        ids[query.name].add(query.packet[:2])
        if guess not in ids[query.name]:
            server.send(guess + poison(query)[2:], query)
        server.send(good(query), query)

    started = time.monotonic()
    with (
        Hostile(on_udp) as server,
        Engine([Server("127.0.0.1", server.port)], EngineConfig(retries=4)) as engine,
    ):
        answers = {q.name: a for q, a in engine.resolve(map(Question, names))}
        took_s = time.monotonic() - started
        assert engine.stats.stray > 3_000
    assert took_s < BOUND_S
    assert len(answers) == len(names)
    assert not find_wrong(answers)
