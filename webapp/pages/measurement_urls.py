"""Addresses where measurement campaigns are started, watched and ended."""

from django.urls import path

from webapp.pages import measurements

urlpatterns = [
    path("new/", measurements.new, name="new-measurement"),
    path("run/", measurements.run, name="run-measurement"),
    path("<slug:slug>/progress/", measurements.progress, name="measurement-progress"),
    path("<slug:slug>/progress/part/", measurements.part, name="measurement-part"),
    path("<slug:slug>/do/<slug:action>/", measurements.act, name="measurement-act"),
    path("<slug:slug>/clone/", measurements.clone, name="clone-measurement"),
]
