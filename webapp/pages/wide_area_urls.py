"""Addresses of measurement campaigns."""

from django.urls import path

from webapp.pages import (
    wide_area,
    wide_area_best,
    wide_area_compare,
    wide_area_grid,
    wide_area_isps,
    wide_area_pair,
    wide_area_region,
    wide_area_regions,
    wide_area_routes,
)

PAIR = "<slug:slug>/pairs/<path:vantage>/<str:region>/"
urlpatterns = [
    path("", wide_area.campaigns, name="wide-area"),
    path("compare/", wide_area_compare.choose, name="wide-area-compare"),
    path(
        "compare/<slug:before>/<slug:after>/",
        wide_area_compare.comparison,
        name="wide-area-comparison",
    ),
    path("<slug:slug>/", wide_area.campaign, name="wide-area-campaign"),
    path("<slug:slug>/grid/", wide_area_grid.grid, name="wide-area-grid"),
    path("<slug:slug>/regions/", wide_area_regions.figures, name="wide-area-figures"),
    path("<slug:slug>/choice/", wide_area_regions.choice, name="wide-area-choice"),
    path("<slug:slug>/best-sets/", wide_area_best.best, name="wide-area-best"),
    path("<slug:slug>/zones/", wide_area_regions.zones, name="wide-area-zones"),
    path("<slug:slug>/isps/", wide_area_isps.isps, name="wide-area-isps"),
    path("<slug:slug>/failures/", wide_area_isps.failures, name="wide-area-failures"),
    path("<slug:slug>/method/", wide_area.method, name="wide-area-method"),
    path("<slug:slug>/regions/<str:region>/", wide_area_region.region, name="wide-area-region"),
    path(f"{PAIR}routes/", wide_area_routes.routes, name="wide-area-routes"),
    path(f"{PAIR}samples/", wide_area_pair.samples, name="wide-area-samples"),
    path(PAIR, wide_area_pair.pair, name="wide-area-pair"),
]
