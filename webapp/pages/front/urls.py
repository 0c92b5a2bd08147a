"""Addresses of the front page and of what it asks."""

from django.urls import path

from webapp.pages.front import ask, front_page

urlpatterns = [
    path("", front_page.front, name="atlas"),
    path("ask/", ask.ask, name="ask"),
]
