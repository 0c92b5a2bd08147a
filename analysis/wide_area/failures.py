"""Samples go in; how many runs of which probe ended how, by pair and by place, comes out."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from analysis.wide_area.columns import Source, read_batches

Row = dict[str, Any]
OK = "OK"
_KEYS = ["vantage", "region", "probe", "status"]


def count_runs(source: Source) -> pa.Table:
    """One row per pair, probe and status, sorted by vantage point; raises ``BadInput``."""
    found = [
        pa.Table.from_batches([_plain(batch)]).group_by(_KEYS).aggregate([([], "count_all")])
        for batch in read_batches(source, _KEYS)
    ]
    if not found:
        return pa.table(
            {**{k: pa.array([], pa.string()) for k in _KEYS}, "runs": pa.array([], "int64")}
        )
    whole = pa.concat_tables(found).group_by(_KEYS).aggregate([("count_all", "sum")])
    told = whole.rename_columns([*_KEYS, "runs"])
    return told.sort_by([(k, "ascending") for k in _KEYS])


def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = [batch.column(k).cast(pa.string()) for k in _KEYS]
    return pa.RecordBatch.from_arrays(columns, names=_KEYS)


def by_place(counts: pa.Table, place: str) -> list[Row]:
    """Failures by place, probe and reason; ``runs`` stands in the first row of place and probe.

    Where all runs went well there is a row without a reason, so that nobody is left out.
    """
    told = counts.group_by([place, "probe", "status"]).aggregate([("runs", "sum")]).to_pylist()
    groups: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for row in told:
        groups.setdefault((row[place], row["probe"]), []).append((row["status"], row["runs_sum"]))
    rows = []
    for (where, probe), own in sorted(groups.items()):
        runs = sum(n for _, n in own)
        bad = sorted(((s, n) for s, n in own if s != OK), key=lambda o: (-o[1], o[0]))
        for at, (status, failed) in enumerate(bad or [("", 0)]):
            rows.append(
                {place: where, "probe": probe, "reason": status, "failed": failed,
                 "share": failed / runs, "runs": 0 if at else runs}
            )  # fmt: skip
    return rows


def failed_only(counts: pa.Table) -> pa.Table:
    """The rows of runs that gave no value."""
    return counts.filter(pc.not_equal(counts["status"], OK))
