"""Addresses of vantage points."""

from django.urls import path

from webapp.pages import enlistments, vantages

urlpatterns = [
    path("", vantages.index, name="vantage-points"),
    path("invite/", vantages.invite, name="invite-vantage-point"),
    path("enlist/", enlistments.ask, name="enlist-vantage-points"),
    path("enlist/<str:key>/", enlistments.found, name="found-vantage-points"),
    path("<slug:name>/", vantages.point_page, name="vantage-point"),
    path("<slug:name>/token/", vantages.new_token, name="vantage-point-token"),
    path("<slug:name>/<slug:what>/", vantages.act, name="vantage-point-act"),
]
