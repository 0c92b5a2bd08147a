"""Addresses of the pages."""

from django.urls import include, path

from webapp.pages.screening import urls
from webapp.pages.surveys import (
    badges,
    comparison,
    domains,
    evidence,
    history,
    outages,
    reports,
    survey_map,
    traffic,
    views,
)

urlpatterns = [
    path("", include("webapp.pages.front.urls")),
    path("surveys/", views.surveys, name="surveys"),
    path("surveys/new/", views.new_survey, name="new-survey"),
    path("surveys/run/", views.run_survey, name="run-survey"),
    path("s/<slug:slug>/", views.survey, name="survey"),
    path("s/<slug:slug>/map/", survey_map.survey_map, name="survey-map"),
    path("s/<slug:slug>/progress/", views.progress, name="progress"),
    path("s/<slug:slug>/cancel/", views.cancel, name="cancel"),
    path("s/<slug:slug>/badge.svg", badges.survey_badge, name="survey-badge"),
    path("s/<slug:slug>/reports/<slug:page>/", reports.report, name="report"),
    path("s/<slug:slug>/reports/<slug:page>/embed/", reports.embed, name="report-embed"),
    path("s/<slug:slug>/outages/", outages.outages, name="outages"),
    path("s/<slug:slug>/domains/", domains.domains, name="domains"),
    path("s/<slug:slug>/domains/<str:domain>/", domains.domain, name="domain"),
    path("s/<slug:slug>/domains/<str:domain>/history/", history.history, name="history"),
    path("s/<slug:slug>/domains/<str:domain>/badge.svg", badges.domain_badge, name="domain-badge"),
    path("s/<slug:slug>/labels/", evidence.label, name="label"),
    path("s/<slug:slug>/names/<str:name>/label/", evidence.proof, name="proof"),
    path("s/<slug:slug>/names/<str:name>/", domains.name, name="name"),
    path("compare/", comparison.choose, name="compare"),
    path("compare/<slug:before>/<slug:after>/", comparison.overview, name="comparison"),
    path("compare/<slug:before>/<slug:after>/progress/", comparison.progress, name="comparing"),
    path("compare/<slug:before>/<slug:after>/moves/", comparison.moves, name="moves"),
    path(
        "compare/<slug:before>/<slug:after>/tables/<slug:table>/",
        comparison.table,
        name="compared-table",
    ),
    path("traffic/", traffic.captures, name="captures"),
    path("traffic/<slug:name>/", traffic.capture, name="capture"),
    path("", include("webapp.pages.recommendations.urls")),
    *urls.urlpatterns,
    path("", include("webapp.pages.accounts.urls")),
    path("wide-area/", include("webapp.pages.campaigns.planning.urls")),
    path("wide-area/", include("webapp.pages.campaigns.urls")),
    path("audits/", include("webapp.pages.audits.urls")),
    path("", include("webapp.pages.schedules.urls")),
    path("", include("webapp.pages.simulations.urls")),
    path("vantage-points/", include("webapp.pages.vantages.urls")),
]
