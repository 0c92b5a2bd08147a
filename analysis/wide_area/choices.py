"""How the best region changes: means per round go in, what one fixed choice loses comes out."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.regions.samples import Samples

Floats = NDArray[np.float64]
# A region that answered in fewer of the rounds cannot be a choice for all of them.
LEAST_SHARE_OF_ROUNDS = 0.5


@dataclass(frozen=True, slots=True)
class Choice:
    """One vantage point: its fixed region, and how that compares with the best of each round.

    ``rounds`` are those in which any region had a value; in ``differs`` of them (a share) another
    region was better than the fixed one, or the fixed one did not answer. ``gain`` is what
    always choosing the best wins in the mean, of the rounds in which the fixed one answered;
    ``gain_share`` relates it to the fixed one's mean.
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


def choose(samples: Samples, *, higher_is_better: bool = False) -> list[Choice]:
    """One choice per vantage point, in the order of the samples."""
    sign = -1.0 if higher_is_better else 1.0
    return [_choose(samples, index, vantage, sign) for index, vantage in enumerate(samples.clients)]


def summary(choices: list[Choice]) -> dict[str, Any]:
    """All vantage points together: each counts the same."""
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


def rows(choices: list[Choice]) -> list[dict[str, Any]]:
    """The same as plain rows."""
    return [asdict(choice) for choice in choices]


def _choose(samples: Samples, index: int, vantage: str, sign: float) -> Choice:
    values = np.asarray(samples.values[:, index, :], np.float64) * sign
    heard = ~np.isnan(values)
    rounds = int(heard.any(axis=0).sum())
    fixed = _fixed(values, heard, rounds)
    if fixed is None:
        return Choice(vantage, None, rounds, None, 0, 0, 0, None, None, None, None)
    filled = np.where(heard, values, np.inf)[:, heard.any(axis=0)]
    best = filled.min(axis=0)
    own = filled[fixed]
    # Of equals, the fixed one is the best: only a better one is another.
    winner = np.where(own == best, fixed, filled.argmin(axis=0))
    answered = np.isfinite(own)
    fixed_mean, best_mean = float(own[answered].mean()), float(best[answered].mean())
    gain = fixed_mean - best_mean
    return Choice(
        vantage,
        samples.regions[fixed],
        rounds,
        float((winner != fixed).mean()),
        int((~answered).sum()),
        int((winner[1:] != winner[:-1]).sum()),
        len(np.unique(winner)),
        fixed_mean * sign,
        best_mean * sign,
        gain,
        abs(gain / fixed_mean) if fixed_mean else 0.0,
    )


def _fixed(values: Floats, heard: NDArray[np.bool_], rounds: int) -> int | None:
    """The region with the best mean of those that answered often enough."""
    counts = heard.sum(axis=1)
    if not rounds:
        return None
    often = counts >= LEAST_SHARE_OF_ROUNDS * rounds
    if not often.any():
        often = counts == counts.max()
    means = np.where(heard, values, 0.0).sum(axis=1) / np.maximum(counts, 1)
    return int(np.where(often, means, np.inf).argmin())
