"""Results of the bulk resolver as columns: integer ids of names, and addresses as numbers."""

from collections.abc import Sequence

import pyarrow as pa

from crawlers.engine.config import Question, Result
from lake import columns

SCHEMA = pa.schema(
    [
        ("name_id", pa.int64()),
        ("name", pa.string()),
        ("type", pa.string()),
        ("status", pa.string()),
        ("ipv4", columns.IPV4),
        ("ipv6", columns.IPV6),
        ("answers", pa.list_(columns.RECORD)),
        ("authorities", pa.list_(columns.RECORD)),
        ("resolver", pa.string()),
        ("protocol", pa.string()),
        ("attempts", pa.int32()),
        ("rtt_ms", pa.float64()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("subnet", pa.string()),
        ("scope", pa.int16()),
    ]
)


def tabulate(results: Sequence[Result], types_per_name: int) -> pa.Table:
    """One row per result, by ``name_id``: the number of the name in the list that was read."""
    rows = sorted(results, key=_tag)
    questions, statuses, answers, authorities, *rest = zip(*rows, strict=True)
    resolvers, protocols, attempts, rtts_ms, times, _, _, scopes = rest
    names, types, tags, _, subnets, _ = zip(*questions, strict=True)
    arrays = [
        pa.array([tag // types_per_name for tag in tags], pa.int64()),
        *(pa.array(c, pa.string()) for c in (names, types, statuses)),
        columns.ipv4_column(answers),
        columns.ipv6_column(answers),
        columns.sections_column(answers),
        columns.sections_column(authorities),
        *(pa.array(c, pa.string()) for c in (resolvers, protocols)),
        pa.array(attempts, pa.int32()),
        pa.array(rtts_ms, pa.float64()),
        columns.times_column(times),
        pa.array([subnet or None for subnet in subnets], pa.string()),
        pa.array(scopes, pa.int16()),
    ]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def _tag(result: Result) -> int:
    question: Question = result[0]
    return question[2]
