"""The Celery application: broker, queues and schedule from the environment, and no Django.

A vantage worker imports this module with nothing of the store behind it; a central worker sets
``DJANGO_SETTINGS_MODULE`` and Celery then loads Django by itself.
"""

import os
import socket
from typing import Any

from celery import Celery, Task
from celery.schedules import crontab
from kombu.exceptions import OperationalError
from kombu.transport import TRANSPORT_ALIASES
from redis.exceptions import RedisError

from core.paths import data_folder

AWAY = (OperationalError, RedisError, OSError)
# A broker that the network has cut off is noticed within seconds, not when TCP gives up. Not every
# system has each of these options.
_KEEPALIVE = {"TCP_KEEPIDLE": 20, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 20_000}
_CUT_OFF = {
    "socket_connect_timeout": 10.0,
    "socket_keepalive": True,
    "socket_keepalive_options": {
        getattr(socket, name): value for name, value in _KEEPALIVE.items() if hasattr(socket, name)
    },
}
# A caller that queues a task learns at once that there is no broker, instead of retrying for
# seconds; workers do their waiting elsewhere.
_AT_ONCE = {"max_retries": 1, "interval_start": 0, "interval_step": 0, "interval_max": 0}


def broker_url() -> str:
    """``REDIS_URL``, or the embedded server's socket in the data folder."""
    given = os.environ.get("REDIS_URL")
    if given:
        return given
    return f"redis+socket://{data_folder()}/valkey.sock"


def _backend_url(url: str) -> str:
    return url.replace("unix://", "redis+socket://") if url.startswith("unix://") else url


# Shards of surveys: what a crawler on a machine without the data folder can do.
CRAWL = "crawl"
# Audits, recommendations, simulations, zones, indexes and reports.
ANALYSIS = "analysis"
# Sweeps are short and run in a separate worker process, so that no survey delays them.
SWEEPS = "sweeps"
# Receivers of alerts may be slow, and keep nothing but each other waiting.
ALERTS = "alerts"
QUEUES = (CRAWL, ANALYSIS, SWEEPS, ALERTS)


def _periodic(task: str, every_s: float) -> dict[str, Any]:
    """A task of the schedule that is dropped once the next one is due."""
    return {"task": task, "schedule": every_s, "options": {"queue": SWEEPS, "expires": every_s}}


# Loaded when a connection is made.
TRANSPORT_ALIASES.update(
    redis="tasks.platform.transport:Transport", rediss="tasks.platform.transport:Transport"
)
app = Celery("nephoscope")
app.conf.update(
    broker_url=_backend_url(broker_url()),
    result_backend=None,
    task_ignore_result=True,
    include=[
        "tasks.surveys.celery_tasks",
        "tasks.ranges.celery_tasks",
        "tasks.surveys.derived_tasks",
        "tasks.recommendations.celery_tasks",
        "tasks.campaigns.best_sets",
        "tasks.screening.celery_tasks",
        "tasks.screening.type_comparison",
        "tasks.campaigns.scheduler",
        "tasks.campaigns.synthetic",
        "tasks.networks.celery_tasks",
        "tasks.networks.search",
        "tasks.audits.celery_tasks",
        "tasks.schedules.celery_tasks",
        "tasks.simulations.celery_tasks",
        "tasks.zones.celery_tasks",
        "tasks.traffic.uploads",
        "tasks.platform.task_metrics",
    ]
    if os.environ.get("DJANGO_SETTINGS_MODULE")
    else ["tasks.vantage.celery_tasks"],
    task_default_queue=ANALYSIS,
    task_routes={
        "tasks.vantage.celery_tasks.*": {"queue": "vantage"},
        "tasks.crawl.*": {"queue": CRAWL},
    },
    # A shard is acknowledged when it is stored, so a killed worker's shard is not lost. Its lease
    # frees it within 10 s and the sweep below queues it again; the broker's own redelivery, an hour
    # later, only finds it done. A short visibility timeout would start slow shards twice.
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    # By default a process of the pool is killed unless it is up within 4 s, and so is each that
    # follows; on a busy machine a worker would never start.
    worker_proc_alive_timeout=60.0,
    broker_transport_options={"visibility_timeout": 3600, **_AT_ONCE, **_CUT_OFF},
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    worker_hijack_root_logger=False,
    task_time_limit=3600,
    timezone="UTC",
    beat_schedule={
        "resume shards of silent workers": _periodic("tasks.crawl.sweep", 5.0),
        # Units are sent twenty seconds before they begin, so a late step makes nothing late.
        "advance measurement campaigns": _periodic("tasks.campaigns.sweep", 3.0),
        "resume recommendations of silent workers": _periodic("tasks.advising.sweep", 20.0),
        "resume audits of silent workers": _periodic("tasks.audits.sweep", 5.0),
        "resume simulations of silent workers": _periodic("tasks.simulations.sweep", 10.0),
        "infer zones from new observations": _periodic("tasks.zones.sweep", 60.0),
        "import uploaded traffic logs": _periodic("tasks.traffic.sweep", 20.0),
        "report uploaded customers": _periodic("tasks.derived.sweep", 20.0),
        "analyse pools that have new reports": _periodic("tasks.screening.sweep", 5.0),
        "start what is due by a schedule": _periodic("tasks.schedules.tick", 60.0),
        "send alerts that are due": _periodic("tasks.schedules.deliver_due", 10.0),
        "compare instance types of contributing pools": {
            "task": "tasks.screening.publish_types",
            "schedule": crontab(hour=4, minute=41),
        },
        # Providers publish new ranges every few days; the odd hour spares their servers.
        "ask for newer range files": {
            "task": "tasks.ranges.fetch",
            "schedule": crontab(hour=3, minute=17),
        },
    },
)


def queue(task: Task, *args: object, **options: object) -> None:
    """Leave a task to a worker; raises one of ``AWAY`` at once where there is no broker."""
    task.apply_async(args=args, retry=False, **options)
