"""Multipliers for a price ceiling and for groups that need members, as additions per region.

They only tilt the choice: whatever they are, the bound that they enter stays a bound.
"""

import numpy as np
from numpy.typing import NDArray

from analysis.optimization.solver.certificate import Ints
from analysis.optimization.solver.search_kernels import Rules

Floats = NDArray[np.float64]


class Slant:
    """A rate per unit of price, and a reward per group, that follow what a choice violates."""

    def __init__(self, rules: Rules, inside: tuple[int, ...], rates: Floats | None) -> None:
        self.rules, self.inside = rules, inside
        self.active = bool(rules.needs.size or rules.price.any())
        self.rates = np.zeros(1 + rules.needs.size) if rates is None else rates.copy()
        self.best = self.rates.copy()
        self._apply()

    def keep(self) -> None:
        """Remember what stands as the best so far."""
        self.best = self.rates.copy()

    def back(self) -> None:
        """Go back to the best so far."""
        self.rates = self.best.copy()
        self._apply()

    def move(self, chosen: Ints, length: float) -> None:
        """Raise the rates of what a choice violates, lower those that it does not need."""
        if not self.active:
            return
        rules, members = self.rules, [*self.inside, *(int(j) for j in chosen)]
        over = rules.price[members].sum() - rules.purse
        short = rules.needs - rules.groups[:, members].sum(axis=1)
        size = np.array([max(float(rules.price.max()), 1.0), *np.ones(rules.needs.size)])
        share = np.array([float(over), *short]) / size
        # What is slack and has no rate yet stays out of the step's length.
        share[(share < 0) & (self.rates == 0)] = 0
        norm = float((share * share).sum())
        if norm > 0:
            self.rates = np.maximum(self.rates + length * share / (norm * size), 0.0)
            self._apply()

    def _apply(self) -> None:
        self.start, self.offset = additions(self.rules, self.rates)


def additions(rules: Rules, rates: Floats) -> tuple[int, Ints]:
    """Give what whole rates add to a bound at once, and what each region takes from it."""
    whole = np.rint(rates).astype(np.int64)
    price = int(whole[0])
    start = int((whole[1:] * rules.needs).sum()) - (price * rules.purse if price else 0)
    return start, whole[1:] @ rules.groups - price * rules.price
