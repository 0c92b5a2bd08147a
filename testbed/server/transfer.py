"""Zone transfers as length-prefixed messages."""

from collections.abc import Iterator
from itertools import islice

from testbed.server.answers import NOERROR, REFUSED, Row, transfer_rows
from testbed.server.message import Packed, Query, frame, pack_rows
from testbed.world.model import CUT, Zone

# Several messages even for middling zones, so that readers must join them (RFC 5936).
ROWS_PER_MESSAGE = 100
_LARGEST_BYTES = 65_535


def with_length(message: bytes) -> bytes:
    """The form of a message on a TCP stream."""
    return len(message).to_bytes(2, "big") + message


def transfer_stream(zone: Zone | None, query: Query) -> Iterator[bytes]:
    """Yield chunks for the stream; an empty last chunk means: close the connection.

    A refused transfer is one REFUSED message; a cut one stops in the middle of a message.
    """
    rows = transfer_rows(zone) if zone is not None and zone.domain == query.name else None
    if zone is None or rows is None:
        yield with_length(frame(query, Packed(REFUSED, (0, 0), b""), _LARGEST_BYTES))
        return
    batches = _batches(rows)
    for batch in batches:
        yield with_length(_message(query, batch))
    if zone.transfer == CUT:
        yield with_length(_message(query, [(zone.domain, "NS", "cut.invalid")]))[:20]
        yield b""


def _batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while batch := list(islice(rows, ROWS_PER_MESSAGE)):
        yield batch


def _message(query: Query, rows: list[Row]) -> bytes:
    body = pack_rows(query.raw, rows)
    return frame(query, Packed(NOERROR, (len(rows), 0), body), _LARGEST_BYTES)
