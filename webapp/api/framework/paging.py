"""Cursor pagination of lists."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ninja import Field, Schema

from core.errors import NephoscopeError

Row = TypeVar("Row")
PAGE_ROWS, MAX_ROWS = 200, 1_000


class ListChanged(NephoscopeError):
    """The row of a cursor is gone."""


class Page(Schema):
    """Which part of a list; ``cursor`` is the ``next`` of the page before."""

    limit: int = Field(PAGE_ROWS, ge=1, le=MAX_ROWS)
    cursor: str = Field("", max_length=200)


def paginate(
    rows: Sequence[Row], page: Page, key: Callable[[Row], object], show: Callable[[Row], Any]
) -> dict[str, Any]:
    """Return a page as ``{count, next, results}``; ``count`` is that of the whole list.

    A cursor is the key of the last row shown, so that new rows do not shift pages.
    Raises ``ListChanged`` if that row is gone.
    """
    first = 0
    if page.cursor:
        keys = [str(key(row)) for row in rows]
        if page.cursor not in keys:
            raise ListChanged("the list has changed since; start again without the cursor")
        first = keys.index(page.cursor) + 1
    shown = rows[first : first + page.limit]
    more = first + len(shown) < len(rows)
    following = str(key(shown[-1])) if more else None
    return {"count": len(rows), "next": following, "results": [show(row) for row in shown]}
