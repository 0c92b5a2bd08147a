"""REST API v1: experiments of the simulator, and runs of them."""

from operator import attrgetter
from typing import Annotated, Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Field, Query, Status
from ninja.errors import HttpError

from tasks.simulations import catalogue, celery_tasks
from webapp.api.framework.documents import tagged
from webapp.api.framework.paging import Page, paginate
from webapp.api.framework.routers import Router
from webapp.api.framework.strict_bodies import Body, schema
from webapp.store.access.visibility import owner_of
from webapp.store.models import Simulation
from webapp.store.simulations import services

router = Router(tags=["simulations"])
Name = Annotated[str, Field(min_length=1, max_length=60)]
Text = Annotated[str, Field(max_length=60)]
_EXPERIMENTS = [row["experiment"] for row in catalogue.experiments()]


class SimulationIn(Body):
    """A run to start; parameters that are left out have the values of the paper."""

    experiment: Annotated[Name, schema(enum=_EXPERIMENTS)]
    parameters: Annotated[dict[Name, int | float | Text], Field(max_length=100)] = {}
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 1


@router.get("/experiments", response={200: "Page[simulations.Experiment]"})
def list_experiments(request: HttpRequest, page: Query[Page]) -> Any:
    """Experiments with their parameters, ranges and sources."""
    return paginate(catalogue.experiments(), page, lambda row: row["experiment"], dict)


@router.post("/simulations", response={202: "simulations.Simulation"})
def start_simulation(request: HttpRequest, asked: SimulationIn, response: HttpResponse) -> Any:
    """Start a run; poll ``Location``. A parameter out of its range is refused by name."""
    row = celery_tasks.start(asked.experiment, asked.parameters, asked.seed, owner_of(request.user))
    response["Location"] = f"/api/v1/simulations/{row.token}"
    return Status(202, _document(row))


@router.get("/simulations", response={200: "Page[simulations.ListedSimulation]"})
def list_simulations(request: HttpRequest, page: Query[Page]) -> Any:
    """List own runs, newest first; empty without an account."""
    rows = list(services.owned_by(request.user).defer("result", "charts"))
    return paginate(rows, page, attrgetter("token"), _listed)


@router.get("/simulations/{token}", response={200: "simulations.Simulation", 304: None})
def get_simulation(request: HttpRequest, token: str) -> Any:
    """State, progress and results; ``ETag`` changes when they do."""
    return tagged(request, _document(_known(request, token)))


@router.post("/simulations/{token}/cancel", response={200: "simulations.Simulation"})
def cancel_simulation(request: HttpRequest, token: str) -> Any:
    """Cancel a run; what has ended stays as it is."""
    row = _own(request, token)
    services.cancel(row)
    row.refresh_from_db()
    return _document(row)


@router.delete("/simulations/{token}", response={204: None})
def delete_simulation(request: HttpRequest, token: str) -> Any:
    """Cancel and delete a run."""
    _own(request, token).delete()
    return Status(204, None)


def _known(request: HttpRequest, token: str) -> Simulation:
    row = services.find(token, request.user)
    if row is None:
        raise Http404("there is no such simulation")
    return row


def _own(request: HttpRequest, token: str) -> Simulation:
    row = _known(request, token)
    if not services.may_change(row, request.user):
        raise HttpError(403, "only who started this simulation may change it")
    return row


def _listed(row: Simulation) -> dict[str, Any]:
    return {
        "id": row.token,
        "experiment": row.experiment,
        "parameters": row.parameters,
        "seed": row.seed,
        "status": row.state,
        "progress": row.progress,
        "created_at": row.created_at.isoformat(),
        "started_at": row.started_at.isoformat() if row.started_at else None,
        "finished_at": row.finished_at.isoformat() if row.finished_at else None,
        "error": row.error,
        "links": {
            "self": f"/api/v1/simulations/{row.token}",
            "page": reverse("simulation", args=[row.token]),
        },
    }


def _document(row: Simulation) -> dict[str, Any]:
    return {**_listed(row), "headline": row.headline, "result": row.result}
