"""Reports that arrive at the same time are stored together: one wait for the disk serves them all.

While one batch is written the next one gathers, so that batches grow with the load.
"""

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from django.db import close_old_connections

from core.errors import NephoscopeError
from webapp.store.screening.ingest import Arrival, Receipt, store_arrivals

log = logging.getLogger(__name__)
MOST_AT_ONCE = 200
# A transaction costs as much as twenty reports: under load they start no more often than this, and
# whoever comes alone does not wait.
EVERY_S = 0.1
Told = Receipt | NephoscopeError
Waiting = tuple[Arrival, "asyncio.Future[Told]"]


class NotStored(NephoscopeError):
    """The database or the disk did not take the report: sending it again may help."""

    permanent = False


class Writer:
    """The one thread that writes arrivals; belongs to one event loop."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Waiting] = asyncio.Queue()
        self._thread = ThreadPoolExecutor(1, "pool-writer")
        self._next = 0.0
        # Arrivals whose senders have not been told yet.
        self.waiting = 0
        self._task = asyncio.get_running_loop().create_task(self._write_forever())

    async def store(self, arrival: Arrival) -> Told:
        """What became of an arrival, once it is durable."""
        future: asyncio.Future[Told] = asyncio.get_running_loop().create_future()
        await self._queue.put((arrival, future))
        self.waiting += 1
        try:
            return await future
        finally:
            self.waiting -= 1

    async def _write_forever(self) -> None:
        while True:
            batch = await self._gather()
            told = await self._write([arrival for arrival, _ in batch])
            for (_, future), receipt in zip(batch, told, strict=False):
                if not future.done():
                    future.set_result(receipt)

    async def _write(self, arrivals: list[Arrival]) -> list[Told]:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, store_patiently, arrivals)
        except Exception:
            # Whatever it was, the next batch is taken, and these senders come again.
            log.exception("%d reports could not be stored", len(arrivals))
            return [NotStored("send it again later")] * len(arrivals)

    async def _gather(self) -> list[Waiting]:
        batch = [await self._queue.get()]
        await asyncio.sleep(self._next - asyncio.get_running_loop().time())
        self._next = asyncio.get_running_loop().time() + EVERY_S
        while len(batch) < MOST_AT_ONCE and not self._queue.empty():
            batch.append(self._queue.get_nowait())
        return batch


def store_patiently(arrivals: Sequence[Arrival]) -> list[Told]:
    """Store a batch, or its arrivals one by one when the batch cannot be stored as a whole."""
    try:
        close_old_connections()
        return store_arrivals(arrivals)
    except Exception:
        log.exception("%d reports could not be stored", len(arrivals))
    if len(arrivals) == 1:
        return [NotStored("the report could not be stored: send it again later")]
    return [told for arrival in arrivals for told in store_patiently([arrival])]
