"""Samples go in; how many runs of which probe ended how, by pair and by place, comes out."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis.wide_area.columns import Source, Vocabulary, read_batches

Row = dict[str, Any]
OK = "OK"
_KEYS = ("vantage", "region", "probe", "status")
Integers = NDArray[np.int64]


@dataclass
class Runs:
    """Numbers of runs: by vantage point, by region, and of each pair those that failed."""

    words: tuple[Vocabulary, ...]
    by_key: dict[str, Integers]
    failed: pa.Table


def count_runs(source: Source) -> Runs:
    """Count all runs; raises ``BadInput``."""
    words = tuple(Vocabulary() for _ in _KEYS)
    by_key = {"vantage": np.zeros((0, 0, 0), np.int64), "region": np.zeros((0, 0, 0), np.int64)}
    failed = []
    for batch in read_batches(source, _KEYS):
        codes = [w.encode(c).astype(np.int64) for w, c in zip(words, batch.columns, strict=True)]
        sizes = [len(w) for w in words]
        for place, key in enumerate(by_key):
            own = (sizes[place], *sizes[2:])
            cells = np.ravel_multi_index((codes[place], *codes[2:]), own)
            found = np.bincount(cells, minlength=int(np.prod(own))).reshape(own)
            by_key[key] = _sum(by_key[key], found)
        wrong = codes[3] != _number(words[3], OK)
        failed.append(np.stack([c[wrong] for c in codes]))
    return Runs(words, by_key, _failed(words, failed))


def _sum(one: Integers, other: Integers) -> Integers:
    """Two counts by the same keys, of which the second knows more."""
    other[tuple(slice(n) for n in one.shape)] += one
    return other


def _number(words: Vocabulary, word: str) -> int:
    values = words.values
    return values.index(word) if word in values else -1


def _failed(words: tuple[Vocabulary, ...], found: list[Integers]) -> pa.Table:
    """Failed runs of each pair, probe and status, sorted by vantage point."""
    codes = np.concatenate(found, axis=1) if found else np.zeros((len(_KEYS), 0), np.int64)
    sizes = tuple(max(len(w), 1) for w in words)
    cells, runs = np.unique(np.ravel_multi_index(tuple(codes), sizes), return_counts=True)
    own = np.unravel_index(cells, sizes)
    columns = {
        key: pa.array([str(v) for v in word.values], pa.string()).take(pa.array(code))
        for key, word, code in zip(_KEYS, words, own, strict=True)
    }
    table = pa.table({**columns, "runs": runs.astype(np.int64)})
    return table.sort_by([(k, "ascending") for k in _KEYS])


def by_place(counts: Runs, place: str) -> list[Row]:
    """Failures by place, probe and reason; ``runs`` stands in the first row of place and probe.

    Where all runs went well there is a row without a reason, so that nobody is left out.
    """
    names = [[str(v) for v in counts.words[_KEYS.index(k)].values] for k in (place, *_KEYS[2:])]
    found = counts.by_key[place]
    cells = np.argwhere(found.sum(axis=2) > 0).tolist()
    told = sorted((names[0][at], names[1][probe], at, probe) for at, probe in cells)
    return [
        row
        for where, own, at, probe in told
        for row in _rows(place, where, own, (names[2], found[at, probe]))
    ]


def _rows(place: str, where: str, probe: str, ended: tuple[list[str], Integers]) -> list[Row]:
    """The reasons of one place and probe, the most frequent first."""
    runs = int(ended[1].sum())
    told = [(s, int(n)) for s, n in zip(*ended, strict=True) if s != OK and n]
    bad = sorted(told, key=lambda o: (-o[1], o[0]))
    return [
        {place: where, "probe": probe, "reason": status, "failed": failed,
         "share": failed / runs, "runs": 0 if at else runs}
        for at, (status, failed) in enumerate(bad or [("", 0)])
    ]  # fmt: skip
