"""Addresses of the front page, of what it asks, and of the pages about the product."""

from django.urls import path

from webapp.pages.front import about, ask, check, front_page, search

urlpatterns = [
    path("", front_page.front, name="atlas"),
    path("ask/", ask.ask, name="ask"),
    path("search/", search.search, name="search"),
    path("check/", check.ask_domain, name="check"),
    path("check/<str:domain>/", check.card, name="check-domain"),
    path("check/<str:domain>/badge.svg", check.badge, name="check-badge"),
    path("about/", about.about, name="about"),
    path("glossary/", about.glossary, name="glossary"),
    path("components/", about.components, name="components"),
]
