"""Django's name for this package."""

from django.apps import AppConfig


class StoreConfig(AppConfig):
    """``webapp.store`` as a Django application."""

    name = "webapp.store"
    label = "store"
