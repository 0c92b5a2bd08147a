"""The address book: API first, then pages."""

from django.urls import include, path

from webapp.api.monitoring import views as monitoring
from webapp.api.recommendations import beacon_reports
from webapp.api.routes import api
from webapp.api.screening.agent_file import serve_installable_agent

urlpatterns = [
    path("api/v1/", api.urls),
    path("healthz", monitoring.healthz, name="healthz"),
    path("readyz", monitoring.readyz, name="readyz"),
    path("metrics", monitoring.metrics, name="metrics"),
    path("agent", serve_installable_agent, name="agent"),
    path("beacon/<slug:key>.js", beacon_reports.script, name="beacon-script"),
    path("beacon/<slug:key>", beacon_reports.receive, name="beacon-report"),
    path("", include("webapp.pages.urls")),
]

handler404 = "webapp.handlers.not_found"
handler500 = "webapp.handlers.server_error"
handler403 = "webapp.handlers.forbidden"
handler400 = "webapp.handlers.bad_request"
