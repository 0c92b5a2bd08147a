"""Audits of one survey over the API, one after the other, while machines fail.

Each is requested with an idempotency key at one web process after the other until one accepts it,
so that a request that was answered by a killed process is not a second audit.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.service.api_client import ApiClient
from benchmarks.service.background import Background

# An audit of a small survey takes seconds; twenty lost workers and cuts take minutes.
LIMIT_S = 600.0
FINAL = ("finished", "failed", "partial", "cancelled")


class Audits(Background):
    """A thread that audits a survey; ``enter`` runs work on the machine that sends requests."""

    def __init__(
        self, addresses: Sequence[str], survey: str, enter: Callable[[Callable[[], Any]], Any]
    ) -> None:
        self._client, self._survey = ApiClient(addresses), survey
        super().__init__(enter)
        self.done = 0
        self.faults: list[str] = []

    def run(self) -> None:
        """Audit until stopped, then count the stored audits."""
        calm: Any = None
        while not self._stopped.is_set():
            key = f"audit-{self.done}"
            found = self._audit(key)
            calm = calm or found
            if found != calm:
                self.faults.append(f"{key}: {str(found)[:200]} instead of {str(calm)[:200]}")
            self.done += 1
        stored = self._client.ask("GET", "/api/v1/audits?limit=1")["count"]
        if stored != self.done:
            self.faults.append(f"{stored} audits stored, {self.done} requested")

    def _audit(self, key: str) -> Any:
        """Return the summary and findings of one audit, without its times."""
        made = self._client.ask("POST", "/api/v1/audits", {"survey": self._survey}, key)
        deadline = time.monotonic() + LIMIT_S
        address = f"/api/v1/audits/{made['id']}"
        while made["status"] not in FINAL:
            if time.monotonic() > deadline:
                return f"{made['status']} after {LIMIT_S:.0f} s"
            time.sleep(1)
            made = self._client.ask("GET", address)
        if made["status"] == "failed":
            return made["error"]
        findings = self._client.ask("GET", f"{address}/findings?limit=500")["results"]
        return made["status"], sorted(found["fingerprint"] for found in findings)
