"""The Celery workers that answer now, their queues, and what they run."""

from dataclasses import dataclass

from tasks.platform.app import AWAY, app

# Workers answer a broadcast within this, or count as silent.
_ANSWER_WITHIN_S = 1.0


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker process group: names of its queues, and of the tasks that it runs."""

    name: str
    queues: tuple[str, ...]
    running: tuple[str, ...]


def list_workers() -> list[Worker]:
    """All workers that answer within a second, by name; none where the broker is away."""
    inspect = app.control.inspect(timeout=_ANSWER_WITHIN_S)
    try:
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
