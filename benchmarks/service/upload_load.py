"""Uploads of a traffic log over the API, one after the other, while machines fail.

Each has an idempotency key, and its capture is compared with the first one and deleted. No upload,
capture or file of a client may be left at the end.
"""

import secrets
import time
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.service.api_client import ApiClient, Form
from benchmarks.service.background import Background
from tests.cartography.traffic.logs import conn, header

# An import needs seconds, and as many times its lease as workers are lost.
LIMIT_S = 600.0
ROWS = 20_000
CLIENT, CLOUD = "10.0.0.1", "11.0.0.5"


def build_form() -> Form:
    """A multipart body with one log of connections to a cloud."""
    log = header("conn") + conn("C1", CLIENT, CLOUD, service="ssl") * ROWS
    mark = secrets.token_hex(8)
    part = (
        f'--{mark}\r\nContent-Disposition: form-data; name="files"; filename="conn.log"\r\n'
        f"Content-Type: text/plain\r\n\r\n{log}\r\n--{mark}--\r\n"
    )
    return Form(part.encode(), f"multipart/form-data; boundary={mark}")


class Uploads(Background):
    """A thread that uploads a log; ``enter`` runs work on the machine that sends requests."""

    def __init__(
        self, addresses: Sequence[str], token: str, enter: Callable[[Callable[[], Any]], Any]
    ) -> None:
        self._client, self._form = ApiClient(addresses, token), build_form()
        super().__init__(enter)
        self.done = 0
        self.faults: list[str] = []

    def run(self) -> None:
        """Upload until stopped, then look for what is left."""
        calm: Any = None
        while not self._stopped.is_set():
            key = f"upload-{self.done}"
            found = self._upload(key)
            calm = calm or found
            if found != calm or not found.get("aws"):
                self.faults.append(f"{key}: {str(found)[:200]} instead of {str(calm)[:200]}")
            self.done += 1
        if left := self._client.ask("GET", "/api/v1/captures?limit=500")["results"]:
            self.faults.append(f"captures that were deleted are listed: {left}")

    def _upload(self, key: str) -> Any:
        """Return the clouds of one capture, which is then deleted, or why there is none."""
        made = self._client.ask("POST", "/api/v1/captures", self._form, key)
        deadline = time.monotonic() + LIMIT_S
        address = f"/api/v1/captures/{made['capture']}"
        while made["status"] not in ("finished", "failed"):
            if time.monotonic() > deadline:
                return {"late": made["status"]}
            time.sleep(1)
            made = self._client.ask("GET", f"{address}/upload")
        if made["status"] == "failed":
            return {"error": made["error"]}
        clouds = self._client.ask("GET", address)["clouds"]
        # A process that is killed after the deletion has given no answer.
        self._client.ask("DELETE", address, accepted=(404,))
        return clouds
