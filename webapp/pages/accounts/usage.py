"""What the account and its organisations have used, and their limits."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from tasks.campaigns.commands import MOST_OPEN
from webapp.pages.ui.access import signed_in
from webapp.store.access import organisations, quotas, tokens
from webapp.store.campaigns.services import count_open


@never_cache
@signed_in
@require_GET
def usage(request: HttpRequest) -> HttpResponse:
    """Show usage and limits."""
    user: Any = request.user
    now = [
        (
            "surveys that wait or run",
            quotas.active_surveys(user),
            settings.MAX_ACTIVE_SURVEYS_PER_USER,
        ),
        ("campaigns that wait or run", count_open(user), MOST_OPEN),
        ("tokens for programs", tokens.live(user).count(), tokens.MAX_PER_USER),
    ]
    holders = [("Your account", quotas.quotas_of(user))]
    holders += [
        (row.organisation.name, quotas.quotas_of_organisation(row.organisation))
        for row in organisations.memberships_of(user)
    ]
    context = {
        "section": "account",
        "now": now,
        "heading": f"In {quotas.DAYS} days",
        "is_unlimited": bool(user.is_staff),
        "holders": [
            (name, [(quotas.KINDS[quota.kind], quota.used, quota.limit) for quota in held])
            for name, held in holders
        ],
    }
    return render(request, "accounts/usage.html", context)
