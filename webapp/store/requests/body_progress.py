"""Progress of a request body, and disconnection of its client."""

import threading
from dataclasses import dataclass, field

from django.http import HttpRequest

# Key in the ASGI scope.
SCOPE_KEY = "nephoscope.arriving"


@dataclass(slots=True)
class BodyProgress:
    """Bytes received so far, and whether the client has disconnected."""

    size: int = 0
    gone: threading.Event = field(default_factory=threading.Event)


def get_body_progress(request: HttpRequest) -> BodyProgress:
    """Return the progress of a request's body."""
    found: BodyProgress | None = getattr(request, "scope", {}).get(SCOPE_KEY)
    # Requests of tests do not come through a server.
    return found or BodyProgress(int(request.META.get("CONTENT_LENGTH") or 0))
