"""Limit requests per client address, in the memory of this process.

Addresses are held as keyed hashes for a minute; the key is random and never stored.
"""

import secrets
import threading
import time
from collections import Counter
from hashlib import blake2b

WINDOW_S = 60.0


class AddressRates:
    """Count requests by address in windows of a minute."""

    def __init__(self, max_requests: int, max_addresses: int = 100_000) -> None:
        """Allow ``max_requests`` of an address; beyond ``max_addresses`` nothing is allowed."""
        self._max_requests, self._max_addresses = max_requests, max_addresses
        self._lock = threading.Lock()
        self._renew(time.monotonic())

    def _renew(self, now: float) -> None:
        self._ends = now + WINDOW_S
        self._key = secrets.token_bytes(16)
        self._counts: Counter[bytes] = Counter()

    def allow(self, address: str) -> bool:
        """Count a request; return whether it is within the limit."""
        with self._lock:
            now = time.monotonic()
            if now >= self._ends:
                self._renew(now)
            name = blake2b(address.encode(), key=self._key, digest_size=8).digest()
            if name not in self._counts and len(self._counts) >= self._max_addresses:
                return False
            self._counts[name] += 1
            return self._counts[name] <= self._max_requests
