"""Runs of experiments as pages show them."""

from typing import Any

from simulator.experiments.registry import find_experiment, run_experiment
from webapp.store.models import Simulation
from webapp.store.simulations import services

QUICK = {"requests": 2000, "seeds": 2}


def finished_run(owner: Any, experiment: str = "topology", **given: Any) -> Simulation:
    """A run that a worker has finished."""
    values = find_experiment(experiment).check(given)
    row = services.claim(services.create(experiment, values, 1, owner).pk)
    assert row is not None
    outcome = run_experiment(experiment, values, 1)
    services.finish(row, outcome.as_json(), outcome.headline, outcome.run.charts)
    row.refresh_from_db()
    return row


def everyone() -> dict[str, str]:
    """Anonymous runs by name: two finished ones and one that is running."""
    running = services.claim(
        services.create("presto", find_experiment("presto").check({}), 1, None).pk
    )
    assert running is not None
    services.renew(running, 0.37)
    return {
        "scheduled": finished_run(None, "vm-scheduling", **QUICK).token,
        "wired": finished_run(None, k=4).token,
        "rewired": finished_run(None, kind="leaf-spine", leaves=4, spines=4).token,
        "simulating": running.token,
    }
