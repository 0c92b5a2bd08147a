"""Addresses of the pages."""

from django.urls import include, path

from webapp.pages import (
    atlas,
    comparisons,
    evidence,
    guide,
    histories,
    outages,
    passports,
    reports,
    screening_urls,
    surveys,
    traffic,
)

urlpatterns = [
    path("", atlas.atlas, name="atlas"),
    path("search/", passports.search, name="search"),
    path("surveys/", surveys.surveys, name="surveys"),
    path("surveys/new/", surveys.new_survey, name="new-survey"),
    path("surveys/run/", surveys.run_survey, name="run-survey"),
    path("s/<slug:slug>/", surveys.survey, name="survey"),
    path("s/<slug:slug>/map/", atlas.survey_map, name="survey-map"),
    path("s/<slug:slug>/progress/", surveys.progress, name="progress"),
    path("s/<slug:slug>/cancel/", surveys.cancel, name="cancel"),
    path("s/<slug:slug>/reports/<slug:page>/", reports.report, name="report"),
    path("s/<slug:slug>/outages/", outages.outages, name="outages"),
    path("s/<slug:slug>/domains/", passports.domains, name="domains"),
    path("s/<slug:slug>/domains/<str:domain>/", passports.domain, name="domain"),
    path("s/<slug:slug>/domains/<str:domain>/history/", histories.history, name="history"),
    path("s/<slug:slug>/labels/", evidence.label, name="label"),
    path("s/<slug:slug>/names/<str:name>/label/", evidence.proof, name="proof"),
    path("s/<slug:slug>/names/<str:name>/", passports.name, name="name"),
    path("compare/", comparisons.choose, name="compare"),
    path("compare/<slug:before>/<slug:after>/", comparisons.overview, name="comparison"),
    path("compare/<slug:before>/<slug:after>/progress/", comparisons.progress, name="comparing"),
    path("compare/<slug:before>/<slug:after>/moves/", comparisons.moves, name="moves"),
    path(
        "compare/<slug:before>/<slug:after>/tables/<slug:table>/",
        comparisons.table,
        name="compared-table",
    ),
    path("traffic/", traffic.captures, name="captures"),
    path("traffic/<slug:name>/", traffic.capture, name="capture"),
    path("", include("webapp.pages.recommendation_urls")),
    *screening_urls.urlpatterns,
    path("", include("webapp.pages.account_urls")),
    path("wide-area/", include("webapp.pages.wide_area_urls")),
    path("about/", guide.about, name="about"),
    path("components/", guide.components, name="components"),
]
