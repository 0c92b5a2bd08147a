"""How running work learns that it should stop."""

from core.errors import NephoscopeError


class Stopped(NephoscopeError):
    """The work was cancelled, or another worker took it over."""

    permanent = False
