"""Numbered labels of a zone: the series that they form, and the missing members.

``web03`` and ``web05`` give ``web01``, ``web02``, ``web04``, ``web06``, in the same notation.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

# The last number of a label; longer ones are dates and identifiers rather than counts.
_NUMBERED = re.compile(r"(.*?)(\d{1,3})(\D*)", re.DOTALL)
# Series are filled from the beginning up to this; of longer ones only the neighbours are tried.
_FILLED_TO = 40
_NEAR = (1, -1, 2, -2)


@dataclass(slots=True)
class Series:
    """Labels that differ in one number only, below one name."""

    before: str
    after: str
    parent: str
    width: int = 1
    numbers: set[int] = field(default_factory=set)

    def name(self, number: int) -> str:
        """The name of one member."""
        return f"{self.before}{number:0{self.width}}{self.after}.{self.parent}"

    def gaps(self) -> Iterator[str]:
        """Members between the first and the last one."""
        low, high = min(self.numbers), max(self.numbers)
        near = high if high - low <= _FILLED_TO else low + _FILLED_TO
        return self._missing(range(low + 1, near))

    def neighbours(self) -> Iterator[str]:
        """One and two beyond either end."""
        low, high = min(self.numbers), max(self.numbers)
        ends = (high + 1, low - 1, high + 2, low - 2)
        return self._missing(ends)

    def first_missing(self) -> Iterator[str]:
        """From 1 up to the first member, then 0."""
        low = min(self.numbers)
        return self._missing([*range(1, min(low, _FILLED_TO)), 0])

    def continuation(self) -> Iterator[str]:
        """Some more behind the last member."""
        high = max(self.numbers)
        return self._missing(range(high + 3, high + 3 + min(8, len(self.numbers) * 2)))

    def _missing(self, numbers: Iterable[int]) -> Iterator[str]:
        return (self.name(n) for n in numbers if n >= 0 and n not in self.numbers)


def find_series(names: Iterable[tuple[str, str]]) -> list[Series]:
    """Series among (label, parent) pairs, the longest first, else in their order."""
    series: dict[tuple[str, str, str], Series] = {}
    for label, parent in names:
        match = _NUMBERED.fullmatch(label)
        if match is None or match[1][-1:].isdigit():
            continue
        key = (match[1], match[3], parent)
        found = series.setdefault(key, Series(*key))
        found.numbers.add(int(match[2]))
        if match[2].startswith("0") and len(match[2]) > 1:
            found.width = max(found.width, len(match[2]))
    return sorted(series.values(), key=lambda s: -len(s.numbers))
