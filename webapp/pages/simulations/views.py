"""Experiments inside the data centre: the list, an experiment's form, and a run."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core.errors import BadInput, NephoscopeError
from tasks.simulations import catalogue, celery_tasks
from webapp.pages.simulations import charts
from webapp.pages.simulations.formatting import describe_results, parameter_rows
from webapp.store.access.visibility import owner_of
from webapp.store.models import Simulation
from webapp.store.simulations import services

_SECTION = {"section": "screening"}


@require_GET
def hub(request: HttpRequest) -> HttpResponse:
    """All experiments with their questions, and the reader's runs."""
    rows = services.owned_by(request.user).defer("result", "charts")[:50]
    findings = services.find_findings(catalogue.published_parameters())
    experiments = [
        {**row, "finding": findings.get(row["experiment"])} for row in catalogue.experiments()
    ]
    context = {**_SECTION, "experiments": experiments, "rows": rows}
    return render(request, "simulations/hub.html", context)


@require_http_methods(["GET", "POST"])
def experiment(request: HttpRequest, name: str) -> HttpResponse:
    """The form of an experiment; values of the address fill it, a good one leads to its run."""
    known = _experiment(name)
    given = request.POST if request.method == "POST" else request.GET
    asked = {p["name"]: given[p["name"]] for p in known["parameters"] if given.get(p["name"])}
    seed, errors = given.get("seed") or "1", {}
    if request.method == "POST":
        try:
            row = celery_tasks.start(name, asked, _seed(seed), owner_of(request.user))
        except NephoscopeError as error:
            errors[getattr(error, "field", None) or ""] = str(error)
        else:
            return redirect("simulation", token=row.token)
    context = {
        **_SECTION,
        "experiment": known,
        "fields": parameter_rows(known, asked, errors),
        "seed": seed,
        "errors": errors,
        "finding": services.find_findings(catalogue.published_parameters()).get(name),
    }
    return render(request, "simulations/experiment.html", context, status=422 if errors else 200)


def _seed(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise BadInput(f"{text[:40]!r} is not a whole number", field="seed") from None


@never_cache
@require_GET
def run(request: HttpRequest, token: str) -> HttpResponse:
    """A run: how far it is, or its figures beside the published ones."""
    row = _known(request, token)
    context = {
        **_SECTION,
        "row": row,
        "experiment": _experiment(row.experiment),
        "fields": parameter_rows(_experiment(row.experiment), row.parameters, {}),
        "may_change": services.may_change(row, request.user),
        "percent": round(100 * row.progress),
        **describe_results(row),
        "charts": [charts.draw(chart) for chart in row.charts],
    }
    return render(request, "simulations/run.html", context)


@require_POST
def cancel(request: HttpRequest, token: str) -> HttpResponse:
    """Cancel a run that has not ended."""
    row = _known(request, token)
    if not services.may_change(row, request.user):
        raise Http404("there is no such simulation")
    services.cancel(row)
    return redirect("simulation", token=row.token)


def _experiment(name: str) -> dict[str, Any]:
    found = next((row for row in catalogue.experiments() if row["experiment"] == name), None)
    if found is None:
        raise Http404("there is no such experiment")
    return found


def _known(request: HttpRequest, token: str) -> Simulation:
    row = services.find(token, request.user)
    if row is None:
        raise Http404("there is no such simulation")
    return row
