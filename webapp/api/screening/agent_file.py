"""The agent as a file: unchanged, and with this site's address so that one line runs it."""

import hashlib

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from tasks.screening.agent_file import read_agent


def serve_agent(request: HttpRequest, site: str = "") -> HttpResponse:
    """The agent's file with an entity tag."""
    data = read_agent(site)
    tag = f'"{hashlib.sha256(data).hexdigest()[:24]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if request.headers.get("If-None-Match") == tag:
        return HttpResponse(status=304, headers=headers)
    return HttpResponse(data, content_type="text/x-python; charset=utf-8", headers=headers)


@require_safe
def serve_installable_agent(request: HttpRequest) -> HttpResponse:
    """``curl -s SITE/agent | python3 - --pool TOKEN``: the agent knows where to report."""
    # The host was validated against ALLOWED_HOSTS.
    return serve_agent(request, request.build_absolute_uri("/").rstrip("/"))
