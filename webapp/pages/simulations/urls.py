"""Addresses of the pages about what happens inside a data centre."""

from django.urls import path

from webapp.pages.simulations import comparison, views

urlpatterns = [
    path("inside/", views.hub, name="experiments"),
    path("inside/runs/<str:token>/", views.run, name="simulation"),
    path("inside/runs/<str:token>/cancel/", views.cancel, name="cancel-simulation"),
    path(
        "inside/runs/<str:token>/against/<str:other>/",
        comparison.compare,
        name="compare-simulations",
    ),
    path("inside/<slug:name>/", views.experiment, name="experiment"),
]
