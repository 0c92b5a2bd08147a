"""Endpoints that alerts are sent to: the list, one with its log, and confirmation by e-mail."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST

from core.errors import NephoscopeError
from tasks.schedules import celery_tasks
from tasks.schedules.messages import TITLES
from webapp.pages.schedules.forms import EndpointChangeForm, EndpointForm, zones
from webapp.pages.schedules.views import SECTION, add_error
from webapp.pages.surveys.domains import page_number
from webapp.pages.ui.access import signed_in
from webapp.store.models import AlertEndpoint
from webapp.store.schedules import deliveries, endpoints, services

ROWS_PER_PAGE = 50
_FORMATS = dict(AlertEndpoint.Format.choices)


@never_cache
@signed_in
@require_http_methods(["GET", "POST"])
def alert_endpoints(request: HttpRequest) -> HttpResponse:
    """Own endpoints, and the form of a new one; sent, it makes the endpoint."""
    form = EndpointForm(request.POST or None, user=request.user)
    if request.method == "POST" and form.is_valid():
        row = _create(request, form)
        if row is not None:
            is_signed = row.format == AlertEndpoint.Format.WEBHOOK
            secret = endpoints.secret_of(row.seed) if is_signed else ""
            return _show(request, row, secret=secret)
    rows = [
        {"row": row, "target": endpoints.shown_target(row), "format": _FORMATS[row.format]}
        for row in endpoints.endpoints_of(request.user)
    ]
    context = {
        "section": SECTION,
        "tab": "alerts",
        "rows": rows,
        "form": form,
        "zones": zones(),
    }
    return render(request, "schedules/endpoints.html", context, status=422 if form.errors else 200)


def _create(request: HttpRequest, form: EndpointForm) -> AlertEndpoint | None:
    """Make the endpoint; None where the form has errors now."""
    data = dict(form.cleaned_data)
    schedule = services.find_schedule(data.pop("schedule"), request.user)
    try:
        row = endpoints.create_endpoint(request.user, data, timezone.now(), schedule)
    except NephoscopeError as error:
        add_error(form, error)
        return None
    if row.format == AlertEndpoint.Format.EMAIL:
        celery_tasks.request_confirmation(row)
    return row


def _own(request: HttpRequest, key: str) -> AlertEndpoint:
    row = endpoints.find_endpoint(key, request.user)
    if row is None:
        raise Http404("no such endpoint")
    return row


@never_cache
@signed_in
@require_http_methods(["GET", "POST"])
def alert_endpoint(request: HttpRequest, key: str) -> HttpResponse:
    """One endpoint with its settings and the log of deliveries; sent, it changes them."""
    row = _own(request, key)
    if request.method == "GET":
        return _show(request, row)
    form = EndpointChangeForm(request.POST, user=request.user)
    if form.is_valid():
        try:
            was = row.state
            endpoints.change_endpoint(row, form.cleaned_data, timezone.now())
        except NephoscopeError as error:
            add_error(form, error)
        else:
            if row.state == AlertEndpoint.State.UNCONFIRMED != was:
                celery_tasks.request_confirmation(row)
            return redirect("alert-endpoint", key=row.slug)
    return _show(request, row, form=form)


@sensitive_variables("secret")
def _show(
    request: HttpRequest, row: AlertEndpoint, secret: str = "", form: Any = None
) -> HttpResponse:
    log = deliveries.log_of(row).select_related("event")
    pages = max(1, -(-log.count() // ROWS_PER_PAGE))
    page = min(page_number(request), pages)
    initial = {
        name: getattr(row, name)
        for name in ("name", "kinds", "digest_hour", "time_zone", "quiet_after")
    }
    initial["target"] = endpoints.shown_target(row)
    context = {
        "section": SECTION,
        "tab": "alerts",
        "row": row,
        "format": _FORMATS[row.format],
        "target": endpoints.shown_target(row),
        "secret": secret,
        "form": form or EndpointChangeForm(initial=initial, user=request.user),
        "zones": zones(),
        "log": [
            {
                "row": one,
                "title": TITLES[one.kind],
                "subject": one.event.subject if one.event else "",
            }
            for one in log[(page - 1) * ROWS_PER_PAGE : page * ROWS_PER_PAGE]
        ],
        "pager": {"page": page, "pages": pages},
        "is_signed": row.format == AlertEndpoint.Format.WEBHOOK,
        "is_active": row.state == AlertEndpoint.State.ACTIVE,
    }
    status = 422 if form is not None else 200
    answer = render(request, "schedules/endpoint.html", context, status=status)
    if secret:
        answer["Cache-Control"] = "no-store"
    return answer


@signed_in
@require_POST
def change_alert_endpoint(request: HttpRequest, key: str, action: str) -> HttpResponse:
    """Test, enable, disable or delete an endpoint, or make a new secret."""
    row, now = _own(request, key), timezone.now()
    if action == "delete":
        row.delete()
        return redirect("alert-endpoints")
    if action == "secret" and row.format == AlertEndpoint.Format.WEBHOOK:
        return _show(request, row, secret=endpoints.rotate_secret(row, now))
    if action == "test" and row.state == AlertEndpoint.State.ACTIVE:
        deliveries.enqueue_test(row, now)
        celery_tasks.request_delivery(row)
    elif action in ("enable", "disable"):
        endpoints.change_endpoint(row, {"is_active": action == "enable"}, now)
    elif action not in ("test", "secret"):
        raise Http404("no such action")
    return redirect("alert-endpoint", key=row.slug)


@signed_in
@require_POST
def resend_alert(request: HttpRequest, key: str, message_id: str) -> HttpResponse:
    """Queue a message again, with the same id."""
    row = _own(request, key)
    found = endpoints.find_delivery(row, message_id)
    if found is None:
        raise Http404("no such delivery")
    deliveries.resend(found, timezone.now())
    if row.state == AlertEndpoint.State.ACTIVE:
        celery_tasks.request_delivery(row)
    return redirect("alert-endpoint", key=row.slug)


@never_cache
@require_http_methods(["GET", "POST"])
def confirm_address(request: HttpRequest, token: str) -> HttpResponse:
    """Ask the holder of a confirmation link; sent, alerts go to the address from then on."""
    row = endpoints.find_unconfirmed(token)
    is_confirmed = request.method == "POST" and row is not None
    if row is not None and is_confirmed:
        endpoints.confirm(row)
    context = {"row": row, "is_confirmed": is_confirmed, "section": SECTION}
    status = 200 if row is not None else 404
    return render(request, "schedules/confirm.html", context, status=status)
