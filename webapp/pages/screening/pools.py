"""Pools of one person: the list, a new one, and everything that changes one.

A token is shown once. Until the next page shows it, the session remembers the seed that it follows
from with the help of the secret key, and nothing else.
"""

import time
from typing import Any

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core.errors import BadInput
from tasks.screening.celery_tasks import change_pool
from webapp.pages.screening.pool_access import PoolAccess, own_pool
from webapp.pages.ui.access import signed_in
from webapp.store.screening import selectors, services
from webapp.store.screening.secrets import derive_token, generate_seed
from webapp.store.screening.services import PoolSettings

_KEPT = "pool-token"
# Lifetime of the seed in the session: the page that shows the token follows at once.
_KEPT_S = 600.0


class PoolForm(forms.Form):
    """A pool's settings; the marks are stalls per 100 s."""

    name = forms.CharField(max_length=120, strip=True)
    wanted = forms.IntegerField(min_value=1, max_value=100_000, required=False)
    price = forms.FloatField(min_value=0, max_value=1e9, required=False)
    currency = forms.CharField(max_length=8, required=False)
    low = forms.FloatField(min_value=0, max_value=100_000, required=False)
    high = forms.FloatField(min_value=0, max_value=100_000, required=False)
    contributes = forms.BooleanField(required=False)

    def read(self) -> PoolSettings:
        """The settings that were given."""
        given = {k: v for k, v in self.cleaned_data.items() if v is not None}
        return PoolSettings(**given)

    def refuse(self, error: BadInput) -> None:
        """Show what the store refused beside its field."""
        self.add_error(error.field if error.field in self.fields else None, str(error))


@never_cache
@require_GET
def listing(request: HttpRequest) -> HttpResponse:
    """Pools that the visitor may see."""
    rows = selectors.list_pools(request.user)
    return render(
        request, "screening/pools.html", {"section": "screening", "tab": "pools", "rows": rows}
    )


@signed_in
@require_http_methods(["GET", "POST"])
def new_pool(request: HttpRequest) -> HttpResponse:
    """The form; sent, it makes a pool with its first token."""
    form = PoolForm(request.POST or None, initial={"wanted": 10})
    if request.method == "POST" and form.is_valid():
        try:
            row = services.create_pool(request.user, form.read())
        except BadInput as error:
            form.refuse(error)
        else:
            _store_token_seed(request, row, "first")
            return redirect("pool", key=row.key)
    context = {"section": "screening", "tab": "pools", "form": form}
    return render(request, "screening/new.html", context, status=422 if form.errors else 200)


def _store_token_seed(
    request: HttpRequest, row: selectors.PoolRow, name: str, days: int | None = None
) -> None:
    seed = generate_seed()
    services.create_token(row, name, days, seed)
    request.session[f"{_KEPT}:{row.key}"] = [seed, time.time()]


def pop_token(request: HttpRequest, row: selectors.PoolRow) -> str:
    """The new token of a pool, once and soon; empty afterwards."""
    seed, made_at_s = request.session.pop(f"{_KEPT}:{row.key}", ("", 0.0))
    return derive_token(seed) if time.time() - made_at_s < _KEPT_S else ""


@own_pool
@require_http_methods(["GET", "POST"])
def settings(request: HttpRequest, access: PoolAccess) -> HttpResponse:
    """Name, marks and price; tokens; the share link; the end of the pool."""
    row = access.pool
    form = PoolForm(request.POST or None, initial=_values(row))
    if request.method == "POST" and form.is_valid():
        try:
            change_pool(row, request.user, form.read())
        except BadInput as error:
            form.refuse(error)
        else:
            return redirect(access.href("pool-settings"))
    context = access.context("settings") | {
        "form": form,
        "values": request.POST if form.is_bound else _values(row),
        "tokens": selectors.list_tokens(row),
        "share_url": _share_url(request, row),
    }
    return render(request, "screening/settings.html", context, status=422 if form.errors else 200)


def _values(row: selectors.PoolRow) -> dict[str, Any]:
    names = ("name", "wanted", "price", "currency", "low", "high", "contributes")
    return {name: getattr(row, name) for name in names}


def _share_url(request: HttpRequest, row: selectors.PoolRow) -> str:
    if not row.share_secret:
        return ""
    return request.build_absolute_uri(PoolAccess(row, row.share_secret).href("pool"))


@own_pool
@require_POST
def new_token(request: HttpRequest, access: PoolAccess) -> HttpResponse:
    """Make a token; the pool's page shows it once."""
    days = request.POST.get("days", "")
    try:
        limit = int(days) if days.isdecimal() else None
        _store_token_seed(request, access.pool, request.POST.get("name", ""), limit)
    except BadInput as error:
        context = access.context("settings") | {"problem": str(error)}
        return render(request, "screening/refused.html", context, status=422)
    return redirect(access.href("pool") + "#run")


@own_pool
@require_POST
def revoke_token(request: HttpRequest, access: PoolAccess, pk: int) -> HttpResponse:
    """End a token at once."""
    if not services.revoke_token(access.pool, pk):
        raise Http404("there is no such active token")
    return redirect(access.href("pool-settings") + "#tokens")


@own_pool
@require_POST
def share(request: HttpRequest, access: PoolAccess) -> HttpResponse:
    """Make the share link, or take it back."""
    if request.POST.get("end"):
        services.unshare_pool(access.pool)
    else:
        services.share_pool(access.pool)
    return redirect(access.href("pool-settings") + "#share")


@own_pool
@require_POST
def delete(request: HttpRequest, access: PoolAccess) -> HttpResponse:
    """Forget the pool, when its name was typed."""
    if request.POST.get("confirm", "").strip() != access.pool.name:
        problem = "The pool was not deleted: type its name as shown above the field."
        context = access.context("settings") | {"problem": problem}
        return render(request, "screening/refused.html", context, status=422)
    services.delete_pool(access.pool)
    return redirect("pools")


@own_pool
@require_POST
def change_instance(request: HttpRequest, access: PoolAccess, pk: int) -> HttpResponse:
    """Set the ground truth of an instance, or delete the instance."""
    if request.POST.get("forget"):
        services.delete_instance(access.pool, pk)
        return redirect(access.href("pool"))
    try:
        if not services.label_instance(access.pool, pk, request.POST.get("label", "")):
            raise Http404("there is no such instance")
    except BadInput as error:
        raise Http404(str(error)) from error
    return redirect(access.href("instance", pk=pk))
