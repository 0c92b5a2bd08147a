"""Audits of one survey over the API, one after the other, while machines fail.

Each is requested with an idempotency key at one web process after the other until one accepts it,
so that a request that was answered by a killed process is not a second audit.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.service.api_client import ApiClient
from benchmarks.service.background import Failed, Repetition

# An audit of a small survey takes seconds; twenty lost workers and cuts take minutes.
LIMIT_S = 600.0
FINAL = ("finished", "failed", "partial", "cancelled")


class Audits(Repetition):
    """Audits of a survey; ``enter`` runs work on the machine that sends requests."""

    kind = "audit"

    def __init__(
        self, addresses: Sequence[str], survey: str, enter: Callable[[Callable[[], Any]], Any]
    ) -> None:
        super().__init__(enter)
        self._client, self._survey = ApiClient(addresses), survey

    def perform(self, key: str) -> Any:
        """Return the status and findings of one audit, without its times; raises ``Failed``."""
        made = self._client.ask("POST", "/api/v1/audits", {"survey": self._survey}, key)
        deadline = time.monotonic() + LIMIT_S
        address = f"/api/v1/audits/{made['id']}"
        while made["status"] not in FINAL:
            if time.monotonic() > deadline:
                raise Failed(f"{made['status']} after {LIMIT_S:.0f} s")
            time.sleep(1)
            made = self._client.ask("GET", address)
        if made["status"] == "failed":
            raise Failed(made["error"])
        findings = self._client.ask("GET", f"{address}/findings?limit=500")["results"]
        return made["status"], sorted(found["fingerprint"] for found in findings)

    def find_left(self) -> str:
        """Return by how many the stored audits differ from the requested ones."""
        stored = self._client.ask("GET", "/api/v1/audits?limit=1")["count"]
        return "" if stored == self.done else f"{stored} audits stored, {self.done} requested"
