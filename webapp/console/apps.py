"""Django's name for this package."""

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    """``webapp.console`` as a Django application."""

    name = "webapp.console"
    label = "console"
