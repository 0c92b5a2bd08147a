"""Audits of one survey over the API, one after the other, while machines fail.

Each is requested with an idempotency key at one web process after the other until one accepts it,
so that a request that was answered by a killed process is not a second audit.
"""

import http.client
import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from benchmarks.service.background import Background

PORT = 8000
# An audit of a small survey takes seconds; twenty lost workers and cuts take minutes.
LIMIT_S = 600.0
FINAL = ("finished", "failed", "partial", "cancelled")


class Audits(Background):
    """A thread that audits a survey; ``enter`` runs work on the machine that sends requests."""

    def __init__(
        self, addresses: Sequence[str], survey: str, enter: Callable[[Callable[[], Any]], Any]
    ) -> None:
        self._addresses, self._survey = addresses, survey
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
        listed = self._ask("GET", "/api/v1/audits?limit=500")
        if len(listed["results"]) != self.done:
            self.faults.append(f"{len(listed['results'])} audits stored, {self.done} requested")

    def _audit(self, key: str) -> Any:
        """Return the summary and findings of one audit, without its times."""
        made = self._ask("POST", "/api/v1/audits", {"survey": self._survey}, key)
        deadline = time.monotonic() + LIMIT_S
        address = f"/api/v1/audits/{made['id']}"
        while made["status"] not in FINAL:
            if time.monotonic() > deadline:
                return f"{made['status']} after {LIMIT_S:.0f} s"
            time.sleep(1)
            made = self._ask("GET", address)
        if made["status"] == "failed":
            return made["error"]
        findings = self._ask("GET", f"{address}/findings?limit=500")["results"]
        return made["status"], sorted(found["fingerprint"] for found in findings)

    def _ask(self, method: str, path: str, body: Any = None, key: str = "") -> Any:
        """Return the document of the first answer below 500."""
        number = 0
        while True:
            address = self._addresses[number % len(self._addresses)]
            with suppress(OSError, http.client.HTTPException, ValueError):
                status, document = _request(address, method, path, body, key)
                if status < 400:
                    return document
                if status < 500:
                    raise SystemExit(f"{method} {path}: {status} {document}")
            number += 1
            time.sleep(0.5)


def _request(address: str, method: str, path: str, body: Any, key: str) -> tuple[int, Any]:
    link = http.client.HTTPConnection(address, PORT, timeout=10)
    headers = {"Content-Type": "application/json"} | ({"Idempotency-Key": key} if key else {})
    try:
        link.request(method, path, None if body is None else json.dumps(body), headers)
        answer = link.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        link.close()
