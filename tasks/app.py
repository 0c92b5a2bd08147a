"""The earlier name of ``tasks.platform.app``, which start scripts of workers may have."""

from tasks.platform.app import app

__all__ = ["app"]
