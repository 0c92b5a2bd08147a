"""Celery task of the scheduled fetch of range files."""

import logging
from collections import Counter

from django.conf import settings

from tasks.platform.app import app
from webapp.store.ranges import fetching

log = logging.getLogger(__name__)


@app.task(name="tasks.ranges.fetch")
def fetch() -> None:
    """Ask every provider for newer range files, unless the settings forbid it."""
    if not settings.FETCH_RANGES:
        return
    visits = fetching.fetch_all(fetching.sources())
    counts = Counter(str(visit.outcome) for visit in visits)
    log.info("range files fetched: %s", dict(counts))
