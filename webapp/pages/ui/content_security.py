"""Response headers that keep a page to its own origin."""

from collections.abc import Callable
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse


def _tiles() -> str:
    """The origin of the map's tiles, also where ``{s}`` represents several hosts."""
    url = urlsplit(settings.MAP_TILES_URL)
    return f" {url.scheme}://{url.netloc.replace('{s}', '*')}" if url.netloc else ""


def _policy(frame_ancestors: str = "'none'") -> str:
    return "; ".join(
        [
            "default-src 'self'",
            f"img-src 'self' data:{_tiles()}",
            "style-src 'self'",
            "script-src 'self'",
            "object-src 'none'",
            "base-uri 'none'",
            f"frame-ancestors {frame_ancestors}",
            "form-action 'self'",
        ]
    )


# Of the few pages that other sites may show in a frame (``webapp.pages.embeds.framing``).
FRAMABLE_POLICY = _policy("*")
# Nothing here asks for what a browser guards; a page that was tampered with cannot either.
_GUARDED = (
    "accelerometer",
    "autoplay",
    "browsing-topics",
    "camera",
    "display-capture",
    "geolocation",
    "gyroscope",
    "magnetometer",
    "microphone",
    "midi",
    "payment",
    "usb",
)
PERMISSIONS = ", ".join(f"{name}=()" for name in _GUARDED)


class ContentSecurityPolicy:
    """Middleware of pages and API; the API's offline docs need inline script."""

    def __init__(self, get_response: Callable[[HttpRequest], object]) -> None:
        self.get_response = get_response
        self.policy = _policy()

    def __call__(self, request: HttpRequest) -> object:
        response = self.get_response(request)
        if isinstance(response, HttpResponse) or hasattr(response, "headers"):
            response.headers.setdefault("Content-Security-Policy", self.policy)
            response.headers.setdefault("Permissions-Policy", PERMISSIONS)
            response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        return response
