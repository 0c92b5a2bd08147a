"""Compare each vantage point's fixed best region with the best region of each round."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from analysis.campaigns.tables import best_region_kernel
from analysis.optimization.model.samples import Samples

# A region that answered in fewer of the rounds cannot be the fixed choice.
MIN_SHARE_OF_ROUNDS = 0.5


@dataclass(frozen=True, slots=True)
class Choice:
    """One vantage point: its fixed region compared with the best region of each round.

    ``rounds`` counts rounds in which any region had a value; in a share ``differs`` of them
    another region was better or the fixed one did not answer. ``gain`` is the mean improvement
    of the best over the fixed region, over rounds in which the fixed one answered;
    ``gain_share`` is relative to the mean of the fixed one.
    """

    vantage: str
    fixed: str | None
    rounds: int
    differs: float | None
    unanswered: int
    changes: int
    regions: int
    fixed_mean: float | None
    best_mean: float | None
    gain: float | None
    gain_share: float | None


_FIELDS = tuple(f.name for f in fields(Choice))


def choose_regions(samples: Samples, *, higher_is_better: bool = False) -> list[Choice]:
    """Return one choice per vantage point, in the order of the samples."""
    sign = -1.0 if higher_is_better else 1.0
    return [_choose(samples, index, vantage, sign) for index, vantage in enumerate(samples.clients)]


def summarise_choices(choices: list[Choice]) -> dict[str, Any]:
    """Summarise the choices; all vantage points have equal weight."""
    known = [c for c in choices if c.fixed is not None]
    if not known:
        return {"vantages": len(choices), "without_choice": len(choices)}
    differs = np.array([c.differs for c in known], np.float64)
    gains = np.array([c.gain for c in known], np.float64)
    shares = np.array([c.gain_share for c in known], np.float64)
    return {
        "vantages": len(choices),
        "without_choice": len(choices) - len(known),
        # The paper's clients for whom one region is always the best.
        "never_differs": int((differs == 0).sum()),
        "differs_mean": float(differs.mean()),
        "gain_mean": float(gains.mean()),
        "gain_share_mean": float(shares.mean()),
        "gain_share_max": float(shares.max()),
        "vantage_of_max": known[int(shares.argmax())].vantage,
    }


def as_row(choice: Choice) -> dict[str, Any]:
    """Return one choice as a row; ``asdict`` would copy, which costs seconds for ten thousand."""
    return {name: getattr(choice, name) for name in _FIELDS}


def _choose(samples: Samples, index: int, vantage: str, sign: float) -> Choice:
    values = np.asarray(samples.values[:, index, :], np.float64)
    found = best_region_kernel.choose_fixed(values, sign, MIN_SHARE_OF_ROUNDS)
    fixed, rounds, differs, unanswered, changes, regions, own, best = found
    if fixed < 0:
        return Choice(vantage, None, rounds, None, 0, 0, 0, None, None, None, None)
    gain = (own - best) * sign
    return Choice(
        vantage,
        samples.regions[fixed],
        rounds,
        differs / rounds,
        unanswered,
        changes,
        regions,
        own,
        best,
        gain,
        abs(gain / own) if own else 0.0,
    )
