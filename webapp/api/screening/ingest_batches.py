"""Group commit of reports: concurrent arrivals share one transaction.

While one batch is written the next one is collected, so that batches grow with the load.
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
# a single report does not wait.
EVERY_S = 0.1
Outcome = Receipt | NephoscopeError
PendingArrival = tuple[Arrival, "asyncio.Future[Outcome]"]


class NotStored(NephoscopeError):
    """The report could not be stored; a retry may succeed."""

    permanent = False


class BatchWriter:
    """The one thread that writes arrivals; belongs to one event loop."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[PendingArrival] = asyncio.Queue()
        self._thread = ThreadPoolExecutor(1, "pool-writer")
        self._next = 0.0
        # Number of arrivals without a response so far.
        self.waiting = 0
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def store(self, arrival: Arrival) -> Outcome:
        """Queue an arrival and return its outcome once it is durable."""
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        await self._queue.put((arrival, future))
        self.waiting += 1
        try:
            return await future
        finally:
            self.waiting -= 1

    async def _run(self) -> None:
        while True:
            batch = await self._gather()
            outcomes = await self._write([arrival for arrival, _ in batch])
            for (_, future), receipt in zip(batch, outcomes, strict=False):
                if not future.done():
                    future.set_result(receipt)

    async def _write(self, arrivals: list[Arrival]) -> list[Outcome]:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, store_with_fallback, arrivals)
        except Exception:
            # The writer must survive any error; these senders retry.
            log.exception("%d reports could not be stored", len(arrivals))
            return [NotStored("send it again later")] * len(arrivals)

    async def _gather(self) -> list[PendingArrival]:
        batch = [await self._queue.get()]
        await asyncio.sleep(self._next - asyncio.get_running_loop().time())
        self._next = asyncio.get_running_loop().time() + EVERY_S
        while len(batch) < MOST_AT_ONCE and not self._queue.empty():
            batch.append(self._queue.get_nowait())
        return batch


def store_with_fallback(arrivals: Sequence[Arrival]) -> list[Outcome]:
    """Store a batch, or its arrivals one by one when the batch cannot be stored as a whole."""
    try:
        close_old_connections()
        return store_arrivals(arrivals)
    except Exception:
        log.exception("%d reports could not be stored", len(arrivals))
    if len(arrivals) == 1:
        return [NotStored("the report could not be stored: send it again later")]
    return [one for arrival in arrivals for one in store_with_fallback([arrival])]
