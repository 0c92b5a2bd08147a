"""The results collector: receives messages, stores them, and acknowledges them only then.

It also keeps the broker's users those of the store, and stores heartbeats. One runs at a time; a
second waits until the first falls silent.
"""

import logging
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress

from django.db import OperationalError, close_old_connections, connection

from core.clock import Clock, SystemClock
from core.errors import BadInput, NephoscopeError, Unavailable
from tasks.campaigns import results_receiver
from tasks.protocol import vantage_queues
from tasks.protocol.results_message import ResultsMessage, unpack
from tasks.protocol.vantage_queues import Received
from tasks.surveys import second_pass
from tasks.vantage.celery_tasks import LOOKUPS
from tasks.vantage_admin import enrolment, heartbeats
from webapp.store.vantages import services

log = logging.getLogger(__name__)
Handler = Callable[[str, ResultsMessage], None]
# Handlers of results messages by kind. A handler gets the sender, known by the key; it stores
# all of a message or nothing, and a message that comes twice only once. A permanent
# ``NephoscopeError`` means that it can never be stored; after any other error it is tried again.
HANDLERS: Mapping[str, Handler] = {LOOKUPS: second_pass.store_answers, **results_receiver.HANDLERS}
_PAUSE_S = 0.2
_TEND_EVERY_S = 5.0
_HOLD_MS = 5_000
_RENEW_EVERY_S = 1.0
_MOST_TRIES = 5
_REFUSED_KEPT = 20
_HOLDER = "collector"


class Collector:
    """One process's round: results messages often, users and heartbeats now and then."""

    def __init__(
        self, handlers: Mapping[str, Handler] = HANDLERS, clock: Clock | None = None
    ) -> None:
        self._handlers = handlers
        self._clock: Clock = clock or SystemClock()
        self._name = str(uuid.uuid4())
        self._tended_at = self._renewed_at = -_TEND_EVERY_S
        self._names: list[str] = []
        self._tries: Counter[tuple[str, int]] = Counter()
        self.stored = self.refused = 0

    def run(self, stop: threading.Event) -> None:
        """Collect until it is stopped; a broker that is away is waited for."""
        while not stop.is_set():
            pause_s = _PAUSE_S
            try:
                if self._holds():
                    self.collect()
                else:
                    pause_s = 1.0
            except (Unavailable, OperationalError) as error:
                log.warning("collecting waits: %s", error)
                self._trim_over_quota()
                pause_s = 1.0
            stop.wait(pause_s)
        self._release()

    def collect(self) -> int:
        """One round; how many results messages were stored."""
        if self._clock.monotonic() - self._tended_at >= _TEND_EVERY_S:
            self._tend()
        before = self.stored
        for received in vantage_queues.receive_messages(self._names):
            self._handle(received)
            if self._clock.monotonic() - self._renewed_at >= _RENEW_EVERY_S:
                self._renew()
        return self.stored - before

    def _tend(self) -> None:
        # A caller that has opened a transaction needs the connection that the transaction is on.
        if not connection.in_atomic_block:
            close_old_connections()
        differed = enrolment.reconcile(renew=not self._names)
        if differed:
            log.info("%d users of the links' broker were mended", differed)
        # What a revoked one sent before is stored still.
        joined = services.own_points().exclude(state=services.State.INVITED)
        self._names = list(joined.values_list("name", flat=True))
        self._trim_over_quota()
        heartbeats.store_heartbeats(self._names, self._clock)
        self._tended_at = self._clock.monotonic()

    def _trim_over_quota(self) -> None:
        """Where one vantage point has filled the broker, nothing else can be written there."""
        with suppress(Unavailable, OperationalError):
            names = self._names or list(services.own_points().values_list("name", flat=True))
            for name in vantage_queues.trim_over_quota(names):
                log.warning("%s filled the links' broker, and lost what lay there", name)

    def _handle(self, received: Received) -> None:
        try:
            self._store(received)
        except Unavailable:
            # A full disk is no fault of the results message's: all wait until there is space.
            raise
        except NephoscopeError as error:
            if not error.permanent:
                self._try_later(received, error)
                return
            self._refuse(received, str(error))
        except OperationalError:
            raise
        except Exception as error:
            # One results message must not stop those of all others.
            log.exception("a results message of %s", received.vantage)
            self._try_later(received, error)
            return
        else:
            self.stored += 1
        vantage_queues.acknowledge(received)

    def _store(self, received: Received) -> None:
        message = unpack(received.data)
        handler = self._handlers.get(message.kind)
        if handler is None:
            raise BadInput(f"there is no handler of messages of kind {message.kind[:40]!r}")
        handler(received.vantage, message)

    def _try_later(self, received: Received, error: Exception) -> None:
        known = (received.vantage, hash(received.data))
        self._tries[known] += 1
        log.warning("a results message of %s waits: %s", received.vantage, error)
        if self._tries[known] >= _MOST_TRIES:
            del self._tries[known]
            self._refuse(received, f"{type(error).__name__} repeatedly")
            vantage_queues.acknowledge(received)

    def _refuse(self, received: Received, why: str) -> None:
        """Keep the last few refused messages for diagnosis."""
        self.refused += 1
        log.warning("a results message of %s is refused: %s", received.vantage, why)
        key = vantage_queues.key(received.vantage, "refused")
        vantage_queues.asked(vantage_queues.client().lpush, key, received.data)
        vantage_queues.asked(vantage_queues.client().ltrim, key, 0, _REFUSED_KEPT - 1)

    def _holds(self) -> bool:
        if self._renew():
            return True
        return bool(
            vantage_queues.asked(
                vantage_queues.client().set, _HOLDER, self._name, nx=True, px=_HOLD_MS
            )
        )

    def _renew(self) -> bool:
        ours = vantage_queues.asked(vantage_queues.client().get, _HOLDER) == self._name.encode()
        if ours:
            vantage_queues.asked(vantage_queues.client().pexpire, _HOLDER, _HOLD_MS)
            self._renewed_at = self._clock.monotonic()
        return ours

    def _release(self) -> None:
        try:
            if self._renew():
                vantage_queues.asked(vantage_queues.client().delete, _HOLDER)
        except Unavailable:
            return
