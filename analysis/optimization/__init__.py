"""The k-region problem: choose k regions that minimise mean latency or a percentile, with proof.

Takes ``Samples`` (n_regions, n_clients, n_rounds), an ``Objective`` and ``Constraints``; gives a
``Recommendation`` with value, lower bound and certificate. May import ``core`` only. Modules with
compiled loops are loaded on first use. Example::

    best = recommend(samples, k=3)
    assert check(samples, best) == []
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from analysis.optimization.model.constraints import Constraints, Facts, Presence
from analysis.optimization.model.objectives import Measure, Missing, Objective
from analysis.optimization.model.samples import Samples, samples_of
from analysis.optimization.solver.result import Recommendation, Set

if TYPE_CHECKING:
    from analysis.optimization.recommendations import Effort, Study, recommend, warm_up
    from analysis.optimization.uncertainty.bootstrap import Draws, Uncertainty, doubt
    from analysis.optimization.uncertainty.regret import (
        Regret,
        Routing,
        margins,
        regret,
        route,
        shares_far,
        static_study,
    )
    from analysis.optimization.verification.deadlines import UnfinishedCheck
    from analysis.optimization.verification.verification import check

_LATER = {
    "check": "verification.verification",
    "Uncertainty": "uncertainty.bootstrap",
    "UnfinishedCheck": "verification.deadlines",
    "Draws": "uncertainty.bootstrap",
    "doubt": "uncertainty.bootstrap",
    "Effort": "recommendations",
    "Study": "recommendations",
    "recommend": "recommendations",
    "Regret": "uncertainty.regret",
    "Routing": "uncertainty.regret",
    "margins": "uncertainty.regret",
    "regret": "uncertainty.regret",
    "route": "uncertainty.regret",
    "shares_far": "uncertainty.regret",
    "static_study": "uncertainty.regret",
    "warm_up": "recommendations",
}

__all__ = [
    "Constraints",
    "Draws",
    "Effort",
    "Facts",
    "Measure",
    "Missing",
    "Objective",
    "Presence",
    "Recommendation",
    "Regret",
    "Routing",
    "Samples",
    "Set",
    "Study",
    "Uncertainty",
    "UnfinishedCheck",
    "check",
    "doubt",
    "margins",
    "recommend",
    "regret",
    "route",
    "samples_of",
    "shares_far",
    "static_study",
    "warm_up",
]


def __getattr__(name: str) -> Any:
    # Loading numba takes half a second, which no page that does not solve shall pay.
    if name not in _LATER:
        raise AttributeError(name)
    return getattr(import_module(f"analysis.optimization.{_LATER[name]}"), name)
