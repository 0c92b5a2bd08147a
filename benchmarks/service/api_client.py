"""Requests to several web processes of one site, repeated until one of them answers."""

import http.client
import json
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

PORT = 8000
PAUSE_S = 0.5


@dataclass(frozen=True, slots=True)
class Form:
    """A body that is not JSON, with its media type."""

    content: bytes
    kind: str


class ApiClient:
    """A client of the API on machines that fail; ``token`` authenticates it."""

    def __init__(self, addresses: Sequence[str], token: str = "") -> None:
        self._addresses = addresses
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        key: str = "",
        accepted: Sequence[int] = (),
    ) -> Any:
        """Return the document of the first answer below 500.

        Raises ``SystemExit`` for a status of 4xx that is not among the ``accepted``. A request
        with an idempotency key that was accepted by a killed process is not repeated.
        """
        number = 0
        while True:
            address = self._addresses[number % len(self._addresses)]
            with suppress(OSError, http.client.HTTPException, ValueError):
                status, document = self._request(address, method, path, body, key)
                if status < 400 or status in accepted:
                    return document
                if status < 500:
                    raise SystemExit(f"{method} {path}: {status} {document}")
            number += 1
            time.sleep(PAUSE_S)

    def _request(
        self, address: str, method: str, path: str, body: Any, key: str
    ) -> tuple[int, Any]:
        link = http.client.HTTPConnection(address, PORT, timeout=10)
        given = body if isinstance(body, Form) else None
        headers = {"Content-Type": given.kind if given else "application/json", **self._headers}
        headers |= {"Idempotency-Key": key} if key else {}
        try:
            text = None if body is None or given else json.dumps(body)
            link.request(method, path, given.content if given else text, headers)
            answer = link.getresponse()
            return answer.status, json.loads(answer.read() or "null")
        finally:
            link.close()
