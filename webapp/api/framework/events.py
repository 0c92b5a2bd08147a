"""Server-sent events of one survey."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

from asgiref.sync import sync_to_async

from core.errors import NephoscopeError
from webapp.api.framework.documents import etag_of, survey_json
from webapp.store.surveys import selectors

POLL_S = 0.7
HEARTBEAT_S = 15.0
# Streams that one address, and everybody together, may hold open in one process.
MOST_STREAMS_EACH, MOST_STREAMS = 30, 300


class TooManyStreams(NephoscopeError):
    """The limit on open streams of an address, or of all, is reached."""

    permanent = False


_open: Counter[str] = Counter()


def limit_streams(address: str, events: AsyncIterator[str]) -> AsyncIterator[str]:
    """Count the stream while it is open; raise ``TooManyStreams`` at the limit."""
    if _open[address] >= MOST_STREAMS_EACH or _open.total() >= MOST_STREAMS:
        raise TooManyStreams("too many event streams are open: close one, or poll instead")
    return _counted(address, events)


async def _counted(address: str, events: AsyncIterator[str]) -> AsyncIterator[str]:
    _open[address] += 1
    try:
        async for event in events:
            yield event
    finally:
        _open[address] -= 1
        if not _open[address]:
            del _open[address]


async def stream_survey(slug: str, reader: Any = None) -> AsyncIterator[str]:
    """Yield the survey document on change, heartbeat comments, and ``end`` when the survey ends."""
    last, silent_s = "", 0.0
    while True:
        row = await sync_to_async(selectors.survey)(slug, reader)
        if row is None:
            return
        document = survey_json(row)
        tag = etag_of(document)
        if tag != last:
            last, silent_s = tag, 0.0
            yield f"id: {tag}\nevent: progress\ndata: {json.dumps(document, default=str)}\n\n"
        if row.is_final:
            yield f"event: end\ndata: {json.dumps({'status': row.state})}\n\n"
            return
        await asyncio.sleep(POLL_S)
        silent_s += POLL_S
        if silent_s >= HEARTBEAT_S:
            silent_s = 0.0
            yield ": still here\n\n"
