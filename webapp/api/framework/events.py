"""Server-sent events of one survey or audit, and the limit on all streams."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from django.db import close_old_connections
from django.http import StreamingHttpResponse

from core.errors import NephoscopeError
from webapp.api.framework.documents import etag_of, survey_json
from webapp.store.surveys import selectors

T = TypeVar("T", str, bytes)
POLL_S = 0.7
HEARTBEAT_S = 15.0
# Streams that one address, and everyone together, may hold open in one process.
MOST_STREAMS_EACH, MOST_STREAMS = 30, 300


class TooManyStreams(NephoscopeError):
    """The limit on open streams of an address, or of all, is reached."""

    permanent = False


_open: Counter[str] = Counter()


def limit_streams(address: str, pieces: AsyncIterator[T]) -> AsyncIterator[T]:
    """Count a stream of events or bytes while it is open; raise ``TooManyStreams`` at the limit."""
    if _open[address] >= MOST_STREAMS_EACH or _open.total() >= MOST_STREAMS:
        raise TooManyStreams("too many streams are open: close one, or try again later")
    return _counted(address, pieces)


async def _counted(address: str, pieces: AsyncIterator[T]) -> AsyncIterator[T]:
    _open[address] += 1
    try:
        async for piece in pieces:
            yield piece
    finally:
        _open[address] -= 1
        if not _open[address]:
            del _open[address]


# The document of a row, its status and whether that is final; ``None`` once the row is gone.
State = tuple[dict[str, Any], str, bool]


async def stream_survey(slug: str, reader: Any = None) -> AsyncIterator[str]:
    """Yield the survey document on change, heartbeat comments, and ``end`` when the survey ends."""

    def read() -> State | None:
        row = selectors.survey(slug, reader)
        return None if row is None else (survey_json(row), row.state, row.is_final)

    async for event in stream_states(read):
        yield event


async def stream_states(read: Callable[[], State | None]) -> AsyncIterator[str]:
    """Yield a document on change, heartbeat comments, and ``end`` with its final status."""
    last, silent_s = "", 0.0
    while True:
        found = await sync_to_async(_read_once)(read)
        if found is None:
            return
        document, status, is_final = found
        tag = etag_of(document)
        if tag != last:
            last, silent_s = tag, 0.0
            yield f"id: {tag}\nevent: progress\ndata: {json.dumps(document, default=str)}\n\n"
        if is_final:
            yield f"event: end\ndata: {json.dumps({'status': status})}\n\n"
            return
        await asyncio.sleep(POLL_S)
        silent_s += POLL_S
        if silent_s >= HEARTBEAT_S:
            silent_s = 0.0
            yield ": still here\n\n"


def _read_once(read: Callable[[], State | None]) -> State | None:
    """Read, and keep no connection to the database until the next look."""
    try:
        return read()
    finally:
        close_old_connections()


def event_stream(address: str, events: AsyncIterator[str]) -> StreamingHttpResponse:
    """The response of a stream; raises ``TooManyStreams`` at the limit of an address, or of all."""
    answer = StreamingHttpResponse(limit_streams(address, events), content_type="text/event-stream")
    answer["Cache-Control"] = "no-store"
    answer["X-Accel-Buffering"] = "no"
    return answer
