"""ASGI application: the report endpoint, body limits, then Django."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from contextvars import copy_context
from typing import Any

import django
from asgiref.sync import sync_to_async
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.db import close_old_connections
from django.http.response import FileResponse, HttpResponseBase
from django.urls import set_script_prefix
from django.utils.module_loading import import_string

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")

# Requests that are processed at once; more wait. Threads are used again, since a new one for each
# request costs more than most pages. Each that computes asks for the interpreter lock every
# ``SWITCH_S``, so that more of them only cost.
REQUEST_THREADS = 32
_threads = ThreadPoolExecutor(REQUEST_THREADS, "request")


class ThreadedHandler(ASGIHandler):
    """Django's handler with signals, middleware and view in one call of one thread.

    As coroutines, a dozen middlewares would each hand the request to a thread and back, and so do
    the signals and the closing of a response.
    """

    def load_middleware(self, is_async: bool = False) -> None:
        """Load the middleware as functions."""
        super().load_middleware(is_async=False)

    async def handle(self, scope: Any, receive: Any, send: Any) -> None:
        """Read a body, respond in a thread, and send; a stream ends with its connection."""
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        with closing(body):
            # The body limits, through which messages go, note that a client has gone.
            gone = asyncio.create_task(receive())
            try:
                await self._answer(scope, body, send, gone)
            finally:
                gone.cancel()

    async def _answer(self, scope: Any, body: Any, send: Any, gone: "asyncio.Task[Any]") -> None:
        loop, context = asyncio.get_running_loop(), copy_context()
        response = await loop.run_in_executor(_threads, context.run, self._respond, scope, body)
        if not response.streaming:
            await self.send_response(response, send)
            return
        sent = asyncio.create_task(self.send_response(response, send))
        try:
            await asyncio.wait((sent, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not sent.done():
                sent.cancel()
            await asyncio.gather(sent, return_exceptions=True)
            await sync_to_async(response.close)()
        if not sent.cancelled():
            sent.result()

    def _respond(self, scope: Any, body: Any) -> HttpResponseBase:
        """Return a response; all but streams are closed, as is what they held of the database."""
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=self.__class__, scope=scope)
        request, refusal = self.create_request(scope, body)
        response: HttpResponseBase = self.get_response(request) if request else refusal  # type: ignore[assignment]
        response._handler_class = self.__class__  # type: ignore[attr-defined]
        if response.streaming:
            if isinstance(response, FileResponse):
                response.block_size = self.chunk_size
            close_old_connections()
        else:
            response.close()
        return response


django.setup(set_prefix=False)
_site = ThreadedHandler()
# Imported late, since the endpoint needs models of a configured Django.
limit_bodies = import_string("webapp.api.framework.request_bodies.limit_bodies")
application = import_string("webapp.api.screening.ingest.ingest_middleware")(limit_bodies(_site))
