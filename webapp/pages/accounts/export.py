"""Export of an account as a ZIP archive, streamed while it is made."""

from typing import Any

from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from webapp.pages.ui.access import signed_in
from webapp.store.accounts import export
from webapp.store.requests.pieces import stream_pieces


@never_cache
@signed_in
@require_POST
def export_account(request: HttpRequest) -> Any:
    """Stream the archive. A POST, so that no link of another site starts the work."""
    answer = StreamingHttpResponse(
        stream_pieces(export.pack(export.members(request.user))), content_type="application/zip"
    )
    name = f"nephoscope-{request.user.get_username()}-{timezone.now():%Y-%m-%d}.zip"
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer
