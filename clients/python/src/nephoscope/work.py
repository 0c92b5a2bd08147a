"""Surveys and audits: followed until they have ended, then read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from http import HTTPStatus
from typing import Any, Self

from nephoscope import rest
from nephoscope.errors import NotFinished, WaitTimeout, WorkFailed
from nephoscope.pages import iterate
from nephoscope.rest import models
from nephoscope.rest.api.audits import (
    delete_audit,
    get_audit,
    get_audit_report,
    list_audit_findings,
)
from nephoscope.rest.api.evidence import list_survey_domains
from nephoscope.rest.api.reports import get_survey_report
from nephoscope.rest.api.surveys import cancel_survey, delete_survey, get_survey
from nephoscope.tables import Tables

FIRST_POLL_S, LONGEST_POLL_S = 0.3, 5.0


@dataclass(frozen=True)
class SurveyReport:
    """The report of a survey: figures of the whole, and its tables."""

    document: dict[str, Any]

    @cached_property
    def tables(self) -> Tables:
        """Tables by id."""
        return Tables.of(self.document["tables"])

    @property
    def names(self) -> dict[str, Any]:
        """Names that were queried, resolved, in a cloud, and failed by status."""
        return dict(self.document["names"])


class Work:
    """Something that the server works on; ``id``, ``status`` and ``document`` are as last read."""

    _final: tuple[str, ...] = ()
    _with_result: tuple[str, ...] = ()
    _fetch: Any

    def __init__(self, client: rest.AuthenticatedClient, document: Any) -> None:
        self._client, self.document = client, document
        self._etag = ""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}: {self.status}>"

    @property
    def id(self) -> str:
        """The name of the object in addresses."""
        return str(self.document.id)

    @property
    def status(self) -> str:
        """The status as last read."""
        return str(self.document.status)

    @property
    def is_final(self) -> bool:
        """Whether it has ended."""
        return self.status in self._final

    def refresh(self) -> Self:
        """Read the document again; costs little while nothing has changed (304)."""
        known = {"if_none_match": self._etag} if self._etag else {}
        reply = type(self)._fetch(self.id, client=self._client, **known)
        self._etag = reply.headers.get("ETag", "")
        if reply.status_code != HTTPStatus.NOT_MODIFIED:
            self.document = reply.parsed
        return self

    def wait(
        self, timeout_s: float | None = None, progress: Callable[[Self], None] | None = None
    ) -> Self:
        """Wait until it has ended; ``progress`` is called after each look at it.

        Raises ``WaitTimeout`` after ``timeout_s`` seconds, and ``WorkFailed`` if it ended without
        a result.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        pause_s = FIRST_POLL_S
        while not self.refresh().is_final:
            if progress:
                progress(self)
            if deadline is not None and time.monotonic() + pause_s > deadline:
                raise WaitTimeout(f"{self!r} had not ended after {timeout_s:g} s")
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.5, LONGEST_POLL_S)
        if progress:
            progress(self)
        self._require_result()
        return self

    def _require_result(self) -> None:
        if self.status in self._with_result:
            return
        if self.is_final:
            raise WorkFailed(f"{self!r}: {self.document.error or 'it has no result'}")
        raise NotFinished(f"{self!r} has not ended: wait() first")


class Survey(Work):
    """A survey of a list of domains."""

    _final = ("finished", "partial", "failed", "cancelled")
    _with_result = ("finished", "partial")
    _fetch = staticmethod(get_survey.sync_detailed)
    document: models.Survey

    @cached_property
    def report(self) -> SurveyReport:
        """The whole report."""
        self._require_result()
        found = get_survey_report.sync(self.id, client=self._client)
        return SurveyReport(found.to_dict())

    @property
    def tables(self) -> Tables:
        """Tables of the report by id."""
        return self.report.tables

    def domains(self, text: str = "") -> Iterator[models.ListedDomain]:
        """Yield the domains by rank, all or those that hold a text."""
        cursor: str | None = ""
        while cursor is not None:
            page = list_survey_domains.sync(self.id, client=self._client, q=text, cursor=cursor)
            yield from page.rows
            cursor = page.next_

    def cancel(self) -> Self:
        """Stop it; what was stored stays."""
        self.document = cancel_survey.sync(self.id, client=self._client)
        return self

    def delete(self) -> None:
        """Stop it and delete all of it permanently."""
        delete_survey.sync_detailed(self.id, client=self._client)


class Audit(Work):
    """An audit of a list of domains, of a saved list or of a survey under a policy."""

    _final = ("finished", "partial", "failed")
    _with_result = ("finished", "partial")
    _fetch = staticmethod(get_audit.sync_detailed)
    document: models.Audit

    @property
    def exit_code(self) -> int | None:
        """That of the command: 0 clean, 1 findings, 3 not judged; ``None`` before the end."""
        return self.document.exit_code

    @cached_property
    def findings(self) -> list[models.ListedFinding]:
        """Open findings, the most severe first."""
        return list(self.iterate_findings(category="finding"))

    def iterate_findings(self, **query: Any) -> Iterator[models.ListedFinding]:
        """Yield rows of all categories, or those of ``category``, ``severity``, ``rule``, …"""
        self._require_result()
        return iterate(partial(list_audit_findings.sync, self.id, client=self._client), **query)

    @cached_property
    def report(self) -> models.AuditReport:
        """The whole report."""
        self._require_result()
        return get_audit_report.sync(self.id, client=self._client, format_="json")

    def export(self, form: str) -> bytes:
        """The report as ``json``, ``sarif``, ``junit``, ``gitlab``, ``markdown`` or ``csv``."""
        self._require_result()
        address = f"/api/v1/audits/{self.id}/report.{form}"
        return self._client.get_httpx_client().get(address).content

    def delete(self) -> None:
        """Stop it and delete it with its findings; its survey stays."""
        delete_audit.sync_detailed(self.id, client=self._client)
