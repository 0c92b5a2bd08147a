"""Bodies of responses that are made while they are sent."""

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async


async def stream_pieces(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Stream from an asynchronous server; each piece is made when the last was sent."""
    while (piece := await sync_to_async(_next)(pieces)) is not None:
        if piece:
            yield piece


def _next(pieces: Iterator[bytes]) -> bytes | None:
    return next(pieces, None)
