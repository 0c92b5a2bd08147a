"""Addresses of measurement campaigns."""

from django.urls import path

from webapp.pages.campaigns import (
    best,
    comparison,
    grid,
    isps,
    probes,
    region,
    regions,
    suitability,
    views,
)
from webapp.pages.campaigns.pairs import changes, routes
from webapp.pages.campaigns.pairs import views as pairs

PAIR = "<slug:slug>/pairs/<path:vantage>/<str:region>/"
urlpatterns = [
    path("", views.campaigns, name="campaigns"),
    path("compare/", comparison.choose, name="campaigns-compare"),
    path(
        "compare/<slug:before>/<slug:after>/",
        comparison.comparison,
        name="campaigns-comparison",
    ),
    path("<slug:slug>/", views.campaign, name="campaign"),
    path("<slug:slug>/grid/", grid.grid, name="campaign-grid"),
    path("<slug:slug>/changes/", changes.changes, name="campaign-changes"),
    path("<slug:slug>/regions/", regions.figures, name="campaign-regions"),
    path("<slug:slug>/choice/", regions.choice, name="campaign-choice"),
    path("<slug:slug>/best-sets/", best.best, name="campaign-best"),
    path("<slug:slug>/zones/", regions.zones, name="campaign-zones"),
    path("<slug:slug>/isps/", isps.isps, name="campaign-isps"),
    path("<slug:slug>/suitability/", suitability.suitability, name="campaign-suitability"),
    path("<slug:slug>/probes/", probes.overview, name="campaign-probes"),
    path("<slug:slug>/probes/<slug:probe>/", probes.report, name="campaign-probe"),
    path("<slug:slug>/failures/", isps.failures, name="campaign-failures"),
    path("<slug:slug>/method/", views.method, name="campaign-method"),
    path("<slug:slug>/regions/<str:region>/", region.region, name="campaign-region"),
    path(f"{PAIR}routes/", routes.routes, name="campaign-routes"),
    path(f"{PAIR}samples/", pairs.samples, name="campaign-samples"),
    path(PAIR, pairs.pair, name="campaign-pair"),
]
