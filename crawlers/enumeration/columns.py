"""Names of many zones to be queried: columns of names, and blocks of them for the compiled loop."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import add
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crawlers.engine.config import Block
from crawlers.enumeration.domain_state import DomainState
from crawlers.enumeration.interleave import Integers, order

Objects = npt.NDArray[np.object_]


@dataclass(frozen=True, slots=True)
class Column:
    """Names of one domain to be queried: ``names`` in full, then ``labels`` before the domain.

    Many columns share one sequence of labels.
    """

    state: DomainState
    names: Sequence[str] = ()
    labels: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.names) + len(self.labels)

    def __iter__(self) -> Iterator[str]:
        return chain(self.names, map(add, self.labels, [self.tail] * len(self.labels)))

    def name_at(self, place: int) -> str:
        """The name at a place."""
        n_names = len(self.names)
        return self.names[place] if place < n_names else self.labels[place - n_names] + self.tail

    @property
    def tail(self) -> str:
        """What follows a label."""
        return f".{self.state.domain}"

    def replace_first(self, n: int, names: Sequence[str]) -> "Column":
        """The column with other names in place of its first ``n``."""
        labels = self.labels[max(0, n - len(self.names)) :]
        return Column(self.state, [*names, *self.names[n:]], labels)


class _Segment(NamedTuple):
    """Part of a column: so many entries of the pool, each followed by ``tail``."""

    number: int
    start: int
    length: int
    tail: str


class NameBlocks:
    """Blocks of the names of many columns, spread over all of them, with tags.

    The tag of a guess is the number of its domain, if that is below ``n_counted`` and the guess one
    label. Every other name has a tag of its own, for which ``pop`` gives number and name.
    """

    def __init__(self, columns: Sequence[Column], n_counted: int, rng: random.Random) -> None:
        self.n_counted = n_counted
        # Names that no line of a block can hold: number of the domain, name.
        self.odd: list[tuple[int, str]] = []
        self._rng = rng
        self._singles: dict[int, tuple[int, str]] = {}
        self._next_single = n_counted
        self._zones = {column.state.number: column.state.domain for column in columns}
        self._segments: list[_Segment] = []
        self._starts: dict[int, int] = {}
        heads: list[str] = []
        for column in columns:
            self._add(heads, column)
        self._heads: Objects = _objects(heads)
        self._is_single = np.array(["." in head for head in heads], np.bool_)
        self._is_single |= n_counted == 0

    def _add(self, heads: list[str], column: Column) -> None:
        number, names = column.state.number, column.names
        if not _fit_lines(names):
            self.odd += [(number, name) for name in names if not _fit_lines([name])]
            names = [name for name in names if _fit_lines([name])]
        if names:
            # Whole names have dots, so that each has a tag of its own.
            self._segments.append(_Segment(number, len(heads), len(names), ""))
            heads += names
        labels = column.labels
        if labels:
            if id(labels) not in self._starts:
                self._starts[id(labels)] = len(heads)
                heads += labels
            start = self._starts[id(labels)]
            self._segments.append(_Segment(number, start, len(labels), column.tail))

    def __iter__(self) -> Iterator[Block]:
        numbers = np.array([segment.number for segment in self._segments], np.int64)
        starts = np.array([segment.start for segment in self._segments], np.int64)
        tails = _objects([segment.tail for segment in self._segments])
        for segments, places in order([s.length for s in self._segments], self._rng):
            pool = starts[segments] + places
            names = list(map(add, self._heads[pool].tolist(), tails[segments].tolist()))
            tags = numbers[segments]
            self._tag_singles(tags, names, np.flatnonzero(self._is_single[pool]))
            yield Block(0, "\n".join(names).encode("ascii"), tags)

    def _tag_singles(self, tags: Integers, names: list[str], places: Integers) -> None:
        own = range(self._next_single, self._next_single + len(places))
        pairs = zip(tags[places].tolist(), (names[n] for n in places.tolist()), strict=True)
        self._singles.update(zip(own, pairs, strict=True))
        tags[places] = own
        self._next_single = own.stop

    def add_single(self, number: int, name: str) -> int:
        """Return a tag for a name that is queried outside the blocks."""
        tag = self._next_single
        self._singles[tag] = (number, name)
        self._next_single += 1
        return tag

    def number_of(self, tag: int) -> int:
        """Return the number of the domain that an answered question belongs to."""
        return tag if tag < self.n_counted else self.pop(tag)[0]

    def zone_of(self, tag: int) -> str:
        """Return the domain of a question with a tag that was not popped yet."""
        return self._zones[tag if tag < self.n_counted else self._singles[tag][0]]

    def pop(self, tag: int) -> tuple[int, str]:
        """Return and forget the number of the domain and the name of an answered question."""
        return self._singles.pop(tag)


def _fit_lines(texts: Sequence[str]) -> bool:
    """Whether each of these is one line of ASCII."""
    joined = "".join(texts)
    return joined.isascii() and "\n" not in joined


def _objects(items: Sequence[Any]) -> Objects:
    found = np.empty(len(items), np.object_)
    found[:] = items
    return found
