"""Addresses of the pages about recommended regions."""

from django.urls import path

from webapp.pages.recommendations import beacons, comparison, from_domains, shared, views

urlpatterns = [
    path("beacons/", beacons.listing, name="beacons"),
    path("beacons/<slug:key>/", beacons.detail, name="beacon-page"),
    path("beacons/<slug:key>/delete/", beacons.delete, name="delete-beacon"),
    path("recommendations/", views.hub, name="recommend"),
    path("recommendations/samples/", views.ask, name="recommend-samples"),
    path("recommendations/domains/", from_domains.domains, name="recommend-domains"),
    path("recommendations/domains/start/", from_domains.start, name="start-from-domains"),
    path("recommendations/clients/", from_domains.clients, name="recommend-clients"),
    path(
        "recommendations/shared/<str:share_token>/",
        shared.answer,
        name="shared-recommendation",
    ),
    path(
        "recommendations/shared/<str:share_token>/sets.csv",
        shared.sets_csv,
        name="shared-sets",
    ),
    path(
        "recommendations/shared/<str:share_token>/answer.json",
        shared.answer_json,
        name="shared-answer",
    ),
    path("recommendations/<str:token>/", views.answer, name="recommendation"),
    path("recommendations/<str:token>/share/", views.share, name="share-recommendation"),
    path("recommendations/<str:token>/keep/", views.save_constraints, name="keep-recommendation"),
    path(
        "recommendations/<str:token>/forget/",
        views.delete_recommendation,
        name="forget-recommendation",
    ),
    path(
        "recommendations/<str:token>/against/<str:other>/",
        comparison.compare,
        name="compare-recommendations",
    ),
]
