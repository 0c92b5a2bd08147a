"""The front page of screening: what it answers, shown on a simulated fleet that says it is one."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET


@require_GET
def landing(request: HttpRequest) -> HttpResponse:
    """What screening answers, and the ways in."""
    return render(request, "screening/landing.html", {"section": "screening", "tab": "landing"})
