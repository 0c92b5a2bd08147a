"""What the server knows of a request: how much of its body came, and whether its client left."""

import threading
from dataclasses import dataclass, field

from django.http import HttpRequest

# Where it stands in the scope of a request.
KEY = "nephoscope.arriving"


@dataclass(slots=True)
class Arriving:
    """One request while it arrives and is worked on."""

    size: int = 0
    gone: threading.Event = field(default_factory=threading.Event)


def arriving_of(request: HttpRequest) -> Arriving:
    """What is known of the request's body and client."""
    found: Arriving | None = getattr(request, "scope", {}).get(KEY)
    # Requests of tests do not come through a server.
    return found or Arriving(int(request.META.get("CONTENT_LENGTH") or 0))
