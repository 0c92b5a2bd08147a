"""Compress whole answers; leave streams as they are."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware


class Compression(GZipMiddleware):
    """Django's gzip middleware for answers that are there at once.

    Django packs every piece of an asynchronous stream as a separate gzip member (RFC 1952 allows
    several). Browsers decode the first member alone, so that an event stream ended after its first
    event. What is streamed here is events, which are small, and archives, which are packed already.
    """

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """Compress an answer that is not a stream, where the browser accepts it."""
        if response.streaming:
            return response
        packed: HttpResponseBase = super().process_response(request, response)
        return packed
