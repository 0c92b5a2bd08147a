"""A vantage point's process: consume one queue until it is stopped.

Celery is pointed at the point's own queue with the few commands that it may use there.
"""

import logging
import signal
import warnings
from pathlib import Path
from types import FrameType

from celery.platforms import SecurityWarning
from celery.signals import worker_ready, worker_shutting_down
from kombu.entity import Exchange, Queue

from tasks.platform.app import app
from tasks.platform.transport import OPTIONS
from tasks.vantage import client, credentials
from tasks.vantage.credentials import Identity
from tasks.vantage.heartbeat import Heartbeat

log = logging.getLogger(__name__)


def work(who: Identity, folder: Path) -> int:
    """Consume the own queue until stopped; the exit code."""
    # Celery fears pickled messages where root runs it; none are accepted here.
    warnings.filterwarnings("ignore", category=SecurityWarning)
    place = client.connect(who, folder)
    configure(who, folder)
    heartbeat = Heartbeat(place)
    worker_ready.connect(lambda **_: _ready(who), weak=False)
    worker_shutting_down.connect(lambda **_: place.ended.set(), weak=False)
    worker = app.Worker(
        pool="solo",
        concurrency=1,
        queues=[who.key("tasks")],
        hostname=f"{who.name}@vantage",
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
        quiet=True,
        loglevel=logging.getLevelName(log.getEffectiveLevel()),
    )
    # Celery brings its own handler; until then, and while it cannot connect, this one ends us.
    signal.signal(signal.SIGTERM, _quit)
    try:
        # A revoked identity may end this process before the worker has started.
        heartbeat.start()
        worker.start()
    except SystemExit:
        log.info("stopped before the work began")
    heartbeat.stop()
    return heartbeat.ended_with or worker.exitcode or 0


def _quit(number: int, frame: FrameType | None) -> None:
    raise SystemExit


def _ready(who: Identity) -> None:
    print(f"{who.name} is measuring; Ctrl-C stops it", flush=True)  # noqa: T201
    # Celery has loaded the tasks by now.
    from tasks.vantage.celery_tasks import resume_unit  # noqa: PLC0415

    resume_unit()


def configure(who: Identity, folder: Path) -> None:
    """Point Celery at the own queue, with the few commands that a vantage point may use."""
    key = who.key("tasks")
    unacked = {f"unacked{part}_key": who.key(f"unacked{part}") for part in ("", "_index", "_mutex")}
    app.conf.update(
        broker_url=who.url,
        broker_transport="tasks.platform.transport:OwnTransport",
        broker_transport_options={**OPTIONS, **unacked},
        broker_use_ssl=credentials.tls_options(who, folder),
        broker_connection_max_retries=None,
        broker_connection_retry_on_startup=True,
        task_queues=[Queue(key, Exchange(""), routing_key=key)],
        task_create_missing_queues=False,
        worker_enable_remote_control=False,
        worker_send_task_events=False,
        worker_redirect_stdouts=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        task_default_queue=key,
        task_routes={},
        beat_schedule={},
    )
