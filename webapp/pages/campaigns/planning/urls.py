"""Addresses where measurement campaigns are started, watched and ended."""

from django.urls import path

from webapp.pages.campaigns.planning import views

urlpatterns = [
    path("new/", views.new, name="new-measurement"),
    path("run/", views.run, name="run-measurement"),
    path("<slug:slug>/progress/", views.progress, name="measurement-progress"),
    path("<slug:slug>/progress/part/", views.part, name="measurement-part"),
    path("<slug:slug>/do/<slug:action>/", views.act, name="measurement-act"),
    path("<slug:slug>/clone/", views.clone, name="clone-measurement"),
]
