"""The site's side of the queues to vantage points: send tasks, receive results messages.

Every vantage point has separate keys in a Valkey that is not the centre's broker; the sender of a
results message is known by its key, never by its content.
"""

import base64
import functools
import json
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from core.errors import Unavailable
from tasks.platform.app import app
from tasks.platform.valkey_urls import links_url

# Celery's own header would be read by the clock of the vantage point.
NOT_AFTER = "not_after"
# What one vantage point may have lying here; more is a fault of it, and the newest is dropped.
MOST_WAITING = 2_000
# What a vantage point may take of the broker's memory, which all share.
MOST_OCTETS = 48_000_000
_ANSWER_WITHIN_S = 5.0


@dataclass(frozen=True, slots=True)
class Received:
    """A results message that was taken in, and has to be acknowledged when it is stored."""

    vantage: str
    data: bytes


def client() -> redis.Redis:
    """The centre's connections to the links' Valkey; raises ``Unavailable`` where there is none."""
    return _client(links_url())


@functools.lru_cache(maxsize=4)
def _client(url: str) -> redis.Redis:
    return redis.Redis.from_url(
        url,
        socket_timeout=_ANSWER_WITHIN_S,
        socket_connect_timeout=_ANSWER_WITHIN_S,
        # A connection that a restarted broker forgot is opened again, once; callers do the waiting.
        retry=Retry(NoBackoff(), 1),
    )


def key(vantage: str, part: str) -> str:
    """A key of a vantage point: tasks, results, storing, heartbeat, orders, holder."""
    return f"v:{vantage}:{part}"


def send(
    vantage: str, task: str, args: Sequence[Any] = (), *, expires_s: float | None = None
) -> str:
    """Queue a task at a vantage point; its id; raises ``Unavailable``.

    A message that lies longer than ``expires_s`` is dropped there unread, by this clock and not by
    that of the vantage point. Whether it accepts work is decided by
    ``webapp.store.vantages.services.takes_work``.
    """
    task_id = str(uuid.uuid4())
    message = app.amqp.as_task_v2(task_id, task, args=list(args))
    if expires_s is not None:
        message.headers[NOT_AFTER] = time.time() + expires_s
    asked(client().lpush, key(vantage, "tasks"), _envelope(vantage, message))
    return task_id


def _envelope(vantage: str, message: Any) -> str:
    """A task as kombu's transport for Redis writes it."""
    body = json.dumps(message.body).encode()
    properties = {
        **message.properties,
        "delivery_mode": 2,
        "delivery_info": {"exchange": "", "routing_key": key(vantage, "tasks")},
        "priority": 0,
        "body_encoding": "base64",
        "delivery_tag": str(uuid.uuid4()),
    }
    return json.dumps(
        {
            "body": base64.b64encode(body).decode("ascii"),
            "content-encoding": "utf-8",
            "content-type": "application/json",
            "headers": message.headers,
            "properties": properties,
        }
    )


def queued(vantage: str) -> int:
    """How many tasks wait for a vantage point; raises ``Unavailable``."""
    return int(asked(client().llen, key(vantage, "tasks")))


def receive_messages(vantages: Sequence[str]) -> Iterator[Received]:
    """Yield results messages of vantage points until each is acknowledged; raises ``Unavailable``.

    A message is moved to a list that no vantage point can write, so that a collector that is killed
    finds it there when it starts again. Messages that were left there come first.
    """
    waiting = _lengths(vantages)
    for vantage, (left, sent) in waiting.items():
        if sent > MOST_WAITING:
            asked(client().ltrim, key(vantage, "results"), 0, MOST_WAITING - 1)
        for data in asked(client().lrange, key(vantage, "storing"), 0, -1) if left else ():
            yield Received(vantage, data)
        for _ in range(min(sent, MOST_WAITING)):
            data = _move(vantage)
            if data is not None:
                yield Received(vantage, data)


def trim_over_quota(vantages: Sequence[str]) -> list[str]:
    """Remove messages of vantage points that would crowd out others; their names; raises
    ``Unavailable``.

    A vantage point that works correctly never reaches its quota: its results are received within a
    second, and while they are not, the newest are dropped.
    """
    parts = ("results", "unacked", "unacked_index", "pulse", "holder")
    pipe = client().pipeline(transaction=False)
    for vantage in vantages:
        for part in parts:
            pipe.memory_usage(key(vantage, part))
    found = iter(asked(pipe.execute))
    used = {vantage: sum(next(found) or 0 for _ in parts) for vantage in vantages}
    greedy = [vantage for vantage, octets in used.items() if octets > MOST_OCTETS]
    for vantage in greedy:
        asked(client().delete, *(key(vantage, part) for part in parts[1:]))
        left = asked(client().llen, key(vantage, "results"))
        asked(client().ltrim, key(vantage, "results"), 0, max(left // 2 - 1, 0))
    return greedy


def _lengths(vantages: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Results messages that are being stored, and that wait, of those that have any."""
    pipe = client().pipeline(transaction=False)
    for vantage in vantages:
        pipe.llen(key(vantage, "storing"))
        pipe.llen(key(vantage, "results"))
    found = iter(asked(pipe.execute))
    pairs = dict(zip(vantages, zip(found, found, strict=True), strict=True))
    return {vantage: pair for vantage, pair in pairs.items() if any(pair)}


def _move(vantage: str) -> bytes | None:
    results, storing = key(vantage, "results"), key(vantage, "storing")
    return asked(client().lmove, results, storing, "LEFT", "RIGHT")


def acknowledge(received: Received) -> None:
    """Forget a results message that is stored, or that never will be; raises ``Unavailable``."""
    asked(client().lrem, key(received.vantage, "storing"), 1, received.data)


def asked(command: Any, *arguments: Any, **more: Any) -> Any:
    """What a command of the client gives; raises ``Unavailable``."""
    try:
        return command(*arguments, **more)
    except (RedisError, OSError) as error:
        raise Unavailable(f"the links' broker does not answer: {error}") from error
