"""Server-sent events of one survey."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from asgiref.sync import sync_to_async

from webapp.api.documents import etag_of, survey_json
from webapp.store import selectors

POLL_S = 0.7
HEARTBEAT_S = 15.0


async def stream(slug: str, reader: Any = None) -> AsyncIterator[str]:
    """The survey document whenever it changes, a comment when it does not, ``end`` at the end."""
    last, silent_s = "", 0.0
    while True:
        row = await sync_to_async(selectors.campaign)(slug, reader)
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
