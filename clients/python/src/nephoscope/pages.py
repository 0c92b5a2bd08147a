"""Lists of the API as iterators over all of their rows."""

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

Row = TypeVar("Row", covariant=True)


class PageOf(Protocol[Row]):
    """What every page of a list has."""

    count: int
    next_: str | None

    @property
    def results(self) -> list[Row]:
        """The rows of the page."""
        ...


def iterate(fetch: Callable[..., Any], **query: Any) -> Iterator[Any]:
    """Yield the rows of a list, page after page, by a function of :mod:`nephoscope.rest`.

    The next page is requested when its first row is. Raises ``Conflict`` where the row of the
    cursor was deleted meanwhile.
    """
    cursor: str | None = ""
    while cursor is not None:
        page = fetch(**query, **({"cursor": cursor} if cursor else {}))
        yield from page.results
        cursor = page.next_
