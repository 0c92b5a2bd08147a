"""Results messages: columns as compressed JSON, with the standard library alone.

Arrow would halve their size and double a vantage point's memory; they are small.
"""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.errors import BadInput
from core.files import decompress

# A unit of work gives some tens of kilobytes; more than this is no results message of ours.
LARGEST_BYTES = 4 * 1024 * 1024
# Columns of numbers shrink to a fifth, of equal texts to a hundredth. Decoded, it takes twenty
# times its size at worst, so an untrusted sender must not be able to make it large.
_LARGEST_TEXT = 16 * 1024 * 1024
_MARK = b"NP1"


@dataclass(frozen=True, slots=True)
class ResultsMessage:
    """What a vantage point sends home: a kind, a head (which work it answers), and columns."""

    kind: str
    head: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        """Rows."""
        return max(map(len, self.columns.values()), default=0)

    def rows(self) -> list[dict[str, Any]]:
        """The columns as rows."""
        names = list(self.columns)
        values = zip(*self.columns.values(), strict=True)
        return [dict(zip(names, row, strict=True)) for row in values]


def columns_of(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, list[Any]]:
    """Rows as columns."""
    return {name: [row[name] for row in rows] for name in names}


def pack(message: ResultsMessage) -> bytes:
    """A results message as octets; raises ``BadInput`` for one that is too large to be taken."""
    body = [message.kind, message.head, message.columns]
    text = json.dumps(body, separators=(",", ":"), allow_nan=False).encode()
    packed = _MARK + zlib.compress(text, 6)
    if len(packed) > LARGEST_BYTES or len(text) > _LARGEST_TEXT:
        raise BadInput(f"a results message of {len(packed):,} bytes is too large", field="message")
    return packed


def unpack(data: bytes) -> ResultsMessage:
    """The results message of octets from elsewhere; raises ``BadInput`` for anything else."""
    if not data.startswith(_MARK) or len(data) > LARGEST_BYTES:
        raise BadInput("this is no results message, or one that is too large", field="message")
    try:
        text = decompress(data[len(_MARK) :], _LARGEST_TEXT)
        body = json.loads(text, parse_constant=_refuse)
    except (BadInput, ValueError, RecursionError) as error:
        raise BadInput(f"a results message is damaged: {error}", field="message") from error
    return _checked(body)


def _refuse(text: str) -> None:
    raise ValueError(f"{text} is not a number")


def _checked(body: Any) -> ResultsMessage:
    if not isinstance(body, list) or len(body) != 3:
        raise BadInput("a results message has a kind, a head and columns", field="message")
    kind, head, columns = body
    right = isinstance(kind, str) and isinstance(head, dict) and isinstance(columns, dict)
    if not right or not all(isinstance(column, list) for column in columns.values()):
        raise BadInput("a results message has a kind, a head and columns", field="message")
    if len({len(column) for column in columns.values()}) > 1:
        raise BadInput("the columns of a results message have different lengths", field="message")
    return ResultsMessage(kind, head, columns)
