"""The Celery workers that answer now, their queues, and what they run."""

from dataclasses import dataclass

from redis import Redis

from tasks.platform.app import AWAY, app
from tasks.platform.task_metrics import broker_client

# Workers answer a broadcast within this, or count as silent; a broadcast that all of them have
# answered ends before.
_ANSWER_WITHIN_S = 1.0


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker process group: names of its queues, and of the tasks that it runs."""

    name: str
    queues: tuple[str, ...]
    running: tuple[str, ...]


def list_workers() -> list[Worker]:
    """All workers that answer within a second, by name; none where the broker is away."""
    try:
        with broker_client() as client:
            listening = _count_listeners(client)
        if not listening:
            return []
        inspect = app.control.inspect(timeout=_ANSWER_WITHIN_S, limit=listening)
        queues = inspect.active_queues() or {}
        tasks = (inspect.active() or {}) if queues else {}
    except AWAY:
        return []
    return [
        Worker(
            name,
            tuple(sorted(queue["name"] for queue in queues[name])),
            tuple(sorted(task["name"] for task in tasks.get(name) or ())),
        )
        for name in sorted(queues)
    ]


def _count_listeners(client: Redis) -> int:
    """Clients of the broker that listen to broadcasts: each worker is one."""
    return sum(int(found["psub"]) > 0 for found in client.client_list("pubsub"))
