"""An audit that another installation runs: started, followed and read through its API."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from audits.findings import AuditReport
from audits.output.document import parse_report
from core.errors import BadInput, Unavailable
from core.http import LimitReached, check_site, read_json, request_site
from crawlers.files.domain_list import read_text

_WITHIN_S = 60.0
_MAX_BYTES = 512 * 2**20
# A state is requested this often, ever more slowly.
_FIRST_POLL_S, _SLOWEST_POLL_S = 0.5, 5.0
# How often a request is sent again that found no server, or one that takes no more for now.
_TRIES = 8
_WAIT_S = 2.0
_JUDGED = ("finished", "partial")


class AuditFailed(Unavailable):
    """The site could not judge; the text is its reason."""


@dataclass(frozen=True, slots=True)
class RemoteSite:
    """An installation and the token of an account there."""

    address: str
    token: str
    # Replaced in tests of waiting.
    sleep: Callable[[float], None] = time.sleep

    @classmethod
    def at(cls, address: str, token: str) -> "RemoteSite":
        """Check the address; raises ``BadInput``."""
        return cls(check_site(address, "--server"), token)

    def run_audit(
        self, body: Mapping[str, Any], show: Callable[[Mapping[str, Any]], None]
    ) -> AuditReport:
        """Start an audit, wait until it has ended, and return its report.

        ``show`` gets the audit's document when it changes. Raises ``BadInput`` where the site
        refuses the request, ``AuditFailed`` where it could not judge, and ``Unavailable``.
        """
        # The same key on every try: an answer that was lost starts no second audit.
        key = {"Idempotency-Key": uuid4().hex}
        started = self._json("/api/v1/audits", body, key)
        show(started)
        ended = self._wait(started, show)
        if ended["status"] not in _JUDGED:
            raise AuditFailed(f"the audit failed: {ended['error']}")
        return parse_report(self._json(f"{_path(ended)}/report.json"))

    def _wait(
        self, document: dict[str, Any], show: Callable[[Mapping[str, Any]], None]
    ) -> dict[str, Any]:
        """The audit's document once it has ended."""
        path, tag, pause_s = _path(document), "", _FIRST_POLL_S
        while document["status"] not in (*_JUDGED, "failed"):
            self.sleep(pause_s)
            pause_s = min(pause_s * 1.5, _SLOWEST_POLL_S)
            reply = self._send(path, None, {"If-None-Match": tag} if tag else {})
            if reply.status == 304:
                continue
            tag, document = reply.headers.get("etag", ""), read_json(reply, path)
            show(document)
        return document

    def _json(
        self,
        path: str,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        return read_json(self._send(path, body, headers or {}), path)

    def _send(self, path: str, body: Mapping[str, Any] | None, headers: Mapping[str, str]) -> Any:
        """Send a request; one that found no server, or no space, is sent again after a while."""
        sent = {**headers, **({"Authorization": f"Bearer {self.token}"} if self.token else {})}
        for attempt in range(1, _TRIES + 1):
            try:
                return request_site(
                    f"{self.address}{path}", body, sent, timeout_s=_WITHIN_S, max_bytes=_MAX_BYTES
                )
            except Unavailable as error:
                if attempt == _TRIES:
                    raise
                self.sleep(error.wait_s if isinstance(error, LimitReached) else _WAIT_S)
        raise AssertionError("the last try returns or raises")


def _path(document: Mapping[str, Any]) -> str:
    """The audit's own address below the site, whatever prefix its links have."""
    return f"/api/v1/audits/{document['id']}"


def list_text(data: bytes) -> str:
    """The text of a domain list in any form that a survey takes; raises ``BadInput``."""
    return read_text(data)


def policy_fields(text: str, document: bytes | None) -> dict[str, Any]:
    """The policy of a request: a document that was read from a file, or a name on the site."""
    if document is None:
        return {"policy": text}
    try:
        return {"policy_document": document.decode("utf-8")}
    except UnicodeDecodeError as error:
        raise BadInput("a policy is a UTF-8 text", field="--policy") from error


def describe_step(document: Mapping[str, Any]) -> str:
    """One line about how far an audit is."""
    if document["status"] in (*_JUDGED, "failed"):
        return f"{document['id']}: {document['status']}"
    step = document.get("step") or document["status"]
    return f"{document['id']}: {_STEPS.get(step, step)}"


_STEPS = {
    "queued": "waits for a worker",
    "survey": "the domains are being surveyed",
    "ask": "asking for CAA, DS and MX",
    "judge": "judging",
}
