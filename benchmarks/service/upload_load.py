"""Uploads of a traffic log over the API, one after the other, while machines fail.

Each has an idempotency key, and its capture is compared with the first one and deleted. No upload,
capture or file of a client may be left at the end.
"""

import secrets
import time
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.service.api_client import ApiClient, Form
from benchmarks.service.background import Failed, Repetition
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


class Uploads(Repetition):
    """Uploads of a log; ``enter`` runs work on the machine that sends requests."""

    kind = "upload"

    def __init__(
        self, addresses: Sequence[str], token: str, enter: Callable[[Callable[[], Any]], Any]
    ) -> None:
        super().__init__(enter)
        self._client, self._form = ApiClient(addresses, token), build_form()

    def perform(self, key: str) -> Any:
        """Return the clouds of one capture, which is then deleted; raises ``Failed``."""
        made = self._client.ask("POST", "/api/v1/captures", self._form, key)
        deadline = time.monotonic() + LIMIT_S
        address = f"/api/v1/captures/{made['capture']}"
        while made["status"] not in ("finished", "failed"):
            if time.monotonic() > deadline:
                raise Failed(f"{made['status']} after {LIMIT_S:.0f} s")
            time.sleep(1)
            made = self._client.ask("GET", f"{address}/upload")
        if made["status"] == "failed":
            raise Failed(made["error"])
        clouds = self._client.ask("GET", address)["clouds"]
        # A process that is killed after the deletion has given no answer.
        self._client.ask("DELETE", address, accepted=(404,))
        if not clouds.get("aws"):
            raise Failed(f"no connections to the cloud among {clouds}")
        return clouds

    def find_left(self) -> str:
        """Return the captures that are listed although each was deleted."""
        left = self._client.ask("GET", "/api/v1/captures?limit=500")["results"]
        return f"captures that were deleted are listed: {left}" if left else ""
