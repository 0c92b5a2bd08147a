"""Django's name for this package."""

from django.apps import AppConfig


class PagesConfig(AppConfig):
    """``webapp.pages`` as a Django application."""

    name = "webapp.pages"
    label = "pages"
