"""Results of the bulk resolver as columns: integer ids of names, and addresses as numbers."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from crawlers.engine.config import Question, Result
from lake import arrays, columns

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
_CHOICE = pa.dictionary(pa.int32(), pa.string())
_CHOICES = ("type", "status", "resolver", "protocol")
ENCODED_RECORD = pa.struct([("name", pa.string()), ("type", _CHOICE), *list(columns.RECORD)[2:]])
# The same with few values as numbers of a dictionary, which a file has in any case.
ENCODED = pa.schema(
    [
        (field.name, _CHOICE)
        if field.name in _CHOICES
        else (field.name, pa.list_(ENCODED_RECORD))
        if field.name in ("answers", "authorities")
        else field
        for field in SCHEMA
    ]
)


def encode_choices(table: pa.Table) -> pa.Table:
    """A table of ``SCHEMA`` as one of ``ENCODED``."""
    arrays = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        array = column.combine_chunks()
        if name in _CHOICES:
            array = array.dictionary_encode()
        elif name in ("answers", "authorities"):
            array = _encode_records(array)
        arrays.append(array)
    return pa.Table.from_arrays(arrays, schema=ENCODED)


def _encode_records(lists: pa.ListArray) -> pa.ListArray:
    names, types, *others = lists.values.flatten()
    fields = [names, types.dictionary_encode(), *others]
    records = pa.StructArray.from_arrays(fields, fields=list(ENCODED_RECORD))
    return pa.ListArray.from_arrays(lists.offsets, records)


def tabulate(results: Sequence[Result], types_per_name: int) -> pa.Table:
    """One row per result, by ``name_id``: the number of the name in the list that was read.

    The table is one of ``ENCODED``.
    """
    rows = sorted(results, key=_tag)
    questions, statuses, answers, authorities, *rest = zip(*rows, strict=True)
    resolvers, protocols, attempts, rtts_ms, times, _, _, scopes = rest
    names, types, tags, _, subnets, _ = zip(*questions, strict=True)
    found = [
        arrays.numbers(np.array(tags, np.int64) // types_per_name),
        arrays.texts(names),
        *map(arrays.choices_of, (types, statuses)),
        columns.ipv4_column(answers),
        columns.ipv6_column(answers),
        columns.sections_column(answers, ENCODED_RECORD),
        columns.sections_column(authorities, ENCODED_RECORD),
        *map(arrays.choices_of, (resolvers, protocols)),
        arrays.numbers(np.array(attempts, np.int32)),
        arrays.optional_numbers(rtts_ms, np.float64),
        columns.times_column(times),
        arrays.texts(subnet or None for subnet in subnets),
        arrays.optional_numbers(scopes, np.int16),
    ]
    return pa.Table.from_arrays(found, schema=ENCODED)


def _tag(result: Result) -> int:
    question: Question = result[0]
    return question[2]
