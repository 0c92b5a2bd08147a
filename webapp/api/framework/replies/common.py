# ruff: noqa: D101
"""Response schemas that several subjects share."""

from datetime import datetime
from typing import Any, Generic, TypeVar

from ninja import Schema

Item = TypeVar("Item")
Columns = list[str]
Rows = list[list[Any]]


class Page(Schema, Generic[Item]):
    """A page of a list; ``next`` is the cursor of the page after it."""

    count: int
    next: str | None
    results: list[Item]


class CellPage(Schema):
    """Columns and rows of a table, as its files have them."""

    columns: Columns
    rows: Rows


class CountedCells(CellPage):
    """A part of a table; ``first`` is the place of its first row among ``total``."""

    total: int
    first: int


class RejectedLine(Schema):
    """A line of a list that cannot be used, and why."""

    line: int
    text: str
    reason: str


class Link(Schema):
    """``link`` is empty once the secret key of the site has changed."""

    id: int
    link: str
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None


class ShareAddress(Schema):
    link: str


class JsonSchema(Schema):
    """A JSON Schema, 2020-12."""
