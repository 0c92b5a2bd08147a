"""How a running shard learns that it should stop."""

from core.errors import NephoscopeError


class Stopped(NephoscopeError):
    """The survey was cancelled, or another worker took the shard over."""

    permanent = False
