"""The client: starts surveys and audits, and lists what there is."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Self

import httpx

from nephoscope import rest
from nephoscope.errors import raise_for_problem
from nephoscope.pages import iterate
from nephoscope.rest import models
from nephoscope.rest.api.account import get_account
from nephoscope.rest.api.audits import create_audit, get_audit, list_audits, plan_audit
from nephoscope.rest.api.comparisons import compare_surveys
from nephoscope.rest.api.surveys import create_survey, get_survey, list_surveys, plan_survey
from nephoscope.retries import RetryingTransport
from nephoscope.work import Audit, Survey

Domains = Sequence[str] | str


class Nephoscope:
    """A server of Nephoscope; without a token what is public is read and started.

    ``rest`` is the generated client, for the functions of :mod:`nephoscope.rest.api`: they have the
    same connections, repetitions and errors.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout_s: float = 60.0,
        attempts: int = 5,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        headers = {"User-Agent": "nephoscope-python/1.0"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        connection = httpx.Client(
            base_url=url.rstrip("/"),
            headers=headers,
            timeout=timeout_s,
            transport=RetryingTransport(transport or httpx.HTTPTransport(), attempts),
            event_hooks={"response": [raise_for_problem]},
        )
        self.rest = rest.AuthenticatedClient(base_url=url.rstrip("/"), token=token or "")
        self.rest.set_httpx_client(connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self.rest.get_httpx_client().close()

    def survey(self, domains: Domains, *, key: str | None = None, **options: Any) -> Survey:
        """Start a survey of domains, or of the text of a list.

        ``options`` are fields of the request: ``name``, ``axfr``, ``aaaa``, ``public``. The request
        has an ``Idempotency-Key``, by default a new one, so that it is safe to repeat.
        """
        body = models.SurveyIn(domains=_listed(domains), **options)
        row = create_survey.sync(client=self.rest, body=body, idempotency_key=key or _new_key())
        return Survey(self.rest, row)

    def plan_survey(self, domains: Domains, **options: Any) -> models.SurveyPlan:
        """Predict the cost of a survey; nothing is queried."""
        body = models.SurveyIn(domains=_listed(domains), **options)
        return plan_survey.sync(client=self.rest, body=body)

    def audit(
        self, domains: Domains | None = None, *, key: str | None = None, **options: Any
    ) -> Audit:
        """Start an audit of domains, of a ``domain_list`` or of a finished ``survey``.

        ``options`` are fields of the request: ``policy``, ``policy_document`` (text), ``fail_on``,
        ``previous``, ``name``, …
        """
        body = _audit(domains, options)
        row = create_audit.sync(client=self.rest, body=body, idempotency_key=key or _new_key())
        return Audit(self.rest, row)

    def plan_audit(self, domains: Domains | None = None, **options: Any) -> models.AuditPlan:
        """Predict the cost of an audit; nothing is queried."""
        return plan_audit.sync(client=self.rest, body=_audit(domains, options))

    def get_survey(self, survey_id: str) -> Survey:
        """Return a survey by its id."""
        return Survey(self.rest, get_survey.sync(survey_id, client=self.rest))

    def get_audit(self, audit_id: str) -> Audit:
        """Return an audit by its id."""
        return Audit(self.rest, get_audit.sync(audit_id, client=self.rest))

    def surveys(self) -> Iterator[Survey]:
        """Yield the surveys that the token's account may see, the newest first."""
        for row in iterate(partial(list_surveys.sync, client=self.rest)):
            yield Survey(self.rest, row)

    def audits(self, **query: Any) -> Iterator[Audit]:
        """Yield the audits that the token's account may see, the newest first."""
        for row in iterate(partial(list_audits.sync, client=self.rest), **query):
            yield Audit(self.rest, row)

    def compare(self, before: str, after: str) -> models.Comparison | models.Comparing:
        """What moved between two surveys; ``Comparing`` while it is computed."""
        return compare_surveys.sync(before, after, client=self.rest)

    def account(self) -> models.Account:
        """Return the account and scope of the token; raise ``AuthenticationError`` without one."""
        return get_account.sync(client=self.rest)


def _listed(domains: Domains) -> list[str] | str:
    return domains if isinstance(domains, str) else list(domains)


def _audit(domains: Domains | None, options: dict[str, Any]) -> models.AuditIn:
    given = {} if domains is None else {"domains": _listed(domains)}
    return models.AuditIn(**given, **options)


def _new_key() -> str:
    return uuid.uuid4().hex
