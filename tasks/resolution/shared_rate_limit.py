"""The pace that workers of all surveys share: slots of each server, reserved in Valkey.

The store's clock is the only one; each process learns how its own differs from it, so that slots
of several machines line up.
"""

import functools
import ipaddress
import math
import threading
import time
from collections.abc import Callable

import redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from core.errors import Unavailable
from crawlers.engine.rate_limit import (
    AHEAD_S,
    LATE_S,
    Grant,
    LocalRateLimits,
    Pace,
    Rates,
    grant_at,
    unlimited,
)
from tasks.platform.app import broker_url
from tasks.platform.valkey_urls import client_url
from tasks.resolution.engine_factory import Resolving, engine_config, servers_of

# A store that starts is back within a second or two; one that stays away longer gives the shard
# back while its lease is still good.
GIVE_UP_S = 8.0
_ASK_AGAIN_S = 0.25
_ANSWER_WITHIN_S = 1.0
_KEY = "nephoscope:pace:"
_QUIET_US = 1_000_000
# The next free slot of a key, and when that was written: a clock that was set back in between
# must not stop everyone. A store without its memory starts with a second of silence, since
# slots that it gave away before may still be used.
_RESERVE = """
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local interval, wanted, since, ahead, quiet = unpack(ARGV)
local born = tonumber(redis.call('GET', KEYS[2]) or '')
if not born or born > now then
  born = now
  redis.call('SET', KEYS[2], string.format('%.0f', now))
end
local free, written = string.match(redis.call('GET', KEYS[1]) or '', '^(%d+) (%d+)$')
free = (tonumber(free) or 0) - math.max(0, (tonumber(written) or 0) - now)
free = math.max(free, now + since, born + quiet)
if free - now > tonumber(ahead) then return {now, free - ahead, 0} end
local after = free + wanted * interval
local kept_ms = math.ceil(math.max(0, after - now) / 1000) + 1000
redis.call('SET', KEYS[1], string.format('%.0f %.0f', after, now), 'PX', kept_ms)
return {now, free, tonumber(wanted)}
"""


class SharedPace:
    """Permissions kept in Valkey; one per process, and safe to share between its threads.

    Servers are counted across all surveys, since a server feels their sum. ``place`` distinguishes
    servers that have the same private address at different measuring points. ``ahead_s`` is how
    far the store's clock is ahead of ours, not a number before the first answer, and ``rtt_s`` the
    moving average of its round-trip times.
    """

    def __init__(
        self,
        url: str,
        rates: Rates,
        place: str = "",
        give_up_s: float = GIVE_UP_S,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rates = rates
        self._place = place
        self._give_up_s = give_up_s
        self._monotonic = monotonic
        self._client = redis.Redis.from_url(
            client_url(url),
            socket_timeout=_ANSWER_WITHIN_S,
            socket_connect_timeout=_ANSWER_WITHIN_S,
            # A grant with a lost answer is lost; a second request would only use more.
            retry=Retry(NoBackoff(), 0),
        )
        self._script = self._client.register_script(_RESERVE)
        self._lock = threading.Lock()
        self.ahead_s = math.nan
        self.rtt_s = 0.0
        self._shortest_rtt_s = math.inf
        self._away_since: float | None = None

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def reserve(self, key: str, wanted: int) -> Grant:
        """The next slots of ``key``; raises ``Unavailable`` when the store stays away."""
        interval_s = self._rates.interval_s(key)
        asked_at = self._monotonic()
        if not interval_s:
            return unlimited(asked_at, wanted)
        keys = [_KEY + self._name(key), _KEY + "born"]
        # Slots that pass while the answer is under way would lapse: a distant worker would never
        # send a query.
        since_us = int((self.rtt_s - LATE_S / 2) * 1e6)
        numbers = [math.ceil(interval_s * 1e6), wanted, since_us, *_BOUNDS_US]
        try:
            now_us, free_us, size = self._script(keys=keys, args=numbers)
        except (RedisError, OSError) as error:
            return self._wait_for_store(asked_at, error)
        self._away_since = None
        ahead_s = self._learn_clock(now_us / 1e6, asked_at)
        return grant_at(free_us / 1e6 - ahead_s, size, interval_s)

    def _name(self, key: str) -> str:
        return f"{self._place}:{key}" if self._place and _is_private(key) else key

    def _learn_clock(self, store_s: float, asked_at: float) -> float:
        """How far the store's clock is ahead of ours, kept within what each answer allows.

        The store read its clock between question and answer: the estimate is the middle of the
        shortest round trip (the clock filter of RFC 5905, section 10), and others move it no
        further than they demand. The first question is long: it opens the connection.
        """
        answered_at = self._monotonic()
        rtt_s = answered_at - asked_at
        with self._lock:
            least, most = store_s - answered_at, store_s - asked_at
            known = (least + most) / 2 if rtt_s < self._shortest_rtt_s else self.ahead_s
            self._shortest_rtt_s = min(rtt_s, self._shortest_rtt_s)
            self.ahead_s = min(max(known, least), most)
            self.rtt_s += (rtt_s - self.rtt_s) / 4
            return self.ahead_s

    def _wait_for_store(self, now: float, error: Exception) -> Grant:
        if self._away_since is None:
            self._away_since = now
        if now - self._away_since > self._give_up_s:
            raise Unavailable(f"the store of shared limits does not answer: {error}") from error
        return grant_at(now + _ASK_AGAIN_S, 0, 0.0)


_BOUNDS_US = (int(AHEAD_S * 1e6), _QUIET_US)


def _is_private(key: str) -> bool:
    address = key.rpartition(":")[0].strip("[]")
    try:
        return not ipaddress.ip_address(address).is_global
    except ValueError:
        return False


def rates_of(options: Resolving) -> Rates:
    """The limits that a survey keeps."""
    return Rates(server_qps=engine_config(options, servers_of(options)).rate_per_server)


def pace_for(options: Resolving, *, in_worker: bool, place: str = "") -> Pace | None:
    """The pace of a crawl: shared between workers, a process's own without them, or no limit."""
    rates = rates_of(options)
    if rates == Rates():
        return None
    return _shared(broker_url(), rates, place) if in_worker else LocalRateLimits(rates)


@functools.lru_cache(maxsize=32)
def _shared(url: str, rates: Rates, place: str) -> SharedPace:
    """One per process and kind, so that a shard need not learn the store's clock again."""
    return SharedPace(url, rates, place)
