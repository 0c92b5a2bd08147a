"""Addresses where measurement campaigns are started, watched and ended."""

from django.urls import path

from webapp.pages.campaigns.planning import views

urlpatterns = [
    path("new/", views.new, name="new-campaign"),
    path("run/", views.run, name="run-campaign"),
    path("<slug:slug>/progress/", views.progress, name="campaign-progress"),
    path("<slug:slug>/progress/part/", views.part, name="campaign-progress-part"),
    path("<slug:slug>/do/<slug:action>/", views.act, name="campaign-action"),
    path("<slug:slug>/clone/", views.clone, name="clone-campaign"),
]
