"""What uvicorn serves: the door for agents' reports, then the site with limits on its bodies."""

import os

from django.core.asgi import get_asgi_application
from django.utils.module_loading import import_string

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
_site = get_asgi_application()
# The door reads models, which are there once Django is set up.
bounded = import_string("webapp.api.framework.request_bodies.bounded")
application = import_string("webapp.api.screening.ingest.front")(bounded(_site))
