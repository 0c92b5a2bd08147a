"""All that is one person's as a ZIP archive, which is made while it is sent."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from webapp.pages.ui.access import signed_in
from webapp.store.accounts import export


@never_cache
@signed_in
@require_POST
def take_out(request: HttpRequest) -> Any:
    """The archive; asked for by a form, so that no link of another site makes work here."""
    answer = StreamingHttpResponse(
        _later(export.pack(export.members(request.user))), content_type="application/zip"
    )
    name = f"nephoscope-{request.user.get_username()}-{timezone.now():%Y-%m-%d}.zip"
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


async def _later(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The same from a server that waits for nobody; a piece is made once the last one is sent."""
    while (piece := await sync_to_async(_next)(pieces)) is not None:
        if piece:
            yield piece


def _next(pieces: Iterator[bytes]) -> bytes | None:
    return next(pieces, None)
