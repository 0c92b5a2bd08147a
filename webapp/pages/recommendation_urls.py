"""Addresses of the pages about recommended regions."""

from django.urls import path

from webapp.pages import journeys, recommendations, runs, shared_recommendations

urlpatterns = [
    path("recommendations/", recommendations.hub, name="recommend"),
    path("recommendations/samples/", recommendations.ask, name="recommend-samples"),
    path("recommendations/domains/", journeys.domains, name="recommend-domains"),
    path("recommendations/domains/start/", journeys.start, name="start-journey"),
    path("recommendations/clients/", journeys.clients, name="recommend-clients"),
    path(
        "recommendations/shared/<str:share_token>/",
        shared_recommendations.answer,
        name="shared-recommendation",
    ),
    path(
        "recommendations/shared/<str:share_token>/sets.csv",
        shared_recommendations.sets_csv,
        name="shared-sets",
    ),
    path(
        "recommendations/shared/<str:share_token>/answer.json",
        shared_recommendations.answer_json,
        name="shared-answer",
    ),
    path("recommendations/<str:token>/", recommendations.answer, name="recommendation"),
    path("recommendations/<str:token>/share/", recommendations.share, name="share-recommendation"),
    path("recommendations/<str:token>/keep/", recommendations.keep, name="keep-recommendation"),
    path(
        "recommendations/<str:token>/forget/", recommendations.forget, name="forget-recommendation"
    ),
    path(
        "recommendations/<str:token>/against/<str:other>/",
        runs.compare,
        name="compare-recommendations",
    ),
]
