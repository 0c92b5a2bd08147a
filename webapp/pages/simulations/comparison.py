"""Two runs of one experiment side by side: their parameters, figures and charts."""

from collections.abc import Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from webapp.pages.simulations import charts
from webapp.pages.simulations.formatting import label_of, number
from webapp.pages.simulations.views import SECTION, find_experiment, find_run
from webapp.store.models import Simulation

NO_DATA = "no data"


@require_GET
def compare(request: HttpRequest, token: str, other: str) -> HttpResponse:
    """Two finished runs of one experiment; all else is not found."""
    runs = find_run(request, token), find_run(request, other)
    ended = all(run.state == Simulation.State.FINISHED for run in runs)
    if not ended or runs[0].experiment != runs[1].experiment:
        raise Http404("these are not two finished runs of one experiment")
    experiment = find_experiment(runs[0].experiment)
    differences = compare_parameters(experiment, *runs)
    context = {
        **SECTION,
        "experiment": experiment,
        "runs": runs,
        "differences": differences,
        "headline": describe_differences(differences),
        "figures": compare_figures(*runs),
        "charts": pair_charts(*runs),
    }
    return render(request, "simulations/comparison.html", context)


def compare_parameters(
    experiment: Mapping[str, Any], first: Simulation, second: Simulation
) -> list[dict[str, str]]:
    """Parameters in which two runs differ, with their units, the seed last."""
    units = {row["name"]: row["unit"] or "" for row in experiment["parameters"]} | {"seed": ""}
    values = [{**run.parameters, "seed": run.seed} for run in (first, second)]
    return [
        {
            "label": label_of(name),
            "first": _describe_parameter(values[0].get(name), unit),
            "second": _describe_parameter(values[1].get(name), unit),
        }
        for name, unit in units.items()
        if values[0].get(name) != values[1].get(name)
    ]


def _describe_parameter(value: Any, unit: str) -> str:
    text = number(value) if isinstance(value, int | float) else str(value)
    return f"{text}\u00a0{unit}" if unit else text


def describe_differences(differences: list[dict[str, str]]) -> str:
    """Name the first difference, and how many more there are."""
    if not differences:
        return "Two runs with the same parameters"
    row = differences[0]
    more = len(differences) - 1
    others = f", and {more} more difference{'s' if more > 1 else ''}" if more else ""
    return f"{row['label'].capitalize()} {row['first']} beside {row['second']}{others}"


def compare_figures(first: Simulation, second: Simulation) -> list[dict[str, Any]]:
    """Figures of both runs by name, in the order of the first, then those of the second alone."""
    found = [{row["name"]: row for row in (run.result or {})["results"]} for run in (first, second)]
    return [
        _compare_figure(label_of(name), found[0].get(name), found[1].get(name))
        for name in dict.fromkeys([*found[0], *found[1]])
    ]


def _compare_figure(
    name: str, first: Mapping[str, Any] | None, second: Mapping[str, Any] | None
) -> dict[str, Any]:
    return {
        "name": name,
        "first": _describe_value(first),
        "second": _describe_value(second),
        "change": _describe_change(first, second),
        "verdict": _compare_intervals(first, second),
    }


def _describe_value(row: Mapping[str, Any] | None) -> dict[str, str]:
    if row is None or row["value"] is None:
        return {"text": NO_DATA, "interval": ""}
    interval = row["interval"]
    return {
        "text": f"{number(row['value'])} {row['unit']}".strip(),
        "interval": f"{number(interval[0])} to {number(interval[1])}" if interval else "",
    }


def _describe_change(first: Mapping[str, Any] | None, second: Mapping[str, Any] | None) -> str:
    """The difference in points for shares, else in per cent of the first."""
    if not first or not second or first["value"] is None or second["value"] is None:
        return NO_DATA
    change = second["value"] - first["value"]
    if change == 0:
        return "same"
    if first["unit"] == "%":
        return f"{_signed(change)} points"
    return f"{_signed(100 * change / abs(first['value']))} %" if first["value"] else _signed(change)


def _signed(value: float) -> str:
    return f"{'+' if value > 0 else '−'}{number(float(f'{abs(value):.3g}'))}"


def _compare_intervals(first: Mapping[str, Any] | None, second: Mapping[str, Any] | None) -> str:
    """Whether 95 % intervals overlap; empty where one of the figures has none."""
    if not first or not second or not first["interval"] or not second["interval"]:
        return ""
    (low, high), (other_low, other_high) = first["interval"], second["interval"]
    return "overlap" if low <= other_high and other_low <= high else "apart"


def pair_charts(first: Simulation, second: Simulation) -> list[list[dict[str, Any] | None]]:
    """Charts of both runs by title, in the order of the first; a pair has one scale."""
    found = [{chart["title"]: chart for chart in run.charts} for run in (first, second)]
    return [
        [
            charts.draw(own[title], other.get(title)) if title in own else None
            for own, other in (found, found[::-1])
        ]
        for title in dict.fromkeys([*found[0], *found[1]])
    ]
