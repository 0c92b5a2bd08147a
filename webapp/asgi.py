"""ASGI application: the report endpoint, body limits, then Django."""

import os
from collections.abc import Callable

import django
from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.module_loading import import_string

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")


class ThreadedHandler(ASGIHandler):
    """Django's handler with all middleware in the thread of the view.

    As coroutines, a dozen middlewares would each hand the request to that thread and back, which
    costs more than most pages.
    """

    def load_middleware(self, is_async: bool = False) -> None:
        """Load the middleware as functions, and call the first of them in a thread."""
        super().load_middleware(is_async=False)
        respond: Callable[[HttpRequest], HttpResponseBase] = self._middleware_chain  # type: ignore[has-type]
        self._middleware_chain = sync_to_async(respond, thread_sensitive=True)


django.setup(set_prefix=False)
_site = ThreadedHandler()
# Imported late, since the endpoint needs models of a configured Django.
limit_bodies = import_string("webapp.api.framework.request_bodies.limit_bodies")
application = import_string("webapp.api.screening.ingest.ingest_middleware")(limit_bodies(_site))
