"""Lagrangian duals of the side constraints: price budget and minimum members of groups.

Any non-negative rates give a valid lower bound.
"""

import numpy as np
from numpy.typing import NDArray

from analysis.optimization.solver.certificate import Ints
from analysis.optimization.solver.search_kernels import Rules

Floats = NDArray[np.float64]


class ConstraintDuals:
    """Rates per unit of price and per group member, updated along the violation of a choice."""

    def __init__(self, rules: Rules, inside: tuple[int, ...], rates: Floats | None) -> None:
        self.rules, self.inside = rules, inside
        self.active = bool(rules.needs.size or rules.price.any())
        self.rates = np.zeros(1 + rules.needs.size) if rates is None else rates.copy()
        self.best = self.rates.copy()
        self._apply()

    def save(self) -> None:
        """Save the rates as the best so far."""
        self.best = self.rates.copy()

    def restore(self) -> None:
        """Restore the best rates so far."""
        self.rates = self.best.copy()
        self._apply()

    def resume(self, rates: Floats) -> None:
        """Continue from other rates than the best."""
        self.rates = rates
        self._apply()

    def step(self, chosen: Ints, length: float) -> None:
        """Take a subgradient step: raise the rates of violated constraints, lower those of slack
        ones."""
        if not self.active:
            return
        rules, members = self.rules, [*self.inside, *(int(j) for j in chosen)]
        over = rules.price[members].sum() - rules.budget
        short = rules.needs - rules.groups[:, members].sum(axis=1)
        size = np.array([max(float(rules.price.max()), 1.0), *np.ones(rules.needs.size)])
        share = np.array([float(over), *short]) / size
        # Slack constraints with zero rate do not count in the step length.
        share[(share < 0) & (self.rates == 0)] = 0
        norm = float((share * share).sum())
        if norm > 0:
            self.rates = np.maximum(self.rates + length * share / (norm * size), 0.0)
            self._apply()

    def _apply(self) -> None:
        self.start, self.offset = additions(self.rules, self.rates)


def additions(rules: Rules, rates: Floats) -> tuple[int, Ints]:
    """Return (constant of the bound, reduction per region (n_regions,) int64) of rounded rates."""
    whole = np.rint(rates).astype(np.int64)
    price = int(whole[0])
    start = int((whole[1:] * rules.needs).sum()) - (price * rules.budget if price else 0)
    return start, whole[1:] @ rules.groups - price * rules.price
