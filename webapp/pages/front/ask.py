"""The field of the front page: what was understood of a domain, a list or countries."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from core.errors import BadInput
from tasks.recommendations.front_input import Kind, interpret

MAX_CHARACTERS = 20_000
SHOWN = 12


@require_GET
def ask(request: HttpRequest) -> HttpResponse:
    """One domain leads to its card; of more, or of countries, the page shows what was read.

    With ``part=1`` the answer is one line of plain text, for the line below the field.
    """
    text = request.GET.get("q", "")[:MAX_CHARACTERS]
    is_part = request.GET.get("part") == "1"
    try:
        found = interpret(text)
    except BadInput as error:
        if is_part:
            return HttpResponse(f"{error}", content_type="text/plain; charset=utf-8")
        refused = {"section": "front", "text": text, "error": str(error)}
        return render(request, "front/ask.html", refused, status=422)
    if is_part:
        return HttpResponse(found.summary, content_type="text/plain; charset=utf-8")
    if found.kind is Kind.WORDS:
        return redirect(f"{reverse('search')}?{urlencode({'q': text.strip()})}")
    if found.kind is Kind.DOMAIN:
        return redirect("check-domain", domain=found.domains[0])
    context: dict[str, Any] = {
        "section": "front",
        "text": text,
        "found": found,
        "shown": found.domains[:SHOWN],
        "more": max(0, len(found.domains) - SHOWN),
    }
    return render(request, "front/ask.html", context)
