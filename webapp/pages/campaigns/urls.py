"""Addresses of measurement campaigns."""

from django.urls import path

from webapp.pages.campaigns import (
    best,
    comparison,
    grid,
    isps,
    region,
    regions,
    views,
)
from webapp.pages.campaigns.pairs import routes
from webapp.pages.campaigns.pairs import views as pairs

PAIR = "<slug:slug>/pairs/<path:vantage>/<str:region>/"
urlpatterns = [
    path("", views.campaigns, name="wide-area"),
    path("compare/", comparison.choose, name="wide-area-compare"),
    path(
        "compare/<slug:before>/<slug:after>/",
        comparison.comparison,
        name="wide-area-comparison",
    ),
    path("<slug:slug>/", views.campaign, name="wide-area-campaign"),
    path("<slug:slug>/grid/", grid.grid, name="wide-area-grid"),
    path("<slug:slug>/regions/", regions.figures, name="wide-area-figures"),
    path("<slug:slug>/choice/", regions.choice, name="wide-area-choice"),
    path("<slug:slug>/best-sets/", best.best, name="wide-area-best"),
    path("<slug:slug>/zones/", regions.zones, name="wide-area-zones"),
    path("<slug:slug>/isps/", isps.isps, name="wide-area-isps"),
    path("<slug:slug>/failures/", isps.failures, name="wide-area-failures"),
    path("<slug:slug>/method/", views.method, name="wide-area-method"),
    path("<slug:slug>/regions/<str:region>/", region.region, name="wide-area-region"),
    path(f"{PAIR}routes/", routes.routes, name="wide-area-routes"),
    path(f"{PAIR}samples/", pairs.samples, name="wide-area-samples"),
    path(PAIR, pairs.pair, name="wide-area-pair"),
]
