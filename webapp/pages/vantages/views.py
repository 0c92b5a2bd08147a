"""Vantage points on pages: all of them on a map and in a table, each on its own, and inviting one.

Locations, to the city, are for everyone; addresses, load and actions are for operators.
"""

from collections import Counter
from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core.errors import BadInput, NephoscopeError
from core.release import VERSION
from tasks.networks import enlistment
from tasks.vantage.self_check import describe
from tasks.vantage_admin import enrolment
from webapp.pages.surveys.domains import page_number
from webapp.pages.ui import formatting
from webapp.pages.ui.access import signed_in
from webapp.pages.ui.links import with_query
from webapp.pages.ui.table_page import Cell, Column, Grid, Row
from webapp.pages.vantages import formatting as vantage_formatting
from webapp.pages.vantages import map as vantage_map
from webapp.pages.vantages.forms import InviteForm
from webapp.store.models import VantagePoint
from webapp.store.vantages import history, services
from webapp.store.vantages.documents import Health, age_of, clock_is_off, health_of

SHOWN = 100
SECTION = "vantages"
_ACTS: dict[str, Callable[[VantagePoint], None]] = {
    "drain": enrolment.drain,
    "resume": enrolment.resume,
    "revoke": enrolment.revoke,
    "release": enlistment.release,
}
_COLUMNS = (
    Column("name", "Vantage point"),
    Column("health", "Health"),
    Column("age", "Last contact", numeric=True),
    Column("where", "Place", is_spare=True),
    Column("network", "Network", is_spare=True),
    Column("clock", "Clock", numeric=True, is_spare=True),
    Column("source", "Owner", is_spare=True),
    Column("map", "On the map", is_spare=True),
)


def operators_only(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A view for operators: anonymous visitors sign in first, other accounts get 403."""

    @wraps(view)
    def ask(request: HttpRequest, *args: Any, **more: Any) -> HttpResponse:
        if not services.is_operator(request.user):
            context = {
                "title": "Only operators of this site may do this",
                "advice": "Nothing was changed. Ask the administrator to do it.",
            }
            return render(request, "error.html", context, status=403)
        return view(request, *args, **more)

    return signed_in(ask)


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """All of them: the map, and the table that does all the map does."""
    everyone = list(services.points(request.user))
    source = request.GET.get("source", "")
    points = [p for p in everyone if not source or p.source == source]
    chosen = request.GET.get("point", "")
    page = page_number(request)
    pages = max(1, -(-len(points) // SHOWN))
    shown = points[(page - 1) * SHOWN : page * SHOWN]
    context = {
        "section": SECTION,
        "points": points,
        "sentence": vantage_formatting.sentence([(p, health_of(p)) for p in points]),
        "enlisted": _number(request.GET.get("enlisted", "")),
        "is_own_there": any(p.source == VantagePoint.Source.OWN for p in points),
        "sources": _sources(request, everyone, source),
        "map": vantage_map.draw(request, points, chosen),
        "chosen": _card(next((p for p in points if p.name == chosen), None)),
        "grid": _grid(request, shown, chosen),
        "pager": {"page": page, "pages": pages},
        "params": request.GET.urlencode() if "page" not in request.GET else "",
        "legend": _legend(points),
        "is_operator": services.is_operator(request.user),
    }
    return render(request, "vantages/list.html", context)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 5 else 0


def _sources(request: HttpRequest, points: list[VantagePoint], chosen: str) -> list[Any]:
    seen = Counter(p.source for p in points)
    if len(seen) < 2:
        return []
    rows = [
        ("", "All", len(points)),
        *((s, vantage_formatting.SOURCES[s], n) for s, n in sorted(seen.items())),
    ]
    return [
        (text, n, with_query(request, source=key, page="", point="", enlisted=""), key == chosen)
        for key, text, n in rows
    ]


def _legend(points: list[VantagePoint]) -> list[tuple[str, str, int]]:
    marks = [(p, health_of(p)) for p in points if p.lat is not None]
    seen = Counter(
        (vantage_formatting.mark(p, h), vantage_formatting.health(p, h)) for p, h in marks
    )
    order = [*Health, "synthetic"]
    return [(m, w, n) for (m, w), n in sorted(seen.items(), key=lambda s: order.index(s[0][0]))]


def _card(point: VantagePoint | None) -> dict[str, Any] | None:
    if point is None:
        return None
    health = health_of(point)
    return {"point": point, "sentence": vantage_formatting.point_sentence(point, health)}


def _grid(request: HttpRequest, points: list[VantagePoint], chosen: str) -> Grid:
    rows = tuple(_row(request, p, chosen) for p in points)
    return Grid("vantage-points", "Vantage points", _COLUMNS, rows)


def _row(request: HttpRequest, point: VantagePoint, chosen: str) -> Row:
    health = health_of(point)
    age = age_of(point)
    on_map = point.lat is not None
    show = with_query(request, point=point.name) + "#map"
    return Row(
        (
            Cell(point.name, point.name, href=reverse("vantage-point", args=[point.name])),
            Cell(vantage_formatting.health(point, health), health),
            Cell(vantage_formatting.age(point), age.total_seconds() if age else "", kind="count"),
            Cell(vantage_formatting.place(point), point.city, is_spare=True),
            Cell(vantage_formatting.network(point), point.provider, is_spare=True),
            Cell(
                vantage_formatting.clock(point),
                point.clock_offset_ms or "",
                kind="count",
                is_spare=True,
            ),
            Cell(
                vantage_formatting.SOURCES.get(point.source, point.source),
                point.source,
                is_spare=True,
            ),
            Cell(
                vantage_formatting.coordinates(point),
                point.lat if on_map else "",
                href=show if on_map else "",
                sub="chosen" if point.name == chosen else "",
                is_spare=True,
            ),
        ),
        anchor=point.name,
    )


@never_cache
@require_GET
def point_page(request: HttpRequest, name: str) -> HttpResponse:
    """One vantage point: who it is, how it does, what it may do and what it measured."""
    return _show(request, _known(request, name))


def _show(request: HttpRequest, point: VantagePoint, **more: Any) -> HttpResponse:
    health = health_of(point)
    operator = services.is_operator(request.user)
    context = {
        "section": SECTION,
        "point": point,
        "health": health,
        "state": vantage_formatting.STATE[health],
        "health_word": vantage_formatting.health(point, health),
        "sentence": vantage_formatting.point_sentence(point, health),
        "age": vantage_formatting.age(point),
        "clock": vantage_formatting.clock(point),
        "clock_is_off": clock_is_off(point),
        "clock_off": vantage_formatting.clock_off(point),
        "spot": vantage_formatting.coordinates(point),
        "place": vantage_formatting.place(point),
        "network": vantage_formatting.network(point),
        "source": vantage_formatting.SOURCES.get(point.source, point.source),
        "hours": vantage_formatting.hours(point.limits),
        "bytes_per_day": formatting.size(point.limits.get("bytes_per_day")),
        "bytes_spent": formatting.size(point.load.get("spent_bytes")),
        "is_own": point.source == VantagePoint.Source.OWN,
        **_self_check(point),
        "shares": history.recent(point.name, request.user),
        "outstanding": history.outstanding(point.name),
        "is_operator": operator,
        "can": _possible(point) if operator else {},
        **more,
    }
    return render(request, "vantages/point.html", context, status=more.get("status", 200))


def _self_check(point: VantagePoint) -> dict[str, Any]:
    """What the machine found that it can measure, and when."""
    found = (point.detail or {}).get("self_check")
    if not found:
        return {}
    return {"checks": describe(found), "checked_at": datetime.fromisoformat(found["checked_at"])}


def _possible(point: VantagePoint) -> dict[str, bool]:
    own = point.source == VantagePoint.Source.OWN
    return {
        "drain": own and point.state == services.State.JOINED,
        "resume": own and point.state == services.State.DRAINING,
        "revoke": own and point.state != services.State.REVOKED,
        "release": point.source in (VantagePoint.Source.GLOBALPING, VantagePoint.Source.ATLAS)
        and point.state != services.State.REVOKED,
        "token": own and point.state in (services.State.INVITED, services.State.REVOKED),
    }


@operators_only
@require_POST
def act(request: HttpRequest, name: str, what: str) -> HttpResponse:
    """Drain, resume or revoke."""
    point = _known(request, name)
    if what not in _ACTS:
        raise Http404
    try:
        _ACTS[what](point)
    except NephoscopeError as error:
        status = 409 if error.permanent else 503
        return _show(request, point, refused=str(error), status=status)
    return HttpResponseRedirect(reverse("vantage-point", args=[name]))


@operators_only
@never_cache
@sensitive_variables("token")
@require_http_methods(["GET", "POST"])
def invite(request: HttpRequest) -> HttpResponse:
    """Make one; the command to run on its machine is shown once."""
    form = InviteForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            point, token = enrolment.invite(
                form.cleaned_data["name"], form.place, form.limits, request.user
            )
        except BadInput as error:
            form.add_error(error.field if error.field in form.fields else None, str(error))
        else:
            return _invitation(request, point, token)
    status = 422 if form.errors else 200
    return render(
        request, "vantages/invite.html", {"section": SECTION, "form": form}, status=status
    )


@operators_only
@never_cache
@sensitive_variables("token")
@require_POST
def new_token(request: HttpRequest, name: str) -> HttpResponse:
    """A new token for one that is not joined; it is shown once."""
    point = _known(request, name)
    try:
        return _invitation(request, point, services.new_token(point))
    except BadInput as error:
        return _show(request, point, refused=str(error), status=409)


def _invitation(request: HttpRequest, point: VantagePoint, token: str) -> HttpResponse:
    site = request.build_absolute_uri("/").rstrip("/")
    context = {
        "section": SECTION,
        "point": point,
        "command": f"python -m tasks.vantage.joining {site} {token}",
        "others": _other_commands(f"{site} {token}"),
        "hours": round(services.TOKEN_LIFE.total_seconds() / 3600),
    }
    return render(request, "vantages/invited.html", context)


def _other_commands(arguments: str) -> list[tuple[str, str]]:
    """The same in one line on a machine without a checkout of this program."""
    wheel = f"./nephoscope-{VERSION}-py3-none-any.whl"
    folder = "/var/lib/nephoscope"
    container = (
        "docker run --detach --restart unless-stopped --cap-drop ALL "
        "--sysctl net.ipv4.ping_group_range='0 2147483647' "
        f"--volume nephoscope-vantage:{folder} --entrypoint .venv/bin/python nephoscope "
        f"-m tasks.vantage.joining --folder {folder}/vantage {arguments}"
    )
    return [
        ("pipx and a wheel", f"pipx run --spec {wheel} nephoscope-vantage {arguments}"),
        ("the container image of this site", container),
    ]


def _known(request: HttpRequest, name: str) -> VantagePoint:
    point = services.point(name, request.user)
    if point is None:
        raise Http404("there is no such vantage point")
    return point
