"""Counts and durations of tasks, kept in the broker for all workers, and their log identifiers.

The signals of Celery are connected where this module is imported. The hash ``KEY`` has a field
``task|state|figure`` for each figure: the sum of seconds, and the number of runs that took at most
so long, by the bounds of ``BOUNDS_S``. A broker that does not answer loses a count, never a task.
"""

import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from celery.signals import before_task_publish, task_postrun, task_prerun
from redis import Redis
from redis.exceptions import RedisError

from tasks.platform.app import broker_url
from tasks.platform.log_context import log_fields, set_log_fields
from tasks.platform.valkey_urls import client_url

KEY = "nephoscope:task-metrics"
BOUNDS_S = (0.1, 0.5, 2.0, 10.0, 60.0, 300.0, 1800.0)
_SUM = "sum"
_HEADER = "nephoscope_request"
_ANSWER_WITHIN_S = 2.0
log = logging.getLogger(__name__)
_started: dict[str, float] = {}


@dataclass
class TaskRuns:
    """Runs of one task with one end state; ``counts`` are cumulative, the last one is of all."""

    task: str
    state: str
    sum_s: float = 0.0
    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS_S) + 1))


def broker_client() -> Redis:
    """A client of the broker with short time-outs."""
    return Redis.from_url(
        client_url(broker_url()),
        socket_timeout=_ANSWER_WITHIN_S,
        socket_connect_timeout=_ANSWER_WITHIN_S,
    )


def record_run(client: Redis, task: str, state: str, seconds: float) -> None:
    """Count one run; raises ``RedisError``."""
    own = f"{task}|{state}|"
    with client.pipeline(transaction=False) as pipe:
        pipe.hincrbyfloat(KEY, own + _SUM, round(seconds, 6))
        for bound in (*BOUNDS_S, float("inf")):
            if seconds <= bound:
                pipe.hincrby(KEY, f"{own}{bound}", 1)
        pipe.execute()


def read_runs(client: Redis) -> list[TaskRuns]:
    """All runs by task and state; raises ``RedisError``."""
    places = {str(bound): n for n, bound in enumerate((*BOUNDS_S, float("inf")))}
    found: dict[tuple[str, str], TaskRuns] = {}
    for name, value in _fields(client).items():
        task, state, figure = str(name, "ascii").rsplit("|", 2)
        runs = found.setdefault((task, state), TaskRuns(task, state))
        if figure == _SUM:
            runs.sum_s = float(value)
        elif figure in places:
            runs.counts[places[figure]] = int(value)
    return [found[key] for key in sorted(found)]


def _fields(client: Redis) -> dict[bytes, bytes]:
    return client.hgetall(KEY)  # type: ignore[return-value]


def queue_lengths(client: Redis, names: Iterable[str]) -> dict[str, int]:
    """Messages that wait in each queue; raises ``RedisError``."""
    return {name: int(client.llen(name)) for name in names}


@before_task_publish.connect
def send_request_id(headers: dict[str, Any] | None = None, **_: Any) -> None:
    """Pass the identifier of the request that queues a task on to the task."""
    request = log_fields().get("request")
    if request and headers is not None:
        headers[_HEADER] = request


@task_prerun.connect
def start_run(task_id: str, task: Any, **_: Any) -> None:
    """Add the identifiers of a task to its log lines, and note when it began."""
    fields = {"task": str(task.name), "task_id": task_id}
    if request := task.request.get(_HEADER):
        fields["request"] = str(request)
    _started[task_id] = time.monotonic()
    set_log_fields(**fields)


@task_postrun.connect
def finish_run(task_id: str, task: Any, state: str | None = None, **_: Any) -> None:
    """Count a run that has ended."""
    set_log_fields()
    began_at = _started.pop(task_id, None)
    if began_at is None:
        return
    try:
        record_run(_client(), str(task.name), str(state), time.monotonic() - began_at)
    except (RedisError, OSError) as error:
        log.debug("the run of %s is not counted: %s", task.name, error)


@cache
def _client() -> Redis:
    return broker_client()
