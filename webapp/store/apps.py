"""Django's name for this package."""

from django.apps import AppConfig
from django.conf import settings

from lake import parts


class StoreConfig(AppConfig):
    """``webapp.store`` as a Django application."""

    name = "webapp.store"
    label = "store"

    def ready(self) -> None:
        """Let parts of the lake be kept in object storage where that is configured."""
        from webapp.store.object_storage import bucket, files  # noqa: PLC0415 - needs the models

        if files.is_configured():
            bucket.Location.parse(settings.LAKE_URL)
            parts.set_storage(files)
