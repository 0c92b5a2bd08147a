"""Addresses of vantage points."""

from django.urls import path

from webapp.pages.vantages import enlistment, views

urlpatterns = [
    path("", views.index, name="vantage-points"),
    path("invite/", views.invite, name="invite-vantage-point"),
    path("enlist/", enlistment.search, name="enlist-vantage-points"),
    path("enlist/<str:key>/", enlistment.found, name="found-vantage-points"),
    path("<slug:name>/", views.point_page, name="vantage-point"),
    path("<slug:name>/token/", views.new_token, name="vantage-point-token"),
    path("<slug:name>/<slug:what>/", views.act, name="vantage-point-act"),
]
