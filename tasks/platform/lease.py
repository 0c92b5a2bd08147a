"""The lease of a running unit of work, renewed beside the work by a separate thread.

A crawl may be silent for long: a slow limit, a large zone transfer, servers that do not answer.
Only a dead or suspended worker loses its shard or audit.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from django.db import DatabaseError, connection

from tasks.platform.stop import Stopped

log = logging.getLogger(__name__)
RENEW_EVERY_S = 1.0
_LOST = "the work was cancelled, or another worker took it over"


class Lease:
    """Keeps one claimed unit of work; use it as a context manager around the work.

    ``renew`` stores counters and extends the lease; it returns false once the lease is lost.
    """

    def __init__(
        self,
        name: str,
        renew: Callable[[Mapping[str, Any]], bool],
        counters: Mapping[str, Any] | None = None,
    ) -> None:
        self._name = name
        self._renew_with = renew
        # The reason of waiting is kept until there is progress.
        self._counters = counters if counters and "waits" in counters else {}
        self._counted_at = 0.0
        self._ended = threading.Event()
        self._lost = threading.Event()
        self._thread = threading.Thread(target=self._renew_until_ended, name="lease", daemon=True)

    def __enter__(self) -> "Lease":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def wants_counters(self) -> bool:
        """Whether it is time for new counters; raises ``Stopped`` once the lease is lost."""
        if self._lost.is_set():
            raise Stopped(_LOST)
        return time.monotonic() - self._counted_at >= RENEW_EVERY_S

    def count(self, counters: Mapping[str, Any]) -> None:
        """Show these counters from the next renewal on."""
        self._counters = counters
        self._counted_at = time.monotonic()

    def wait_for(self, what: str) -> None:
        """Show that the work is paused and what it waits for, until it counts again."""
        counters = {k: v for k, v in self._counters.items() if k not in ("since", "tries")}
        self.count({**counters, "waits": what})

    def confirm(self) -> None:
        """Renew now, before results are made visible; raises ``Stopped`` for a lost lease."""
        if not self._renew_with(self._counters):
            raise Stopped(_LOST)

    def _renew_until_ended(self) -> None:
        try:
            while not self._ended.wait(RENEW_EVERY_S):
                self._renew()
        finally:
            # Django opens a separate connection for each thread.
            connection.close()

    def _renew(self) -> None:
        try:
            if not self._renew_with(self._counters):
                self._lost.set()
        except DatabaseError as error:
            # The lease outlasts many renewals; whether it was lost is checked before storing.
            log.warning("%s: lease not renewed: %s", self._name, error)
            connection.close()
