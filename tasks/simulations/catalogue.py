"""Experiments and their parameters as documents; runs at once, without the store."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from core.errors import BadInput
from simulator.experiments.registry import EXPERIMENTS, Outcome, find_experiment, run_experiment

__all__ = ["Outcome", "experiments", "find_experiment", "parse_settings", "run_experiment"]


def experiments() -> list[dict[str, Any]]:
    """All experiments with their parameters, ranges and sources."""
    return [experiment.as_json() for experiment in EXPERIMENTS.values()]


def published_parameters() -> dict[str, dict[str, Any]]:
    """The parameters of the paper by experiment."""
    return {name: experiment.check({}) for name, experiment in EXPERIMENTS.items()}


def parse_settings(settings: Iterable[str]) -> dict[str, str]:
    """Split ``name=value`` texts; raises ``BadInput`` that names the text."""
    given: dict[str, str] = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise BadInput(f"{text[:60]!r} is not NAME=VALUE", field="set")
        given[name.strip()] = value.strip()
    return given


def run_at_once(
    name: str, given: Mapping[str, Any], seed: int, report: Callable[[float], None]
) -> dict[str, Any]:
    """Run an experiment in this process; return its document. Raises ``BadInput``."""
    return run_experiment(name, given, seed, report).as_json()
