"""Metrics that are read from the store and the broker at each scrape."""

import logging
from collections.abc import Iterator

from django.db import DatabaseError
from django.utils import timezone
from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from redis.exceptions import RedisError

from core.release import VERSION
from tasks.platform import task_metrics
from tasks.platform.app import QUEUES
from webapp.api.monitoring.registry import REGISTRY
from webapp.store.monitoring import selectors

log = logging.getLogger(__name__)


class StoreCollector(Collector):
    """Jobs by state, ages of data, vantage points, disk space and size of the database."""

    def describe(self) -> list[Metric]:
        """Name nothing beforehand: the store is not asked before the first scrape."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics; ``nephoscope_database_up`` alone where the database fails."""
        try:
            found = list(self._collect())
        except DatabaseError as error:
            log.warning("metrics of the store: %s", error)
            found = []
        yield _gauge("database_up", "Whether the database answered this scrape.", bool(found))
        yield from found

    def _collect(self) -> Iterator[Metric]:
        version = GaugeMetricFamily("nephoscope_build_info", "The version.", labels=["version"])
        version.add_metric([VERSION], 1)
        yield version
        yield _labelled(
            "jobs",
            "Surveys, campaigns and other jobs by state.",
            ("kind", "state"),
            {(k, s): n for k, states in selectors.count_jobs().items() for s, n in states.items()},
        )
        now = timezone.now()
        newest = selectors.newest_results()
        yield _labelled(
            "newest_result_age_seconds",
            "Time since the newest job of a kind ended.",
            ("kind",),
            {(kind,): (now - at).total_seconds() for kind, at in newest.items()},
        )
        yield _labelled(
            "range_table_age_seconds",
            "Age of the newest range file of a provider, by its publication.",
            ("provider",),
            {(row.provider,): row.age_s for row in selectors.range_ages()},
        )
        yield _labelled(
            "vantage_points",
            "Vantage points by health.",
            ("health",),
            {(health,): n for health, n in selectors.count_vantage_points().items()},
        )
        space = selectors.disk_space()
        for place, name in enumerate(("free", "total")):
            yield _labelled(
                f"disk_{name}_bytes",
                f"{name.capitalize()} bytes of the file system of a folder.",
                ("folder",),
                {(folder,): sizes[place] for folder, sizes in space.items()},
            )
        size = selectors.database_bytes()
        if size is not None:
            yield _gauge("database_bytes", "Size of the database.", size)


class BrokerCollector(Collector):
    """Waiting messages by queue, and counts and durations of tasks."""

    def describe(self) -> list[Metric]:
        """Name nothing beforehand: the broker is not asked before the first scrape."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics; ``nephoscope_broker_up`` alone where the broker does not answer."""
        try:
            with task_metrics.broker_client() as client:
                waiting = task_metrics.queue_lengths(client, QUEUES)
                runs = task_metrics.read_runs(client)
        except (RedisError, OSError) as error:
            log.warning("metrics of the broker: %s", error)
            yield _gauge("broker_up", "Whether the broker answered this scrape.", 0)
            return
        yield _gauge("broker_up", "Whether the broker answered this scrape.", 1)
        yield _labelled(
            "queue_length",
            "Tasks that wait in a queue.",
            ("queue",),
            {(queue,): n for queue, n in waiting.items()},
        )
        durations = HistogramMetricFamily(
            "nephoscope_task_duration_seconds",
            "Durations of tasks of all workers, by their end state.",
            labels=["task", "state"],
        )
        bounds = [*map(str, task_metrics.BOUNDS_S), "+Inf"]
        for row in runs:
            buckets = list(zip(bounds, map(float, row.counts), strict=True))
            durations.add_metric([row.task, row.state], buckets, row.sum_s)
        yield durations


def _gauge(name: str, about: str, value: float) -> Metric:
    return GaugeMetricFamily(f"nephoscope_{name}", about, value=float(value))


def _labelled(
    name: str, about: str, labels: tuple[str, ...], values: dict[tuple[str, ...], float]
) -> Metric:
    family = GaugeMetricFamily(f"nephoscope_{name}", about, labels=list(labels))
    for key, value in sorted(values.items()):
        family.add_metric(list(key), float(value))
    return family


REGISTRY.register(StoreCollector())
REGISTRY.register(BrokerCollector())
