"""The table of latency changes: where the level of a pair's rounds shifted, with interval and n."""

from dataclasses import asdict

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from analysis.campaigns.tables.level_shifts import find_shifts

_SCHEMA = pa.schema(
    [
        ("vantage", pa.string()),
        ("region", pa.string()),
        ("round", pa.int64()),
        ("found_round", pa.int64()),
        *((name, pa.float64()) for name in ("before", "after", "shift", "low", "high")),
        ("n_before", pa.int64()),
        ("n_after", pa.int64()),
    ]
)


def latency_changes(rounds: pa.Table) -> pa.Table:
    """Find the shifts of all pairs; ``rounds`` is sorted by vantage point, region and round.

    ``before``, ``after`` and ``shift``, with its 95 % interval ``low`` to ``high``, are in ms: of
    the medians of rounds (``p50``). ``round`` is the first of the new level, ``found_round`` the
    one that showed it, and ``n_before`` and ``n_after`` count rounds.
    """
    known = rounds.filter(pc.is_finite(rounds["p50"]))
    numbers = known["round"].to_numpy()
    values = known["p50"].to_numpy().astype(np.float64)
    rows = []
    for vantage, region, start, stop in _pairs(known):
        for shift in find_shifts(values[start:stop]):
            named = {name.removesuffix("_ms"): v for name, v in asdict(shift).items()}
            at, found = start + named.pop("at"), start + named.pop("found")
            rounds_of = {"round": int(numbers[at]), "found_round": int(numbers[found])}
            rows.append({"vantage": vantage, "region": region, **rounds_of, **named})
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


def _pairs(rounds: pa.Table) -> list[tuple[str, str, int, int]]:
    """Return (vantage point, region, first row, row after the last) of each pair."""
    if not rounds.num_rows:
        return []
    codes = [_codes(rounds[name]) for name in ("vantage", "region")]
    is_first = np.ones(rounds.num_rows, bool)
    is_first[1:] = (codes[0][1:] != codes[0][:-1]) | (codes[1][1:] != codes[1][:-1])
    starts = np.flatnonzero(is_first).tolist()
    names = rounds.select(["vantage", "region"]).take(starts).to_pylist()
    stops = [*starts[1:], rounds.num_rows]
    return [
        (row["vantage"], row["region"], start, stop)
        for row, start, stop in zip(names, starts, stops, strict=True)
    ]


def _codes(column: pa.ChunkedArray) -> npt.NDArray[np.int32]:
    encoded = column.cast(pa.string()).combine_chunks().dictionary_encode()
    codes: npt.NDArray[np.int32] = encoded.indices.to_numpy()
    return codes
