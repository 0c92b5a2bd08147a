"""A vantage point's side of its link: results, heartbeats, orders and limits; no Django."""

import logging
import os
import resource
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, NoPermissionError, RedisError
from redis.retry import Retry

from core.clock import BootTimeClock, Clock
from core.errors import MissingData, NephoscopeError, Unavailable
from tasks.platform.tls import PinnedConnection
from tasks.protocol.results_message import ResultsMessage, pack
from tasks.vantage.credentials import Identity, instance_of, tls_options
from tasks.vantage.quotas import Budget, Limits, limits_of

log = logging.getLogger(__name__)
# A broker that restarts is back within seconds; after this the work's lease is over anyway.
GIVE_UP_S = 900.0
_ANSWER_WITHIN_S = 15.0
_LONGEST_PAUSE_S = 10.0


class SiteClock(BootTimeClock):
    """The site's wall time, so that hours and days of limits are those that were meant."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds

    def now(self) -> datetime:
        """Now, as the site has it."""
        return datetime.fromtimestamp(self._seconds(), UTC)


class VantageClient:
    """One identity's connection and limits; safe to share between threads."""

    def __init__(self, identity: Identity, folder: Path, steady: Clock | None = None) -> None:
        self.identity = identity
        # Its counter continues whatever is done to the machine's wall clock.
        self.steady: Clock = steady or BootTimeClock()
        # How wrong it may be, and how far the counter is ahead of the site's time, in seconds;
        # the answer with the least doubt is believed.
        self._ahead: deque[tuple[float, float]] = deque(maxlen=8)
        # Where identity, spent bytes and journals of units lie.
        self.folder = folder
        self.instance = instance_of(folder)
        spent = folder / "spent.json"
        self.budget = Budget(limits_of(identity.limits), spent, SiteClock(self.now))
        self.tasks_done = 0
        # Campaigns that were ended before their time.
        self.stopped: frozenset[str] = frozenset()
        # Set when nothing can be sent any more, so that no thread waits for the broker.
        self.ended = threading.Event()
        self._started = time.monotonic()
        pool = redis.ConnectionPool.from_url(
            identity.url,
            connection_class=PinnedConnection,
            socket_timeout=_ANSWER_WITHIN_S,
            socket_connect_timeout=_ANSWER_WITHIN_S,
            socket_keepalive=True,
            # Once again for a connection that a restarted broker forgot; the waiting is done here.
            retry=Retry(NoBackoff(), 1),
            **tls_options(identity, folder),
        )
        self.client = redis.Redis(connection_pool=pool)

    @property
    def limits(self) -> Limits:
        """The limits of now."""
        return self.budget.limits

    def now(self) -> float:
        """Seconds since the epoch by the site's clock, however wrong this machine's is."""
        if not self._ahead:
            return self.steady.now().timestamp()
        return self.steady.monotonic() - min(self._ahead)[1]

    @property
    def clock(self) -> tuple[float, float]:
        """How wrong the offset may be, and the offset of this machine's clock, in seconds.

        A clock that was set a moment ago is known to be off at once.
        """
        if not self._ahead:
            return 0.0, 0.0
        doubt_s, ahead_s = min(self._ahead)
        # A process that has to wait between two clocks would see them further apart.
        wall_s = min(self._wall() for _ in range(3))[1]
        return doubt_s, wall_s + ahead_s

    def _wall(self) -> tuple[float, float]:
        """How long it took to read both, and how far the wall clock is ahead of the counter."""
        before = self.steady.monotonic()
        wall = self.steady.now().timestamp()
        after = self.steady.monotonic()
        return after - before, wall - (before + after) / 2

    def measure_clock(self) -> None:
        """Compare this machine's clock with the broker's; raises what the client raises."""
        for _ in range(1 if self._ahead else 5):
            began = self.steady.monotonic()
            seconds, microseconds = self.client.time()
            ended = self.steady.monotonic()
            ahead_s = (began + ended) / 2 - seconds - microseconds / 1e6
            self._ahead.append((abs(ended - began) / 2, ahead_s))

    def report(
        self, kind: str, head: Mapping[str, Any], columns: Mapping[str, Sequence[Any]]
    ) -> None:
        """Send a results message home, however long the broker is away; raises ``Unavailable``."""
        data = pack(ResultsMessage(kind, head, columns))
        give_up_at = time.monotonic() + GIVE_UP_S
        pause_s = 0.2
        while not self._push(data):
            if self.ended.wait(pause_s) or time.monotonic() > give_up_at:
                raise Unavailable("the broker stays away; these results are lost")
            pause_s = min(_LONGEST_PAUSE_S, pause_s * 2)
        self.tasks_done += 1

    def _push(self, data: bytes) -> bool:
        try:
            self.client.rpush(self.identity.key("results"), data)
        except (RedisError, OSError) as error:
            log.warning("results wait: %s", error)
            return False
        return True

    def load(self) -> dict[str, Any]:
        """Memory, processor time and how long this process has run."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        pages = int(Path("/proc/self/statm").read_text().split()[1]) if _HAS_PROC else 0
        return {
            "rss_mb": round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1),
            "cpu_s": round(used.ru_utime + used.ru_stime, 2),
            "up_s": round(time.monotonic() - self._started, 1),
            "parcels": self.tasks_done,
            "spent_bytes": self.budget.spent_bytes,
        }

    def obey(self, orders: Mapping[str, Any]) -> None:
        """Take over limits that the site has changed; those that cannot be are left."""
        stopped = orders.get("stopped")
        self.stopped = frozenset(map(str, stopped if isinstance(stopped, list) else ()))
        try:
            self.budget.limits = limits_of(orders.get("limits", {}))
        except NephoscopeError as error:
            log.warning("limits of the site are not taken over: %s", error)


_HAS_PROC = Path("/proc/self/statm").exists()
_lock = threading.Lock()
_current: list[VantageClient] = []


def connect(identity: Identity, folder: Path) -> VantageClient:
    """Make the station of this process."""
    with _lock:
        _current[:] = [VantageClient(identity, folder)]
        return _current[0]


def here() -> VantageClient:
    """The vantage point of this process; raises ``MissingData`` where this is no vantage point."""
    if not _current:
        raise MissingData("this process is no vantage point; start one with tasks.vantage.joining")
    return _current[0]


REFUSALS = (AuthenticationError, NoPermissionError)
__all__ = ["REFUSALS", "VantageClient", "connect", "here"]
