"""What the server knows of a request: how much of its body came, and whether its client left."""

import threading
from dataclasses import dataclass, field

from django.http import HttpRequest

# Where it stands in the scope of a request.
SCOPE_KEY = "nephoscope.arriving"


@dataclass(slots=True)
class BodyProgress:
    """One request while it arrives and is worked on."""

    size: int = 0
    gone: threading.Event = field(default_factory=threading.Event)


def get_body_progress(request: HttpRequest) -> BodyProgress:
    """What is known of the request's body and client."""
    found: BodyProgress | None = getattr(request, "scope", {}).get(SCOPE_KEY)
    # Requests of tests do not come through a server.
    return found or BodyProgress(int(request.META.get("CONTENT_LENGTH") or 0))
