"""Export of an account as a ZIP archive, streamed while it is made."""

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
def export_account(request: HttpRequest) -> Any:
    """Stream the archive. A POST, so that no link of another site starts the work."""
    answer = StreamingHttpResponse(
        _later(export.pack(export.members(request.user))), content_type="application/zip"
    )
    name = f"nephoscope-{request.user.get_username()}-{timezone.now():%Y-%m-%d}.zip"
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


async def _later(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Stream the archive from an asynchronous server; each piece is made when the last was sent."""
    while (piece := await sync_to_async(_next)(pieces)) is not None:
        if piece:
            yield piece


def _next(pieces: Iterator[bytes]) -> bytes | None:
    return next(pieces, None)
