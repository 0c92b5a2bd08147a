# ruff: noqa: D101
"""Response schemas of accounts, limits, range tables and types of problems."""

from datetime import date, datetime
from typing import Literal

from ninja import Schema


class Quota(Schema):
    limit: int
    used: int


class Limits(Schema):
    active_surveys: Quota
    active_surveys_of_yours: Quota
    domains_per_survey: int


class AccountToken(Schema):
    name: str
    scope: Literal["read", "write"]
    # Empty where it is not limited.
    subjects: list[str]
    expires_at: datetime | None


class Account(Schema):
    name: str
    token: AccountToken | None
    active_surveys: int


class RangeTable(Schema):
    """A published table of address ranges, as it was imported."""

    provider: str
    variant: str
    as_of: date
    origin: str
    sha256: str
    imported_at: datetime


class ProblemExample(Schema):
    """Field and detail of one problem; the field is empty where the whole body is meant."""

    field: str
    detail: str


class ProblemType(Schema):
    """What a type of problem means, and what to do about it."""

    type: str
    kind: str
    statuses: list[int]
    meaning: str
    remedy: str
    is_retryable: bool
    examples: list[ProblemExample]
