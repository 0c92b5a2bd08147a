"""A vantage point's heartbeat thread, which also reads new orders from the site.

It measures how far its clock is off the broker's, looks whether another process uses its name,
and ends the process when the site has revoked it.
"""

import json
import logging
import os
import signal
import threading
import time
from collections.abc import Callable

from redis.exceptions import RedisError

from core.release import VERSION
from tasks.vantage.client import REFUSALS, VantageClient
from tasks.vantage.site_api import Presence, report_presence

log = logging.getLogger(__name__)
HEARTBEAT_S = 10.0
# Three missed heartbeats: a process that was killed on another machine frees the name after this.
HOLD_S = 35
# A heartbeat lies for an hour, so that a centre that was away sees who fell silent when.
_KEPT_S = 3_600
_PRESENCE_EVERY_S = 3_600.0
REVOKED, TAKEN = 3, 4


class Heartbeat(threading.Thread):
    """Sends heartbeats until stopped; ``ended_with`` is the exit code if it ended the process."""

    def __init__(self, client: VantageClient, end: Callable[[], None] | None = None) -> None:
        super().__init__(name="pulse", daemon=True)
        self.ended_with = 0
        self._client = client
        self._end = end or _end_process
        self._stop = threading.Event()
        self._said_at = -_PRESENCE_EVERY_S

    def stop(self) -> None:
        """Beat no more, and leave the name free."""
        self._stop.set()

    def run(self) -> None:
        """Beat."""
        while not self._stop.is_set() and not self.ended_with:
            self._beat()
            self._stop.wait(HEARTBEAT_S)

    def _beat(self) -> None:
        try:
            self._report_presence_when_due()
            if self._hold_name():
                self._client.measure_clock()
                self._send()
                self._listen()
        except REFUSALS as error:
            self._ask_why(error)
        except (RedisError, OSError, ValueError) as error:
            log.warning("no pulse: %s", error)

    def _hold_name(self) -> bool:
        client, key = self._client.client, self._client.identity.key("holder")
        holder = client.get(key)
        if holder not in (None, self._client.instance.encode()):
            log.error("another machine works under this name; join this one with its own token")
            self._finish(TAKEN)
            return False
        client.set(key, self._client.instance, ex=HOLD_S)
        return True

    def _send(self) -> None:
        doubt_s, offset_s = self._client.clock
        word = {
            "instance": self._client.instance,
            "version": VERSION,
            "sent_at": time.time(),
            "clock_offset_ms": round(offset_s * 1e3, 3),
            "clock_doubt_ms": round(doubt_s * 1e3, 3),
            "load": self._client.load(),
        }
        key = self._client.identity.key("pulse")
        self._client.client.set(key, json.dumps(word), ex=_KEPT_S)

    def _listen(self) -> None:
        orders = self._client.client.get(self._client.identity.key("orders"))
        if orders:
            self._client.obey(json.loads(orders))

    def _report_presence_when_due(self) -> None:
        if time.monotonic() - self._said_at >= _PRESENCE_EVERY_S:
            self._said_at = time.monotonic()
            self._handle_presence(report_presence(self._client.identity))

    def _ask_why(self, error: Exception) -> None:
        """A broker that lost its memory refuses too; only the site's word ends the process."""
        log.warning("the broker refuses: %s", error)
        self._handle_presence(report_presence(self._client.identity))

    def _handle_presence(self, word: Presence) -> None:
        if word is Presence.REVOKED:
            log.error("the site has revoked this vantage point")
            self._finish(REVOKED)

    def _finish(self, code: int) -> None:
        self.ended_with = code
        self._client.ended.set()
        self._end()


def _end_process() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
