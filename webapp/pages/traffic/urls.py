"""Addresses of the pages of traffic captures."""

from django.urls import path

from webapp.pages.traffic import captures, uploads

urlpatterns = [
    path("traffic/", captures.captures, name="captures"),
    path("traffic/new/", uploads.new_upload, name="new-capture"),
    path("traffic/<slug:name>/", captures.capture, name="capture"),
    path("traffic/<slug:name>/progress/", uploads.progress, name="capture-progress"),
    path("traffic/<slug:name>/delete/", uploads.delete, name="delete-capture"),
]
