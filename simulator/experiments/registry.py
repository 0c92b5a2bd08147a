"""All experiments, and the function that runs one by name."""

import difflib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from core.errors import BadInput
from simulator.experiments import (
    congestion_control,
    edge_short_flows,
    fabric_priority,
    host_queue,
    interference,
    switch_priority,
    three_traps,
    topology,
    vm_scheduling,
)
from simulator.experiments.declaration import Conditions, Experiment, Run, Value
from simulator.experiments.presto import (
    cross_traffic,
    failures,
    receive_offload,
    short_flows,
    throughput,
    traces,
    workloads,
)

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.id: module.EXPERIMENT
    for module in (
        vm_scheduling,
        host_queue,
        switch_priority,
        three_traps,
        fabric_priority,
        congestion_control,
        edge_short_flows,
        throughput,
        short_flows,
        workloads,
        failures,
        cross_traffic,
        traces,
        receive_offload,
        interference,
        topology,
    )
}
LARGEST_SEED = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished run with the parameters and the seed that repeat it, and its cost in seconds."""

    experiment: str
    parameters: Mapping[str, Value]
    seed: int
    run: Run
    headline: str
    cpu_s: float
    wall_s: float

    def as_json(self) -> dict[str, Any]:
        return {
            "experiment": self.experiment,
            "parameters": dict(self.parameters),
            "seed": self.seed,
            "results": [result.as_json() for result in self.run.results],
            "events": self.run.events,
            "cpu_s": round(self.cpu_s, 3),
            "wall_s": round(self.wall_s, 3),
        }


def find_experiment(name: str) -> Experiment:
    """The experiment of a name; raises ``BadInput`` that names the nearest ones."""
    if name in EXPERIMENTS:
        return EXPERIMENTS[name]
    near = difflib.get_close_matches(name, EXPERIMENTS, 1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(EXPERIMENTS)}"
    raise BadInput(f"there is no experiment {name[:40]}; {hint}", field="experiment")


def check_seed(seed: int) -> int:
    """Return a seed; raises ``BadInput`` for one out of range."""
    if not 0 <= seed <= LARGEST_SEED:
        raise BadInput(f"{seed} is not a whole number from 0 to {LARGEST_SEED:,}", field="seed")
    return seed


def run_experiment(
    name: str,
    given: Mapping[str, Any],
    seed: int = 1,
    report: Callable[[float], None] = lambda share: None,
) -> Outcome:
    """Run an experiment; raises ``BadInput`` that names the field.

    ``report`` is called with the share of the work done, and may raise to end the run.
    """
    experiment = find_experiment(name)
    values = experiment.check(given)
    check_seed(seed)
    cpu, wall = time.process_time(), time.perf_counter()
    run = experiment.run(Conditions(values, seed, report))
    if not run.results:
        raise RuntimeError(f"{name} gave no result")
    cost = time.process_time() - cpu, time.perf_counter() - wall
    figures = {row.name: row.value for row in run.results if row.value is not None}
    return Outcome(name, values, seed, run, experiment.headline(figures), *cost)
