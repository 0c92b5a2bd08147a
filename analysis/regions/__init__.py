"""Samples per region, client and round go in; provably best k regions come out.

The door of this package. What needs compiled loops is loaded when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from analysis.regions.answers import Recommendation, Set
from analysis.regions.constraints import Constraints, Facts, Presence
from analysis.regions.objectives import Measure, Missing, Objective
from analysis.regions.samples import Samples, samples_of

if TYPE_CHECKING:
    from analysis.regions.checking import check
    from analysis.regions.recommendations import Effort, Study, recommend, warm_up
    from analysis.regions.resampling import Doubt, Draws, doubt
    from analysis.regions.routing import (
        Regret,
        Routing,
        margins,
        regret,
        route,
        shares_far,
        static_study,
    )

_LATER = {
    "check": "checking",
    "Doubt": "resampling",
    "Draws": "resampling",
    "doubt": "resampling",
    "Effort": "recommendations",
    "Study": "recommendations",
    "recommend": "recommendations",
    "Regret": "routing",
    "Routing": "routing",
    "margins": "routing",
    "regret": "routing",
    "route": "routing",
    "shares_far": "routing",
    "static_study": "routing",
    "warm_up": "recommendations",
}

__all__ = [
    "Constraints",
    "Doubt",
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
    return getattr(import_module(f"analysis.regions.{_LATER[name]}"), name)
