"""ASGI application: the report endpoint, body limits, then Django."""

import os

from django.core.asgi import get_asgi_application
from django.utils.module_loading import import_string

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
_site = get_asgi_application()
# Imported late, since the endpoint needs models of a configured Django.
limit_bodies = import_string("webapp.api.framework.request_bodies.limit_bodies")
application = import_string("webapp.api.screening.ingest.ingest_middleware")(limit_bodies(_site))
