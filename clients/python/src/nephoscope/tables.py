"""Tables of reports, as rows and as data frames."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Table:
    """A table with its finding; ``n`` is the number of subjects behind it."""

    id: str
    columns: list[str]
    rows: list[list[Any]] = field(repr=False)
    n: int
    headline: str

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield each row as a dictionary."""
        for row in self.rows:
            yield dict(zip(self.columns, row, strict=True))

    def __len__(self) -> int:
        return len(self.rows)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame; needs pandas (``pip install nephoscope[pandas]``)."""
        import pandas

        return pandas.DataFrame(self.rows, columns=self.columns)


class Tables(dict[str, Table]):
    """Tables by id."""

    @classmethod
    def of(cls, document: dict[str, Any]) -> Tables:
        """Return the tables of a report document."""
        return cls(
            {
                name: Table(name, one["columns"], one["rows"], one["n"], one["headline"])
                for name, one in document.items()
            }
        )
