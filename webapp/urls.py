"""The address book: API first, then pages."""

from django.urls import include, path

from webapp.api.routes import api
from webapp.api.screening.agent_file import serve_installable_agent

urlpatterns = [
    path("api/v1/", api.urls),
    path("agent", serve_installable_agent, name="agent"),
    path("", include("webapp.pages.urls")),
]

handler404 = "webapp.handlers.not_found"
handler500 = "webapp.handlers.server_error"
handler403 = "webapp.handlers.forbidden"
handler400 = "webapp.handlers.bad_request"
