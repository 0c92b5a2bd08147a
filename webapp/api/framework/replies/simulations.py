# ruff: noqa: D101
"""Response schemas of experiments and their runs."""

from datetime import datetime
from typing import Literal

from ninja import Schema

Value = int | float | str
State = Literal["queued", "running", "finished", "failed", "cancelled"]


class ExperimentParameter(Schema):
    """A parameter: numbers have ``minimum`` and ``maximum``, texts ``choices``."""

    name: str
    description: str
    default: Value
    type: Literal["integer", "number", "string"]
    unit: str
    allowed: str
    minimum: float | None = None
    maximum: float | None = None
    choices: list[str] | None = None


class Experiment(Schema):
    experiment: str
    title: str
    question: str
    source: str
    meaning: str
    leaves_out: str
    parameters: list[ExperimentParameter]


class SimulationResult(Schema):
    """A figure with its 95 % interval, the published value and the range that is accepted."""

    name: str
    value: float | None
    interval: list[float] | None
    unit: str
    published: float | None
    tolerance: list[float] | None
    within: bool | None
    note: str


class SimulationOutcome(Schema):
    """The document of the command ``simulate``."""

    experiment: str
    parameters: dict[str, Value]
    seed: int
    results: list[SimulationResult]
    events: int
    cpu_s: float
    wall_s: float


class SimulationLinks(Schema):
    self: str
    page: str


class ListedSimulation(Schema):
    id: str
    experiment: str
    parameters: dict[str, Value]
    seed: int
    status: State
    progress: float
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    error: str
    links: SimulationLinks


class Simulation(ListedSimulation):
    headline: str
    result: SimulationOutcome | None
