"""Experiments inside the data centre: the list, an experiment's form, and a run."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core.errors import BadInput, NephoscopeError
from tasks.simulations import catalogue, celery_tasks
from webapp.pages.simulations import charts, port_drawing
from webapp.pages.simulations.formatting import describe_results, parameter_rows
from webapp.store.access.visibility import owner_of
from webapp.store.models import Simulation
from webapp.store.simulations import services

SECTION = {"section": "screening"}
# Runs of the reader that a run can be compared with.
MAX_OTHERS = 20
# Experiments on the wait that the drawing of a port shows.
DRAWN = {"switch-priority", "fabric-priority", "three-traps"}


@require_GET
def hub(request: HttpRequest) -> HttpResponse:
    """All experiments with their questions, and the reader's runs."""
    rows = services.owned_by(request.user).defer("result", "charts")[:50]
    findings = services.find_findings(catalogue.published_parameters())
    experiments = [
        {**row, "finding": findings.get(row["experiment"])} for row in catalogue.experiments()
    ]
    port = port_drawing.describe(catalogue.record_two_ports())
    context = {**SECTION, "experiments": experiments, "rows": rows, "port": port}
    return render(request, "simulations/hub.html", context)


@require_http_methods(["GET", "POST"])
def experiment(request: HttpRequest, name: str) -> HttpResponse:
    """The form of an experiment; values of the address fill it, a good one leads to its run."""
    known = find_experiment(name)
    given = request.POST if request.method == "POST" else request.GET
    asked = {p["name"]: given[p["name"]] for p in known["parameters"] if given.get(p["name"])}
    seed, errors = given.get("seed") or "1", {}
    if request.method == "POST":
        try:
            row = celery_tasks.start(name, asked, _seed(seed), owner_of(request.user))
        except NephoscopeError as error:
            errors[getattr(error, "field", None) or ""] = str(error)
        else:
            return redirect(_address_of(row, given.get("beside", "")))
    context = {
        **SECTION,
        "experiment": known,
        "fields": parameter_rows(known, asked, errors),
        "seed": seed,
        "errors": errors,
        "finding": services.find_findings(catalogue.published_parameters()).get(name),
        "beside": given.get("beside", "")[:40],
        "port": port_drawing.describe(catalogue.record_two_ports()) if name in DRAWN else None,
    }
    return render(request, "simulations/experiment.html", context, status=422 if errors else 200)


def _address_of(row: Simulation, beside: str) -> str:
    """The page of a run, which offers the comparison with the one that it was made beside."""
    address = reverse("simulation", args=[row.token])
    return f"{address}?{urlencode({'beside': beside[:40]})}" if beside else address


def _seed(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise BadInput(f"{text[:40]!r} is not a whole number", field="seed") from None


@never_cache
@require_GET
def run(request: HttpRequest, token: str) -> HttpResponse:
    """A run: how far it is, or its figures beside the published ones."""
    row = find_run(request, token)
    context = {
        **SECTION,
        "row": row,
        "experiment": find_experiment(row.experiment),
        "fields": parameter_rows(find_experiment(row.experiment), row.parameters, {}),
        "may_change": services.may_change(row, request.user),
        "percent": round(100 * row.progress),
        **describe_results(row),
        "charts": [charts.draw(chart) for chart in row.charts],
        "others": _find_others(request, row) if row.has_ended else [],
        "beside": row.token,
    }
    return render(request, "simulations/run.html", context)


def _find_others(request: HttpRequest, row: Simulation) -> list[Simulation]:
    """Finished runs of the same experiment: the one of ``?beside=``, the paper's, the reader's."""
    beside = services.find(request.GET.get("beside", "")[:40], request.user)
    paper = services.find_findings(catalogue.published_parameters()).get(row.experiment)
    own = services.owned_by(request.user).filter(experiment=row.experiment)
    own = own.filter(state=Simulation.State.FINISHED).defer("result", "charts")
    others = {one.pk: one for one in (beside, paper, *own[:MAX_OTHERS]) if one is not None}
    return [
        one
        for one in others.values()
        if one.pk != row.pk
        and one.experiment == row.experiment
        and one.state == Simulation.State.FINISHED
    ]


@require_POST
def cancel(request: HttpRequest, token: str) -> HttpResponse:
    """Cancel a run that has not ended."""
    row = find_run(request, token)
    if not services.may_change(row, request.user):
        raise Http404("there is no such simulation")
    services.cancel(row)
    return redirect("simulation", token=row.token)


def find_experiment(name: str) -> dict[str, Any]:
    """Return an experiment of the catalogue; raises ``Http404``."""
    found = next((row for row in catalogue.experiments() if row["experiment"] == name), None)
    if found is None:
        raise Http404("there is no such experiment")
    return found


def find_run(request: HttpRequest, token: str) -> Simulation:
    """Return a run that the reader may see; raises ``Http404``."""
    row = services.find(token, request.user)
    if row is None:
        raise Http404("there is no such simulation")
    return row
