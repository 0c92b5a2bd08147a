"""The Prometheus registry of this process; library metrics of the process are part of it."""

from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector

REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)
PlatformCollector(registry=REGISTRY)
