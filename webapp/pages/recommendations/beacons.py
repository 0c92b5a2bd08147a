"""Beacons of an account: the list, a new one, and the round trips that one has collected."""

from typing import Any

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from core.errors import BadInput, NephoscopeError
from webapp.pages.ui.access import signed_in
from webapp.store.models import Beacon
from webapp.store.recommendations import beacons

_SECTION = {"section": "beacons"}
# A table of all countries has more rows than people read; the API has all.
MOST_ROWS = 500


class BeaconForm(forms.Form):
    """A beacon as people type it: a region and its URL on each line, an origin on each line."""

    name = forms.CharField(max_length=120)
    targets = forms.CharField(max_length=20_000, widget=forms.Textarea)
    origins = forms.CharField(max_length=8_000, widget=forms.Textarea)
    percent = forms.FloatField(min_value=0.01, max_value=100, required=False)

    def clean_targets(self) -> dict[str, str]:
        """Return URLs by region; an error names the line."""
        found: dict[str, str] = {}
        for number, line in enumerate(self.cleaned_data["targets"].splitlines(), 1):
            words = line.replace(",", " ").split()
            if not words:
                continue
            if len(words) != 2 or words[0] in found:
                problem = "a region and its URL" if len(words) != 2 else "a region that is new"
                raise forms.ValidationError(f"line {number} needs {problem}")
            found[words[0]] = words[1]
        return found

    def read(self) -> beacons.Settings:
        """Return the settings that were given."""
        given = self.cleaned_data
        share = (given["percent"] or 1.0) / 100
        return beacons.Settings(given["name"], given["targets"], given["origins"].split(), share)


@never_cache
@signed_in
@require_http_methods(["GET", "POST"])
def listing(request: HttpRequest) -> HttpResponse:
    """Own beacons, and the form of a new one."""
    form = BeaconForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            row = beacons.create(request.user, form.read())
        except NephoscopeError as error:
            field = error.field if isinstance(error, BadInput) else None
            form.add_error(field if field in form.fields else None, str(error))
        else:
            return redirect("beacon-page", key=row.key)
    rows = [_listed(row) for row in beacons.owned_by(request.user)]
    context = {**_SECTION, "form": form, "rows": rows}
    status = 422 if form.errors else 200
    return render(request, "recommendations/beacons.html", context, status=status)


def _listed(row: Beacon) -> dict[str, Any]:
    found = beacons.collected(row)
    return {
        "key": row.key,
        "name": row.name,
        "regions": len(row.targets),
        "today": beacons.reports_today(row),
        "samples": sum(one.n for one in found),
        "countries": len({one.country for one in found if one.rtt_ms is not None and one.country}),
    }


@never_cache
@signed_in
@require_http_methods(["GET"])
def detail(request: HttpRequest, key: str) -> HttpResponse:
    """One own beacon: its element for pages, and medians by country and region."""
    row = _own(request, key)
    found = beacons.collected(row)
    script = request.build_absolute_uri(f"/beacon/{row.key}.js")
    context = {
        **_SECTION,
        "row": row,
        "listed": _listed(row),
        "snippet": beacons.snippet(script),
        "rows": sorted(found, key=lambda one: -one.n)[:MOST_ROWS],
        "n_rows": len(found),
        "days": beacons.DAYS,
        "least": beacons.MIN_ROUND_TRIPS,
    }
    return render(request, "recommendations/beacon.html", context)


@signed_in
@require_POST
def delete(request: HttpRequest, key: str) -> HttpResponse:
    """Delete an own beacon with its counts."""
    _own(request, key).delete()
    return redirect("beacons")


def _own(request: HttpRequest, key: str) -> Beacon:
    row = beacons.find_own(key, request.user)
    if row is None:
        raise Http404("you have no such beacon")
    return row
